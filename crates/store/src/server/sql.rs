//! The statements, one verb per file. Each says what it does, who calls it and which index it relies on.
//!
//! `common`: both servers take the text in `server/queries/`. `own`: each has its own, in `postgres/queries/` and
//! `mysql/queries/`. `postgres`, `mysql`: the other server is asked something else.

use super::statement::Statement;

macro_rules! statements {
    ($($kind:ident $name:ident = $file:literal;)+) => {
        $(pub(super) static $name: Statement = super::statement::$kind!($file);)+

        /// For the tests of plans: every statement.
        #[cfg(test)]
        pub(super) static ALL: &[&Statement] = &[$(&$name),+];
    };
}

statements! {
    own ALERT_INSERT_ALL = "alert_insert_all";
    own ATTACHMENT_INSERT = "attachment_insert";
    common ATTACHMENT_READ = "attachment_read";
    common ATTEMPT = "attempt";
    common ATTEMPTS_OF_JOB = "attempts_of_job";
    common ATTEMPTS_OF_TASK = "attempts_of_task";
    common ATTEMPT_ENDED = "attempt_ended";
    own ATTEMPT_END_ALL = "attempt_end_all";
    own ATTEMPT_START_ALL = "attempt_start_all";
    common AUDIT_INSERT = "audit_insert";
    common CALENDARS = "calendars";
    common CALENDAR_DELETE = "calendar_delete";
    own CALENDAR_PUT = "calendar_put";
    own CLAIM_PEEK = "claim_peek";
    own CLAIM_READ = "claim_read";
    own CLUSTER_BEAT = "cluster_beat";
    common CLUSTER_DEFINED = "cluster_defined";
    common CLUSTER_LOCK = "cluster_lock";
    own DEAD_INSERT_ALL = "dead_insert_all";
    common DEAD_JOBS = "dead_jobs";
    common DEAD_JOBS_OF_TASK = "dead_jobs_of_task";
    common JOBS_ALL = "jobs_all";
    common JOBS_BY_KEY = "jobs_by_key";
    common JOBS_BY_STATUS = "jobs_by_status";
    common JOBS_BY_STATUS_TASK = "jobs_by_status_task";
    common JOBS_BY_TASK = "jobs_by_task";
    common JOBS_EXECUTING = "jobs_executing";
    common JOBS_LIVE = "jobs_live";
    own JOBS_READ = "jobs_read";
    common JOB_END_READ = "job_end_read";
    common JOB_FENCE = "job_fence";
    common JOB_NEWEST = "job_newest";
    common JOB_READ = "job_read";
    mysql JOB_SETTLE_ALL = "job_settle_all";
    own JOB_START_ALL = "job_start_all";
    mysql KEY_FREE_ALL = "key_free_all";
    common LANE_ENTER = "lane_enter";
    common LANE_GO_ON = "lane_go_on";
    common LANE_HELD = "lane_held";
    common LANE_LEAVE = "lane_leave";
    common LANE_LIVE = "lane_live";
    common LANE_LIVE_FIRST = "lane_live_first";
    common LANE_LIVE_IDS = "lane_live_ids";
    common LANE_NEXT = "lane_next";
    common LANE_REQUEUE = "lane_requeue";
    common LANE_THROTTLED = "lane_throttled";
    common LIVE_JOBS = "live_jobs";
    own LOSS_FACTS = "loss_facts";
    common MIGRATIONS_READ = "migrations_read";
    own MIGRATION_FOREIGN = "migration_foreign";
    own MIGRATION_LOCK = "migration_lock";
    own MIGRATION_NOTE = "migration_note";
    own MIGRATION_TABLE = "migration_table";
    own MIGRATION_TABLE_THERE = "migration_table_there";
    own MIGRATION_UNLOCK = "migration_unlock";
    common NEWS = "news";
    common NODES = "nodes";
    own NODES_EXPIRED = "nodes_expired";
    own NODE_BEAT = "node_beat";
    common NODE_DRAIN = "node_drain";
    own NODE_EXPIRE = "node_expire";
    common NODE_GONE = "node_gone";
    own NODE_HEARTBEAT = "node_heartbeat";
    own NODE_JOIN = "node_join";
    common NODE_NUMBERS = "node_numbers";
    common NODE_OTHERS_GONE = "node_others_gone";
    own NOW = "now";
    own OUTPUT_INSERT = "output_insert";
    common OUTPUT_READ = "output_read";
    common POOLS = "pools";
    common POOL_LIMITS = "pool_limits";
    own POOL_LIMITS_LOCK = "pool_limits_lock";
    own POOL_PUT = "pool_put";
    common QUEUE_ADMIT = "queue_admit";
    mysql QUEUE_AGAIN_ALL = "queue_again_all";
    own QUEUE_CLAIM_ALL = "queue_claim_all";
    common QUEUE_COUNT = "queue_count";
    common QUEUE_DEAD_OWNERS = "queue_dead_owners";
    own QUEUE_DUE_COUNT = "queue_due_count";
    own QUEUE_DUE_LOCK = "queue_due_lock";
    mysql QUEUE_END_ALL = "queue_end_all";
    common QUEUE_HELD = "queue_held";
    common QUEUE_HELD_IN_POOL = "queue_held_in_pool";
    own QUEUE_HELD_LOCK = "queue_held_lock";
    own QUEUE_HELD_LOCK_FREE = "queue_held_lock_free";
    common QUEUE_HELD_SOME = "queue_held_some";
    own QUEUE_HELD_TASKS = "queue_held_tasks";
    common QUEUE_JUDGE_RATES = "queue_judge_rates";
    common QUEUE_LANE = "queue_lane";
    common QUEUE_NEXT_POOL = "queue_next_pool";
    common QUEUE_OLDEST_DUE = "queue_oldest_due";
    own QUEUE_PUT_BACK = "queue_put_back";
    common QUEUE_SET_APART = "queue_set_apart";
    own QUEUE_START_ALL = "queue_start_all";
    own QUEUE_UNPARK = "queue_unpark";
    common REQUESTS_FORGET = "requests_forget";
    common REQUEST_ANSWER = "request_answer";
    common REQUEST_DELETE = "request_delete";
    own REQUEST_INSERT = "request_insert";
    common REQUEST_READ = "request_read";
    common RINGS_DELETE = "rings_delete";
    common RINGS_DELETE_STARTS = "rings_delete_starts";
    common RINGS_NEXT = "rings_next";
    common RINGS_OPEN = "rings_open";
    common RING_OPEN = "ring_open";
    common RING_READ = "ring_read";
    common RING_SLOT = "ring_slot";
    own RING_START = "ring_start";
    own RING_TURN = "ring_turn";
    common RING_WAIT = "ring_wait";
    postgres SETTLE_ALL = "settle_all";
    common TASKS = "tasks";
    own TASKS_LOCK_CHANGE = "tasks_lock_change";
    own TASKS_LOCK_FREE = "tasks_lock_free";
    own TASKS_LOCK_SHARE = "tasks_lock_share";
    own TASKS_READ = "tasks_read";
    own TASK_DECLARE = "task_declare";
    common TASK_DELETE = "task_delete";
    common TASK_HAS_PAST = "task_has_past";
    own TASK_INSERT = "task_insert";
    common TASK_LIVE = "task_live";
    common TASK_LIVE_IDS = "task_live_ids";
    own TASK_LOCK_CHANGE = "task_lock_change";
    own TASK_LOCK_REMOVE = "task_lock_remove";
    own TASK_LOCK_SHARE = "task_lock_share";
    common TASK_READ = "task_read";
    common TASK_SET_SWITCH = "task_set_switch";
    common TASK_STOP = "task_stop";
    common TASK_UPDATE = "task_update";
    common VERIFY_HELD = "verify_held";
    common VERIFY_INV_13 = "verify_inv_13";
    common VERIFY_INV_18 = "verify_inv_18";
    common VERIFY_INV_18_LOST = "verify_inv_18_lost";
    common VERIFY_INV_2 = "verify_inv_2";
    common VERIFY_INV_24 = "verify_inv_24";
    common VERIFY_INV_27 = "verify_inv_27";
    common VERIFY_INV_3 = "verify_inv_3";
    common VERIFY_INV_5 = "verify_inv_5";
    common VERIFY_INV_8 = "verify_inv_8";
    common VERIFY_LANE = "verify_lane";
    common VERIFY_RATE = "verify_rate";
    common VERIFY_RUNNING = "verify_running";
    own WRITABLE = "writable";
}
