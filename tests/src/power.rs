//! Replays a loss of power: from the system calls of a writer, the files as they could look on disk had the power gone
//! at a given point. What was written before a file's last completed sync is there; every later write may be there,
//! absent, or torn at a sector.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

const SECTOR_BYTES: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Write {
        file: String,
        offset: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        length: usize,
    },
    /// Complete; covers the events before `begun`.
    Sync {
        file: String,
        begun: usize,
    },
    /// A line on standard output: an acknowledgement.
    Said(String),
}

/// The events of a log of `strace -f -xx -y`, in order.
pub fn read_trace(log: &str) -> Result<Vec<Event>> {
    let mut reader = Reader::default();
    for line in log.lines() {
        reader.line(line).with_context(|| line.chars().take(200).collect::<String>())?;
    }
    Ok(reader.events)
}

#[derive(Default)]
struct Reader {
    events: Vec<Event>,
    /// File offsets, for plain `write`.
    offsets: BTreeMap<String, usize>,
    /// Syncs under way: thread → file and where they began.
    syncs: BTreeMap<String, (String, usize)>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<()> {
        let Some((thread, call)) = line.split_once(' ') else { return Ok(()) };
        let call = call.trim_start();
        if call.starts_with("<... ") {
            if call.contains("sync resumed")
                && call.contains("= 0")
                && let Some((file, begun)) = self.syncs.remove(thread)
            {
                self.events.push(Event::Sync { file, begun });
            }
            return Ok(());
        }
        let Some((name, args)) = call.split_once('(') else { return Ok(()) };
        let Some(file) = file_of(args) else {
            if name == "write" && args.starts_with("1<") {
                let said = String::from_utf8_lossy(&bytes_of(args)?).trim().to_owned();
                self.events.push(Event::Said(said));
            }
            return Ok(());
        };
        match name {
            "pwrite64" => {
                let (bytes, offset) = (bytes_of(args)?, last_number(args)?);
                self.events.push(Event::Write { file, offset, bytes });
            }
            "write" => {
                let bytes = bytes_of(args)?;
                let offset = self.offsets.entry(file.clone()).or_default();
                let at = *offset;
                *offset += bytes.len();
                self.events.push(Event::Write { file, offset: at, bytes });
            }
            "lseek" => drop(self.offsets.insert(file, args.split(", ").nth(1).context("an offset")?.parse()?)),
            "ftruncate" => self.events.push(Event::Truncate { file, length: last_number(args)? }),
            "fsync" | "fdatasync" => {
                let begun = self.events.len();
                if args.contains("<unfinished") {
                    self.syncs.insert(thread.to_owned(), (file, begun));
                } else {
                    self.events.push(Event::Sync { file, begun });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The name of the database file or its log, if the descriptor is one of them.
fn file_of(args: &str) -> Option<String> {
    let path = unescape(args.split_once('<')?.1.split_once('>')?.0);
    let name = Path::new(&String::from_utf8_lossy(&path).into_owned()).file_name()?.to_string_lossy().into_owned();
    matches!(name.as_str(), "jobs.db" | "jobs.db-wal").then_some(name)
}

fn bytes_of(args: &str) -> Result<Vec<u8>> {
    let from = args.find('"').context("a quoted text")? + 1;
    let to = from + args[from..].find('"').context("its end")?;
    Ok(unescape(&args[from..to]))
}

fn last_number(args: &str) -> Result<usize> {
    let inner = args.split([')', '<']).find(|part| part.contains(", ") && !part.contains('>')).unwrap_or(args);
    let tail = args.rsplit(", ").next().unwrap_or(inner);
    let digits: String = tail.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().context("a number at the end")
}

/// `\x41\x42` → AB; plain text stays.
fn unescape(text: &str) -> Vec<u8> {
    if !text.contains("\\x") {
        return text.as_bytes().to_vec();
    }
    text.split("\\x").skip(1).filter_map(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok()).collect()
}

/// Writes the files as they could be, had the power gone before event `cut`. The dice say what of the unsynced is there.
pub fn write_image(events: &[Event], cut: usize, dice: &mut fastrand::Rng, tear: bool, dir: &Path) -> Result<()> {
    for file in ["jobs.db", "jobs.db-wal"] {
        // Two threads may sync one file: the one that began later may be the first to end.
        let synced = events[..cut].iter().filter_map(|event| match event {
            Event::Sync { file: of, begun } if of == file => Some(*begun),
            _ => None,
        });
        let synced = synced.max().unwrap_or(0);
        let mut image: Vec<u8> = Vec::new();
        for (place, event) in events[..cut].iter().enumerate() {
            let certain = place < synced;
            match event {
                Event::Write { file: of, offset, bytes } if of == file => {
                    for (at, piece) in surviving(*offset, bytes, certain, tear, dice) {
                        if image.len() < at + piece.len() {
                            image.resize(at + piece.len(), 0);
                        }
                        image[at..at + piece.len()].copy_from_slice(piece);
                    }
                }
                Event::Truncate { file: of, length } if of == file && (certain || dice.bool()) => {
                    image.resize(*length, 0);
                }
                _ => {}
            }
        }
        if !image.is_empty() {
            std::fs::write(dir.join(file), image)?;
        }
    }
    Ok(())
}

fn surviving<'a>(
    offset: usize,
    bytes: &'a [u8],
    certain: bool,
    tear: bool,
    dice: &mut fastrand::Rng,
) -> Vec<(usize, &'a [u8])> {
    if certain {
        return vec![(offset, bytes)];
    }
    if !tear {
        return if dice.bool() { vec![(offset, bytes)] } else { Vec::new() };
    }
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < bytes.len() {
        let to = bytes.len().min(from + SECTOR_BYTES - (offset + from) % SECTOR_BYTES);
        if dice.bool() {
            pieces.push((offset + from, &bytes[from..to]));
        }
        from = to;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_read() {
        let log = concat!(
            "7 pwrite64(5</d/jobs.db-wal>, \"\\x41\\x42\", 2, 4096) = 2\n",
            "8 fdatasync(5</d/jobs.db-wal> <unfinished ...>\n",
            "7 write(1<pipe:[1]>, \"\\x41\\x43\\x4b\\x0a\", 4) = 4\n",
            "8 <... fdatasync resumed>) = 0\n",
            "7 write(9</d/other>, \"\\x41\", 1) = 1\n",
            "7 ftruncate(4</d/jobs.db>, 8192) = 0\n",
        );
        let wal = || "jobs.db-wal".to_owned();
        let expect = [
            Event::Write { file: wal(), offset: 4096, bytes: b"AB".to_vec() },
            Event::Said("ACK".to_owned()),
            Event::Sync { file: wal(), begun: 1 },
            Event::Truncate { file: "jobs.db".to_owned(), length: 8192 },
        ];
        assert_eq!(read_trace(log).expect("a trace"), expect);
    }

    #[test]
    fn what_was_synced_is_certain_and_the_rest_is_not() {
        let write = |offset, byte| Event::Write { file: "jobs.db".to_owned(), offset, bytes: vec![byte; 1024] };
        let sync = Event::Sync { file: "jobs.db".to_owned(), begun: 1 };
        let events = [write(0, 1), write(1024, 2), sync];
        let mut seen = [false; 2];
        for seed in 0..20 {
            let dir = tempfile::tempdir().expect("a directory");
            write_image(&events, 3, &mut fastrand::Rng::with_seed(seed), false, dir.path()).expect("written");
            let image = std::fs::read(dir.path().join("jobs.db")).expect("read");
            assert_eq!(image[..1024], [1; 1024]);
            seen[usize::from(image.len() > 1024)] = true;
        }
        assert_eq!(seen, [true, true], "an unsynced write is there or not");
    }

    #[test]
    fn a_sync_that_began_earlier_and_ends_later_takes_nothing_back() {
        let write = |offset| Event::Write { file: "jobs.db".to_owned(), offset, bytes: vec![7; 1024] };
        let sync = |begun| Event::Sync { file: "jobs.db".to_owned(), begun };
        let events = [write(0), write(1024), sync(2), sync(1)];
        for seed in 0..20 {
            let dir = tempfile::tempdir().expect("a directory");
            write_image(&events, 4, &mut fastrand::Rng::with_seed(seed), true, dir.path()).expect("written");
            assert_eq!(std::fs::read(dir.path().join("jobs.db")).expect("read"), [7; 2048]);
        }
    }
}
