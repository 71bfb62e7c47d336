//! What a program writes: read without end, kept within a cap, made into text.

use mainspring_model::text::storable;
use mainspring_store::Stream;
use tokio::io::{AsyncRead, AsyncReadExt};

const READ_BYTES: usize = 64 * 1024;
/// Kept from the end of every stream, whatever its length.
const LAST_BYTES: usize = 64 * 1024;
/// A piece that goes out at once.
const PIECE_BYTES: usize = mainspring_model::limits::OUTPUT_LINE_BYTES_MAX;

/// Where the text goes.
pub type Say<'a> = &'a (dyn Fn(Stream, &str) + Sync);

/// One stream of one program. The beginning goes out as it comes; past the cap it is only read, so that the program
/// never waits for a reader; the end goes out when the stream ends.
pub(super) struct Gathered {
    stream: Stream,
    head_left: usize,
    /// Bytes past the cap.
    beyond: u64,
    last: Vec<u8>,
    /// The beginning of a character whose end has not come yet.
    carry: Vec<u8>,
}

impl Gathered {
    pub(super) fn new(stream: Stream, head_bytes_max: usize) -> Gathered {
        Gathered { stream, head_left: head_bytes_max, beyond: 0, last: Vec::new(), carry: Vec::new() }
    }

    /// A read error ends the stream like its end does: there is nothing more to come.
    pub(super) async fn read(&mut self, mut from: impl AsyncRead + Unpin, say: Say<'_>) {
        let mut buffer = vec![0; READ_BYTES];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.take(&buffer[..count], say);
        }
    }

    fn take(&mut self, bytes: &[u8], say: Say<'_>) {
        self.last.extend_from_slice(bytes);
        if self.last.len() > 2 * LAST_BYTES {
            self.last.drain(..self.last.len() - LAST_BYTES);
        }
        let (head, beyond) = bytes.split_at(bytes.len().min(self.head_left));
        self.head_left -= head.len();
        self.beyond += beyond.len() as u64;
        for piece in head.chunks(PIECE_BYTES) {
            self.say_bytes(piece, say);
        }
    }

    fn say_bytes(&mut self, piece: &[u8], say: Say<'_>) {
        self.carry.extend_from_slice(piece);
        let whole = self.carry.len() - cut_character(&self.carry);
        let text = storable(&String::from_utf8_lossy(&self.carry[..whole]));
        self.carry.drain(..whole);
        if !text.is_empty() {
            say(self.stream, &text);
        }
    }

    /// The end of the stream, or of our patience with it.
    pub(super) fn finish(&mut self, say: Say<'_>) {
        if !self.carry.is_empty() {
            say(self.stream, &String::from_utf8_lossy(&self.carry));
            self.carry.clear();
        }
        let kept = self.last.len().min(LAST_BYTES).min(usize::try_from(self.beyond).unwrap_or(usize::MAX));
        let left_out = self.beyond - kept as u64;
        if left_out > 0 {
            say(self.stream, &format!("\n… {left_out} bytes are left out here …\n"));
        }
        let tail = self.last[self.last.len() - kept..].to_vec();
        for piece in tail.chunks(PIECE_BYTES) {
            self.say_bytes(piece, say);
        }
    }

    /// The last `max` characters, without the white space around them.
    pub(super) fn last_chars(&self, max: usize) -> String {
        let bytes = &self.last[self.last.len().saturating_sub(LAST_BYTES)..];
        let text = storable(String::from_utf8_lossy(bytes).trim());
        let skipped = text.chars().count().saturating_sub(max);
        text.chars().skip(skipped).collect()
    }

    pub(super) fn last_line(&self) -> String {
        let text = self.last_chars(mainspring_model::limits::ERROR_CHARS_MAX);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }
}

/// How many bytes at the end begin a character that is not complete.
fn cut_character(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn said(chunks: &[&[u8]], head: usize) -> (String, Gathered) {
        let said = Mutex::new(String::new());
        let say = |_: Stream, text: &str| said.lock().expect("no panic").push_str(text);
        let mut gathered = Gathered::new(Stream::Stdout, head);
        for chunk in chunks {
            gathered.take(chunk, &say);
        }
        gathered.finish(&say);
        (said.into_inner().expect("no panic"), gathered)
    }

    #[test]
    fn characters_that_are_cut_by_a_read_stay_whole_and_wrong_ones_are_replaced() {
        let check = |chunks: &[&[u8]], expect: &str| assert_eq!(said(chunks, 1_000).0, expect);
        check(&[b"plain"], "plain");
        check(&["任".as_bytes()[..1].as_ref(), &"任".as_bytes()[1..]], "任");
        check(&[b"\xF0", b"\x9F", b"\x98", b"\x80"], "😀");
        check(&[b"a\xFFb", b"\xE4"], "a\u{FFFD}b\u{FFFD}");
        check(&[b"a\0b"], "a␀b");
        check(&[b"\x80\x80\x80\x80"], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}");
    }

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end_and_counts_the_rest() {
        let mut chunks = vec![&b"begin"[..]];
        let flood = vec![b'x'; 50_000];
        chunks.extend(std::iter::repeat_n(&flood[..], 10));
        chunks.push(b"\nthe end\n");
        let (text, gathered) = said(&chunks, 5);
        assert!(text.starts_with("begin\n… "), "{}", &text[..60]);
        assert!(text.contains(&format!("… {} bytes are left out here …", 500_009 - LAST_BYTES)));
        assert!(text.ends_with("the end\n"));
        assert_eq!(gathered.last_line(), "the end");
        assert_eq!(gathered.last_chars(3), "end");
    }

    #[test]
    fn a_little_past_the_cap_is_not_cut() {
        assert_eq!(said(&[b"abcdef"], 3).0, "abcdef");
    }
}
