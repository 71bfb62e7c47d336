//! Every bound of the product, with its unit and its reason, related to each other by the compiler.

/// Codes are typed by people and shown in columns.
pub const TASK_CODE_CHARS_MAX: usize = 100;
pub const POOL_NAME_CHARS_MAX: usize = 60;
/// Business keys are indexed: a long one makes every page of the index smaller.
pub const BIZ_ID_CHARS_MAX: usize = 200;
pub const TASK_NAME_CHARS_MAX: usize = 200;
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;
pub const TAGS_MAX: usize = 20;
/// Labels are compared for every claim, and stand in lists of nodes.
pub const NODE_LABEL_CHARS_MAX: usize = 60;
pub const NODE_LABELS_MAX: usize = 20;

/// Past this a payload is kept in the attachment table, so that rows of the record stay narrow.
pub const PAYLOAD_INLINE_BYTES_MAX: usize = 16 * 1024;
/// Past this a payload is refused: pass a reference instead.
pub const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
/// Deep nesting crashes recursive readers, also those of other languages.
pub const PAYLOAD_DEPTH_MAX: usize = 64;

/// What lists show of a result; the whole result goes to the attachment table.
pub const RESULT_SUMMARY_CHARS_MAX: usize = 500;
/// A result is an answer, not a file.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;
pub const ERROR_CHARS_MAX: usize = 4_000;

/// One attempt's output: its beginning and its end are kept, what lies between is counted.
pub const OUTPUT_HEAD_BYTES_MAX: usize = 768 * 1024;
pub const OUTPUT_TAIL_BYTES_MAX: usize = 256 * 1024;
/// One word of progress, as JSON.
pub const PROGRESS_CHARS_MAX: usize = 2_000;
/// One line of output; a longer one is cut into several.
pub const OUTPUT_LINE_BYTES_MAX: usize = 16 * 1024;

/// Retries: enough for a week at the longest delay.
pub const RETRY_COUNT_MAX: u32 = 10_000;
pub const RETRY_BASE_MS_DEFAULT: i64 = 1_000;
pub const RETRY_CAP_MS_DEFAULT: i64 = 3_600_000;
pub const RETRY_CAP_MS_MAX: i64 = 7 * 86_400_000;
pub const RETRY_COUNT_DEFAULT: u32 = 3;
/// Retries of jobs that failed together are spread over ±20 % of their delay.
pub const RETRY_JITTER_PER_CENT: i64 = 20;

/// A job whose node was lost this often while it ran rests as dead: it is likely what kills the node.
pub const LOST_COUNT_MAX: u32 = 3;

pub const TIMEOUT_SECONDS_DEFAULT: u32 = 300;
pub const TIMEOUT_SECONDS_MAX: u32 = 7 * 86_400;
/// From the cancellation of a body to the moment it counts as a zombie (async, blocking) or is killed (process).
pub const CANCEL_GRACE_MS: u64 = 2_000;

/// Jobs in one call of the bulk interface.
pub const BATCH_JOBS_MAX: usize = 10_000;
/// Jobs written by one statement group: keeps a transaction in the low milliseconds.
pub const FLUSH_JOBS_MAX: usize = 1_000;
/// Jobs accepted into memory and not yet committed: past it a submitter waits, then hears "busy".
pub const INTAKE_JOBS_MAX: usize = 20_000;
pub const INTAKE_WAIT_MS: u64 = 5_000;

/// Jobs that one pool holds in memory, claimed and waiting for a slot or their instant.
pub const POOL_QUEUE_DEFAULT: u32 = 2_000;
pub const POOL_QUEUE_MAX: u32 = 20_000;
pub const POOL_CONCURRENCY_DEFAULT: u32 = 64;
pub const POOL_CONCURRENCY_MAX: u32 = 10_000;
pub const POOLS_MAX: usize = 200;
/// Jobs of a pool at one time, on all nodes together: ten of the largest pools.
pub const CLUSTER_CONCURRENCY_MAX: u32 = 100_000;

/// Places that a full memory keeps for urgent jobs (high and critical), beside its capacity.
pub const fn urgent_places(queue_capacity: u32) -> u32 {
    queue_capacity / 8 + 1
}

