//! The statements, one verb per file. Each says what it does, who calls it and which index it relies on.
//!
//! `common`: both servers take the text in `server/queries/`. `own`: each has its own, in `postgres/queries/` and
//! `mysql/queries/`.

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
    common ALERT_INSERT = "alert_insert";
    common ATTACHMENT_DELETE = "attachment_delete";
    own ATTACHMENT_INSERT = "attachment_insert";
    common ATTACHMENT_READ = "attachment_read";
    common ATTEMPT = "attempt";
    common ATTEMPT_END_BY_PERSON = "attempt_end_by_person";
    common ATTEMPTS_OF_JOB = "attempts_of_job";
    common ATTEMPTS_OF_TASK = "attempts_of_task";
    common AUDIT_INSERT = "audit_insert";
    common AUDIT_RECENT = "audit_recent";
    common CALENDAR_DELETE = "calendar_delete";
    own CALENDAR_PUT = "calendar_put";
    common CALENDAR_USERS = "calendar_users";
    common CALENDARS = "calendars";
    common CLUSTER_DEFINED = "cluster_defined";
    common DEAD_CLOSE = "dead_close";
    own DEAD_INSERT = "dead_insert";
    common DEAD_JOBS = "dead_jobs";
    common DEAD_JOBS_OF_TASK = "dead_jobs_of_task";
    common JOB_DUE_NOW = "job_due_now";
    common JOB_END_BY_PERSON = "job_end_by_person";
    common JOB_END_READ = "job_end_read";
    common JOB_FIRST = "job_first";
    common JOB_LOCK = "job_lock";
    common JOB_READ = "job_read";
    common JOB_RELEASE = "job_release";
    common JOB_REOPEN = "job_reopen";
    common JOB_SKIP = "job_skip";
    common JOBS_ALL = "jobs_all";
    common JOBS_BY_KEY = "jobs_by_key";
    common JOBS_BY_STATUS = "jobs_by_status";
    common JOBS_BY_STATUS_TASK = "jobs_by_status_task";
    common JOBS_BY_TASK = "jobs_by_task";
    own JOBS_DUPLICATE = "jobs_duplicate";
    common JOBS_EXECUTING = "jobs_executing";
    own JOBS_INSERT = "jobs_insert";
    own JOBS_INSERT_FIRED = "jobs_insert_fired";
    common JOBS_LIVE = "jobs_live";
    own JOBS_MADE = "jobs_made";
    own JOBS_READ = "jobs_read";
    common KEY_DELETE = "key_delete";
    common KEY_FREE = "key_free";
    common KEY_MOVE = "key_move";
    common KEY_READ = "key_read";
    own KEYS_INSERT = "keys_insert";
    own KEYS_TAKEN = "keys_taken";
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
    own LANES_LIVE = "lanes_live";
    own LANES_OLDEST = "lanes_oldest";
    common LIVE_JOBS = "live_jobs";
    own MIGRATION_FOREIGN = "migration_foreign";
    own MIGRATION_LOCK = "migration_lock";
    own MIGRATION_NOTE = "migration_note";
    own MIGRATION_TABLE = "migration_table";
    own MIGRATION_TABLE_THERE = "migration_table_there";
    own MIGRATION_UNLOCK = "migration_unlock";
    common MIGRATIONS_READ = "migrations_read";
    own NOW = "now";
    own OUTPUT_INSERT = "output_insert";
    common OUTPUT_READ = "output_read";
    common POOL_LIMITS = "pool_limits";
    own POOL_LIMITS_LOCK = "pool_limits_lock";
    own POOL_PUT = "pool_put";
    common POOLS = "pools";
    common POOLS_LIMITED = "pools_limited";
    common QUEUE_ADMIT = "queue_admit";
    common QUEUE_COUNT = "queue_count";
    common QUEUE_DELETE = "queue_delete";
    common QUEUE_DUE_NOW = "queue_due_now";
    common QUEUE_HELD_IN_POOL = "queue_held_in_pool";
    own QUEUE_INSERT = "queue_insert";
    own QUEUE_INSERT_LANE = "queue_insert_lane";
    common QUEUE_JUDGE_RATES = "queue_judge_rates";
    common QUEUE_LANE = "queue_lane";
    common QUEUE_LOCK = "queue_lock";
    common QUEUE_NEXT_POOL = "queue_next_pool";
    common QUEUE_OLDEST_DUE = "queue_oldest_due";
    common QUEUE_RELEASE = "queue_release";
    common QUEUE_SET_APART = "queue_set_apart";
    common QUEUE_UNBEGUN = "queue_unbegun";
    common REQUEST_ANSWER = "request_answer";
    common REQUEST_DELETE = "request_delete";
    own REQUEST_INSERT = "request_insert";
    common REQUEST_READ = "request_read";
    common REQUESTS_FORGET = "requests_forget";
    common RING_OPEN = "ring_open";
    common RING_READ = "ring_read";
    common RING_SLOT = "ring_slot";
    own RING_START = "ring_start";
    own RING_TURN = "ring_turn";
    common RING_WAIT = "ring_wait";
    common RINGS_DELETE = "rings_delete";
    common RINGS_DELETE_STARTS = "rings_delete_starts";
    common RINGS_NEXT = "rings_next";
    common RINGS_OPEN = "rings_open";
    common TASK_AWAITS_END = "task_awaits_end";
    own TASK_DECLARE = "task_declare";
    common TASK_DELETE = "task_delete";
    common TASK_HAS_PAST = "task_has_past";
    own TASK_INSERT = "task_insert";
    common TASK_LIVE = "task_live";
    common TASK_LIVE_IDS = "task_live_ids";
    own TASK_LOCK_CHANGE = "task_lock_change";
    own TASK_LOCK_REMOVE = "task_lock_remove";
    own TASK_LOCK_SHARE = "task_lock_share";
    common TASK_NEXT_FIRE = "task_next_fire";
    own TASK_PLANNED = "task_planned";
    common TASK_READ = "task_read";
    own TASK_REPLAN = "task_replan";
    common TASK_SET_SWITCH = "task_set_switch";
    common TASK_UPDATE = "task_update";
    common TASKS = "tasks";
    own TASKS_FIRED = "tasks_fired";
    own TASKS_LOCK_CHANGE = "tasks_lock_change";
    own TASKS_LOCK_FREE = "tasks_lock_free";
    own TASKS_LOCK_SHARE = "tasks_lock_share";
    own TASKS_READ = "tasks_read";
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
