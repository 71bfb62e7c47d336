//! Batches of long texts: servers take statements of some MiB, as they come out of the box.

use std::sync::Arc;

use mainspring_model::decide::Decision;
use mainspring_model::limits::{ERROR_CHARS_MAX, PAYLOAD_INLINE_BYTES_MAX};
use mainspring_model::{AttemptId, JobStatus};

use super::{on_each, open};
use crate::suite::scheduled::of_task;
use crate::suite::world::{T0, TASK, at, failed, settlement};
use crate::suite::{Subject, World};
use crate::{NewJob, OutputChunk, Settled, Stream};

const JOBS: i64 = 1_000;

#[tokio::test]
async fn a_thousand_jobs_with_long_texts_go_through() {
    on_each(async |url| {
        let world = World::new(&Subject { store: open(url).await, keep: None }).await;
        // Most of it doubles as JSON within JSON.
        let words = PAYLOAD_INLINE_BYTES_MAX / 2 - 8;
        let payload: Arc<str> = format!("[{}0]", "\"\",".repeat(words * 2 / 3)).into();
        assert!(payload.len() > PAYLOAD_INLINE_BYTES_MAX - 32 && payload.len() <= PAYLOAD_INLINE_BYTES_MAX);
        let jobs = (1..=JOBS).map(|id| NewJob { payload: Some(Arc::clone(&payload)), ..of_task(id, TASK) });
        world.stored(jobs.collect()).await;
        assert_eq!(world.job(JOBS).await.payload.as_deref(), Some(&*payload));
        let claims = world.claim(1_000, T0).await.jobs;
        assert_eq!(claims.len() as i64, JOBS);
        let line = "\u{1b}".repeat(4_000);
        let attempt = AttemptId { job: claims[0].id, fence: claims[0].fence };
        let chunk = |seq| OutputChunk { attempt, seq, time: at(20), stream: Stream::Log, text: line.clone() };
        world.store().append_output((1..=900).map(chunk).collect()).await.expect("appends");
        assert_eq!(world.store().output(attempt, None, 1_000).await.expect("reads").len(), 900);
        let error = "\u{1b}".repeat(ERROR_CHARS_MAX);
        let decision = || Decision { error: Some(error.clone()), ..failed(false) };
        let settled = claims.iter().map(|claim| settlement(claim, decision())).collect();
        let answers = world.store().settle(settled, at(30)).await.expect("settles");
        assert_eq!(answers, vec![Settled::Applied; claims.len()]);
        let last = world.job(JOBS).await;
        assert_eq!((last.status, last.error_msg.as_deref()), (JobStatus::Failed, Some(&*error)));
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}