/// Claims happen this long before a job is due, so that it can start on its instant.
pub const CLAIM_AHEAD_MS: i64 = 1_000;
/// Jobs taken by one claim.
pub const CLAIM_JOBS_MAX: u32 = 1_000;
/// The safety net under the wake-ups.
pub const CLAIM_POLL_MS: u64 = 1_000;
/// The same where other nodes leave jobs and nobody tells of them: how late a job is that one node stores and another runs.
pub const CLAIM_POLL_SHARED_MS: u64 = 150;
/// Hints of a store that come faster are answered by one look.
pub const WAKE_PAUSE_MS: u64 = 5;
/// An attempt that is older than this is written down as EXECUTING; shorter ones are written once, at their end.
pub const SHOW_EXECUTING_AFTER_MS: u64 = 100;

/// Attempts whose bodies may ignore their cancellation at one time before the node calls itself unhealthy.
pub const ZOMBIES_MAX: usize = 64;

/// How long others believe that a node lives: a stall of the database or of the node that is shorter costs nothing.
pub const LEASE_MS_DEFAULT: u64 = 15_000;
/// The last quarter of a lease must be enough to kill a tree of processes, which takes a second.
pub const LEASE_MS_MIN: u64 = 5_000;
/// What a dead node held waits as long.
pub const LEASE_MS_MAX: u64 = 600_000;
/// A node that has lost its lease waits as long for the outcomes of its bodies to be written before it joins again.
pub const LAST_WORDS_MS: u64 = 3_000;
/// How often a node asks what others have changed, and what it still holds while something runs.
pub const NEWS_LOOK_MS: u64 = 1_000;
/// Not more often than this, however many hints come.
pub const NEWS_PAUSE_MS: u64 = 100;
/// So often a node looks at all that it is said to hold, also when its bodies are short: a claim without an answer may
/// commit later than anybody waits for it.
pub const RECOUNT_MS: u64 = 15_000;
/// Tasks that are not known here and whose jobs are left to others; past it such jobs are taken and given back.
pub const STRANGE_TASKS_MAX: usize = 1_000;
/// Callers that look for the end of their job in the store at one time.
pub const WAITERS_LOOK_MAX: usize = 16;

/// Broadcasts that one node sees through at one time. Each only waits for its parts.
pub const BROADCASTS_MAX: u32 = 16;
/// Parts of broadcasts that run on one node at one time, beside its pools.
pub const NODE_PARTS_MAX: u32 = 16;
/// Parents, and parts, that a node holds in memory.
pub const BROADCAST_QUEUE: u32 = 64;
/// Nodes that one broadcast reaches: its parts are written in one transaction.
pub const BROADCAST_PARTS_MAX: usize = FLUSH_JOBS_MAX;
/// What the parent shows of a part's result or error.
pub const PART_TEXT_CHARS_MAX: usize = 500;
/// A coordinator has no time-out of its own, its parts have: longer than any of them, with all its retries.
pub const COORDINATOR_SECONDS_MAX: u64 = RETRY_COUNT_MAX as u64 * TIMEOUT_SECONDS_MAX as u64;
/// How often a coordinator that could not reach the store tries again.
pub const COORDINATOR_PAUSE_MS: u64 = 1_000;
/// A node that stops waits as long for coordinators whose parts have all ended on it.
pub const COORDINATOR_LAST_WORDS_MS: u64 = 500;

/// What the joined result shows of each part's result: half of what a result may have, in JSON, where a character can take
/// six bytes.
pub const fn part_text_chars(parts: usize) -> usize {
    let shared_by = if parts == 0 { 1 } else { parts };
    let each = RESULT_BYTES_MAX / 2 / 6 / shared_by;
    if each < PART_TEXT_CHARS_MAX { each } else { PART_TEXT_CHARS_MAX }
}

