//! The power goes at a random point: nothing acknowledged is lost, in a thousand images of the files.

use std::process::{Command, Stdio};

use mainspring_e2e::power::{Event, read_trace, write_image};

const IMAGES: usize = 1_000;

#[test]
fn a_thousand_losses_of_power_lose_nothing_acknowledged() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("trace");
    let traced = Command::new("strace")
        .args([
            "-f",
            "-qq",
            "-xx",
            "-y",
            "-s",
            "2000000",
            "-e",
            "trace=pwrite64,write,lseek,ftruncate,fsync,fdatasync",
            "-o",
        ])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_power_writer"))
        .arg(dir.path().join("jobs.db"))
        .stdout(Stdio::null())
        .status()
        .expect("strace is installed (cargo xtask test installs it)");
    assert!(traced.success(), "the writer failed under strace: {traced}");
    let events = read_trace(&std::fs::read_to_string(&log).expect("a log")).expect("a trace");
    let acks: usize = events.iter().filter(|event| matches!(event, Event::Said(_))).count();
    assert!(acks > 400, "only {acks} acknowledgements in the trace");
    let first_ack = events.iter().position(|event| matches!(event, Event::Said(_))).expect("there are some");
    let mut dice = fastrand::Rng::with_seed(42);
    for number in 0..IMAGES {
        let cut = dice.usize(first_ack..=events.len());
        let image = tempfile::tempdir().expect("a directory");
        let tear = dice.bool();
        write_image(&events, cut, &mut dice, tear, image.path()).expect("an image");
        check(&image.path().join("jobs.db"), &events[..cut], number, cut);
    }
}

fn check(path: &std::path::Path, before: &[Event], number: usize, cut: usize) {
    let database = rusqlite::Connection::open(path).expect("it opens");
    let whole: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it can be checked");
    assert_eq!(whole, "ok", "image {number}, cut at {cut}");
    let mut status = database.prepare("SELECT task_status FROM async_task WHERE id = ?1").expect("the table is there");
    let mut status_of = |id: &str| -> i64 {
        let id: i64 = id.parse().expect("an id");
        status
            .query_row([id], |row| row.get(0))
            .unwrap_or_else(|_| panic!("job {id} is lost: image {number}, cut at {cut}"))
    };
    for event in before {
        let Event::Said(said) = event else { continue };
        match said.split(' ').collect::<Vec<_>>()[..] {
            ["ACK", id] => drop(status_of(id)),
            ["END", id, end] => {
                let expect = if end == "SUCCESS" { 2 } else { 3 };
                assert_eq!(status_of(id), expect, "the end of job {id} is lost: image {number}, cut at {cut}");
            }
            _ => panic!("not a line of the writer: {said}"),
        }
    }
}
