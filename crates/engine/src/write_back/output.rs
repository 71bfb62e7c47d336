//! What attempts say while they run: log lines, the output of what they run, progress.
//!
//! **Invariant:** of one attempt at most a head and a tail are kept; what lies between is counted and dropped, so that
//! a flood fills neither memory nor disk.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use mainspring_model::time::Clock;
use mainspring_model::{AttemptId, Timestamp, limits, text};
use mainspring_store::{OutputChunk, Stream};

use crate::locked;

#[derive(Debug)]
pub(crate) struct Output {
    attempt: AttemptId,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    seq: u32,
    head: Vec<OutputChunk>,
    head_bytes: usize,
    tail: VecDeque<(Timestamp, Stream, String)>,
    tail_bytes: usize,
    dropped_bytes: u64,
    /// The newest that was not written yet.
    progress: Option<(Timestamp, String)>,
}

impl Output {
    pub(crate) fn new(attempt: AttemptId, clock: Arc<dyn Clock>) -> Output {
        Output { attempt, clock, state: Mutex::default() }
    }

    pub(crate) fn write(&self, stream: Stream, said: &str) {
        let time = self.clock.now();
        let mut state = locked(&self.state);
        if stream == Stream::Progress {
            let said = text::excerpt(&text::storable(said), limits::PROGRESS_CHARS_MAX);
            state.progress = Some((time, said));
            return;
        }
        let mut rest = said;
        while !rest.is_empty() || said.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(limits::OUTPUT_LINE_BYTES_MAX));
            state.keep(self.attempt, time, stream, text::storable(piece));
            if more.is_empty() {
                break;
            }
            rest = more;
        }
    }

    /// What can be written now.
    pub(crate) fn take(&self) -> Vec<OutputChunk> {
        let mut state = locked(&self.state);
        // Progress is paid from the head; past it only the last one is kept.
        if state.head_bytes <= limits::OUTPUT_HEAD_BYTES_MAX
            && let Some((time, said)) = state.progress.take()
        {
            state.head_bytes += said.len() + CHUNK_OVERHEAD_BYTES;
            state.push(self.attempt, time, Stream::Progress, said);
        }
        std::mem::take(&mut state.head)
    }

    /// The attempt is over: the rest, with a word on what was dropped.
    pub(crate) fn take_all(&self) -> Vec<OutputChunk> {
        let mut state = locked(&self.state);
        if let Some((time, said)) = state.progress.take() {
            state.push(self.attempt, time, Stream::Progress, said);
        }
        let tail = std::mem::take(&mut state.tail);
        if state.dropped_bytes > 0 {
            let time = tail.front().map_or_else(|| self.clock.now(), |(time, _, _)| *time);
            let note = format!("… {} bytes of output were dropped here …", state.dropped_bytes);
            state.push(self.attempt, time, Stream::Log, note);
        }
        for (time, stream, said) in tail {
            state.push(self.attempt, time, stream, said);
        }
        std::mem::take(&mut state.head)
    }
}

impl State {
    fn keep(&mut self, attempt: AttemptId, time: Timestamp, stream: Stream, said: String) {
        if self.tail.is_empty() && self.head_bytes + said.len() <= limits::OUTPUT_HEAD_BYTES_MAX {
            self.head_bytes += said.len() + CHUNK_OVERHEAD_BYTES;
            return self.push(attempt, time, stream, said);
        }
        self.tail_bytes += said.len() + CHUNK_OVERHEAD_BYTES;
        self.tail.push_back((time, stream, said));
        while self.tail_bytes > limits::OUTPUT_TAIL_BYTES_MAX {
            let Some((_, _, dropped)) = self.tail.pop_front() else { break };
            self.tail_bytes -= dropped.len() + CHUNK_OVERHEAD_BYTES;
            self.dropped_bytes += dropped.len() as u64;
        }
    }

    fn push(&mut self, attempt: AttemptId, time: Timestamp, stream: Stream, text: String) {
        self.head.push(OutputChunk { attempt, seq: self.seq, time, stream, text });
        self.seq += 1;
    }
}

/// A row is not free: a flood of empty lines is bounded too.
const CHUNK_OVERHEAD_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_model::{Fence, JobId};
    use mainspring_store::clock::ManualClock;

    fn output() -> Output {
        Output::new(AttemptId { job: JobId(1), fence: Fence(1) }, ManualClock::at(Timestamp::from_ms(0)))
    }

    #[test]
    fn a_flood_keeps_its_head_and_its_tail() {
        let output = output();
        for line in 0..100_000 {
            output.write(Stream::Stdout, &format!("line {line:06} of a flood that never ends and says nothing"));
        }
        let kept = output.take_all();
        let bytes: usize = kept.iter().map(|chunk| chunk.text.len()).sum();
        assert!(bytes <= limits::OUTPUT_HEAD_BYTES_MAX + limits::OUTPUT_TAIL_BYTES_MAX);
        assert!(kept[0].text.starts_with("line 000000"));
        assert!(kept.last().expect("a tail").text.starts_with("line 099999"));
        assert!(kept.iter().any(|chunk| chunk.text.contains("bytes of output were dropped here")));
        assert!(kept.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq));
    }

    #[test]
    fn long_lines_are_cut_on_characters() {
        let output = output();
        output.write(Stream::Log, &"字".repeat(limits::OUTPUT_LINE_BYTES_MAX));
        let pieces = output.take();
        assert_eq!(pieces.iter().map(|piece| piece.text.chars().count()).sum::<usize>(), limits::OUTPUT_LINE_BYTES_MAX);
        assert!(pieces.len() >= 3);
    }

    #[test]
    fn progress_without_end_is_bounded_and_ends_with_the_last() {
        let output = output();
        let mut rows = 0;
        for step in 0..100_000 {
            output.write(Stream::Progress, &step.to_string());
            rows += output.take().len();
        }
        assert!(rows < 20_000, "{rows} rows");
        assert_eq!(output.take_all().last().map(|chunk| chunk.text.as_str()), Some("99999"));
    }

    #[test]
    fn only_the_newest_progress_is_written() {
        let output = output();
        output.write(Stream::Progress, "1");
        output.write(Stream::Progress, "2");
        let taken = output.take();
        assert_eq!((taken.len(), taken[0].text.as_str()), (1, "2"));
        assert!(output.take().is_empty());
    }
}