/// Shorter intervals are work for a loop inside one job.
pub const EVERY_MS_MIN: u64 = 1_000;
pub const EVERY_MS_MAX: u64 = 366 * 86_400_000;
/// A fire that is later than this is a misfire.
pub const MISFIRE_GRACE_SECONDS_DEFAULT: u32 = 60;
pub const MISFIRE_GRACE_SECONDS_MAX: u32 = 86_400;
pub const MAX_CATCHUP_DEFAULT: u32 = 10;
pub const MAX_CATCHUP_MAX: u32 = 100;
/// Missed fire times are counted up to here; more are "at least".
pub const MISSED_FIRES_COUNTED_MAX: u32 = 1_000;
pub const START_DEADLINE_SECONDS_MAX: u32 = 30 * 86_400;
/// Late fires of one task in one transaction: more of them follow in the next.
pub const FIRES_AT_ONCE_MAX: usize = 100;
/// Tasks fired by one transaction.
pub const FIRE_TASKS_MAX: usize = 1_000;
/// The scheduler looks at the clock at least this often: a step of the wall clock is noticed soon.
pub const SCHEDULE_LOOK_MS: u64 = 1_000;
/// How long the end of a job that planned the next fire of a fixed delay can go unheard.
pub const MISSED_ENDS_LOOK_MS: u64 = 60_000;
/// Wall clock against monotonic clock within one look: more is a jump.
pub const CLOCK_JUMP_MS: i64 = 2_000;
/// A wall clock that went back by more has all fire times planned anew.
pub const CLOCK_BACK_MS: i64 = 60_000;
pub const MAX_RUNNING_MAX: u32 = 10_000;
pub const RATE_COUNT_MAX: u32 = 10_000;
pub const RATE_PERIOD_MS_MAX: u64 = 7 * 86_400_000;
/// Fire times that one request may run after the fact.
pub const BACKFILL_FIRES_MAX: u32 = 1_000;
pub const CALENDARS_MAX: usize = 200;
/// Twenty years of every second day.
pub const CALENDAR_DAYS_MAX: usize = 4_000;
/// A repeated press of a button within this time answers the first result.
pub const REQUEST_ID_KEPT_MS: i64 = 600_000;
/// Nodes that are gone are shown for this long.
pub const NODE_KEPT_MS: i64 = 30 * 86_400_000;
/// Tasks in one call of `tasks/apply`.
pub const APPLY_TASKS_MAX: usize = 1_000;

pub const PAGE_SIZE_MAX: u32 = 200;
pub const PAGE_SIZE_DEFAULT: u32 = 50;
/// Rows that one page may look at; a rare match continues with the next cursor.
pub const PAGE_SCAN_ROWS_MAX: u32 = 20_000;

/// A cron expression is kept in a column and read on every save.
pub const CRON_CHARS_MAX: usize = 255;
/// No schedule is followed past this year of its zone: every search ends.
pub const CRON_YEAR_MAX: i64 = 2_199;
/// A jump of the clocks by more than this is a change of the calendar, not of the season: nothing is caught up.
pub const CRON_GAP_SECONDS_MAX: i64 = 3 * 3_600;
/// Fires that a preview shows.
pub const CRON_PREVIEW_FIRES_DEFAULT: u32 = 5;
pub const CRON_PREVIEW_FIRES_MAX: u32 = 100;

const _: () = assert!(CRON_PREVIEW_FIRES_DEFAULT <= CRON_PREVIEW_FIRES_MAX);
const _: () = assert!(LEASE_MS_MIN <= LEASE_MS_DEFAULT && LEASE_MS_DEFAULT <= LEASE_MS_MAX);
const _: () = assert!(PAYLOAD_INLINE_BYTES_MAX < PAYLOAD_BYTES_MAX);
const _: () = assert!(FLUSH_JOBS_MAX <= BATCH_JOBS_MAX && BATCH_JOBS_MAX <= INTAKE_JOBS_MAX);
const _: () = assert!(POOL_QUEUE_DEFAULT <= POOL_QUEUE_MAX && POOL_CONCURRENCY_DEFAULT <= POOL_CONCURRENCY_MAX);
const _: () = assert!(POOL_CONCURRENCY_MAX <= CLUSTER_CONCURRENCY_MAX);
const _: () = assert!(LEASE_MS_MIN <= LEASE_MS_DEFAULT && LEASE_MS_DEFAULT <= LEASE_MS_MAX);
const _: () = assert!(RETRY_BASE_MS_DEFAULT <= RETRY_CAP_MS_DEFAULT && RETRY_CAP_MS_DEFAULT <= RETRY_CAP_MS_MAX);
const _: () = assert!(MAX_CATCHUP_DEFAULT <= MAX_CATCHUP_MAX && MAX_CATCHUP_MAX < MISSED_FIRES_COUNTED_MAX);
const _: () = assert!(MISFIRE_GRACE_SECONDS_DEFAULT <= MISFIRE_GRACE_SECONDS_MAX);
const _: () = assert!(BROADCASTS_MAX <= BROADCAST_QUEUE && NODE_PARTS_MAX <= BROADCAST_QUEUE);
const _: () = assert!(part_text_chars(BROADCAST_PARTS_MAX) >= 80);
const _: () = assert!(PAGE_SIZE_DEFAULT <= PAGE_SIZE_MAX && PAGE_SIZE_MAX < PAGE_SCAN_ROWS_MAX);
