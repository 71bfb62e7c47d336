//! The bounds of the interface, with their units and reasons. What bounds the product itself is in `model::limits`.

use std::time::Duration;

use mainspring_model::limits as product;

/// One job or one task: a payload of the largest kind, with room for what is around it.
pub const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// One call of the bulk interface with a JSON body; it is read into memory as a whole.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// One stream of lines: it is stored as it arrives, but its answers are kept until its end.
pub const STREAM_LINES_MAX: usize = 100_000;
pub const STREAM_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Lines that are stored together.
pub const STREAM_FLUSH_LINES: usize = product::FLUSH_JOBS_MAX;

/// A client that sends its body more slowly than this between two pieces is not waited for.
pub const BODY_IDLE: Duration = Duration::from_secs(30);
/// From the head of a request to the head of its answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// For the head of a request; hyper counts the idle time of a kept connection with it.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// A client that takes nothing of its answer for so long is given up.
pub const WRITE_STALL: Duration = Duration::from_secs(30);
/// How long a stop waits for requests that are being answered.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// Connections at one time; the next one hears "busy".
pub const CONNECTIONS_MAX: usize = 1_000;
/// Followers of outputs at one time: each of them asks the store again and again.
pub const FOLLOWERS_MAX: usize = 64;
/// How often a follower asks.
pub const FOLLOW_EVERY: Duration = Duration::from_millis(200);
/// A silent stream shows that it lives, or proxies cut it.
pub const FOLLOW_KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Chunks of output in one answer.
pub const OUTPUT_CHUNKS_MAX: u32 = 1_000;
/// Live jobs of a task are counted up to here for its status.
pub const LIVE_JOBS_COUNTED: u32 = 1_000;
/// Jobs in the queue that a list of tasks looks at, for all of its tasks together: some ten milliseconds.
pub const LIVE_JOBS_SCANNED: u32 = 100_000;

/// The name that a caller gives itself in `X-Requested-By`.
pub const REQUESTED_BY_CHARS_MAX: usize = 60;
/// Becomes part of a business key (`manual@<requestId>`).
pub const REQUEST_ID_CHARS_MAX: usize = 100;
/// A repeat waits so long for the end of its first request, then hears that it is under way; how often it looks.
pub const PRESS_WAIT: Duration = Duration::from_secs(3);
pub const PRESS_LOOK_EVERY: Duration = Duration::from_millis(25);
/// How long the answer of an operation that was carried out is tried to be kept.
pub const PRESS_KEEP_FOR: Duration = Duration::from_secs(5);
/// A larger answer is kept in short: many of them are kept for minutes.
pub const KEPT_ANSWER_BYTES_MAX: usize = 64 * 1024;

const _: () = assert!(product::PAYLOAD_BYTES_MAX < BODY_BYTES_MAX && BODY_BYTES_MAX < BATCH_BYTES_MAX);
const _: () = assert!(product::BATCH_JOBS_MAX <= STREAM_LINES_MAX && BATCH_BYTES_MAX <= STREAM_BYTES_MAX);
const _: () = assert!(REQUEST_ID_CHARS_MAX + "manual@".len() <= product::BIZ_ID_CHARS_MAX);
const _: () = assert!(BODY_IDLE.as_secs() < REQUEST_TIMEOUT.as_secs());
