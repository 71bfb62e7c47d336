//! The statements, one verb per file in `queries/`. Each says what it does, who calls it and which index it relies on.

macro_rules! statements {
    ($($name:ident = $file:literal;)+) => {
        $(pub(super) const $name: &str = include_str!(concat!("queries/", $file, ".sql"));)+

        /// For the tests of plans: every statement under its file's name.
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$(($file, $name)),+];
    };
}

statements! {
    ALERT_INSERT = "alert_insert";
    ATTACHMENT_DELETE = "attachment_delete";
    ATTACHMENT_INSERT = "attachment_insert";
    ATTACHMENT_READ = "attachment_read";
    ATTEMPT = "attempt";
    ATTEMPT_END = "attempt_end";
    ATTEMPT_END_BY_PERSON = "attempt_end_by_person";
    ATTEMPT_ENDED = "attempt_ended";
    ATTEMPT_START = "attempt_start";
    ATTEMPTS_OF_JOB = "attempts_of_job";
    ATTEMPTS_OF_TASK = "attempts_of_task";
    AUDIT_INSERT = "audit_insert";
    AUDIT_RECENT = "audit_recent";
    CLAIM_READ = "claim_read";
    DEAD_CLOSE = "dead_close";
    DEAD_INSERT = "dead_insert";
    DEAD_JOBS = "dead_jobs";
    DEAD_JOBS_OF_TASK = "dead_jobs_of_task";
    JOB_DUE_NOW = "job_due_now";
    JOB_DUPLICATE = "job_duplicate";
    JOB_END_BY_PERSON = "job_end_by_person";
    JOB_END_READ = "job_end_read";
    JOB_EXISTS = "job_exists";
    JOB_FENCE = "job_fence";
    JOB_FIRST = "job_first";
    JOB_INSERT = "job_insert";
    JOB_NEWEST = "job_newest";
    JOB_READ = "job_read";
    JOB_RELEASE = "job_release";
    JOB_REOPEN = "job_reopen";
    JOB_SETTLE = "job_settle";
    JOB_START = "job_start";
    JOBS_ALL = "jobs_all";
    JOBS_BY_KEY = "jobs_by_key";
    JOBS_BY_STATUS = "jobs_by_status";
    JOBS_BY_STATUS_TASK = "jobs_by_status_task";
    JOBS_BY_TASK = "jobs_by_task";
    JOBS_EXECUTING = "jobs_executing";
    JOBS_LIVE = "jobs_live";
    KEY_DELETE = "key_delete";
    KEY_FREE = "key_free";
    KEY_INSERT = "key_insert";
    KEY_MOVE = "key_move";
    KEY_READ = "key_read";
    LIVE_JOBS = "live_jobs";
    LOSS_FACTS = "loss_facts";
    NODE_GONE = "node_gone";
    NODE_HEARTBEAT = "node_heartbeat";
    NODE_JOIN = "node_join";
    NODE_OTHERS_GONE = "node_others_gone";
    NODES = "nodes";
    OUTPUT_INSERT = "output_insert";
    OUTPUT_READ = "output_read";
    POOL_PUT = "pool_put";
    POOLS = "pools";
    QUEUE_AGAIN = "queue_again";
    QUEUE_CLAIM = "queue_claim";
    QUEUE_COUNT = "queue_count";
    QUEUE_DELETE = "queue_delete";
    QUEUE_DUE = "queue_due";
    QUEUE_DUE_NOW = "queue_due_now";
    QUEUE_END = "queue_end";
    QUEUE_GIVE_BACK = "queue_give_back";
    QUEUE_HELD = "queue_held";
    QUEUE_INSERT = "queue_insert";
    QUEUE_NEXT_DUE = "queue_next_due";
    QUEUE_NEXT_POOL = "queue_next_pool";
    QUEUE_RELEASE = "queue_release";
    QUEUE_RELEASE_ORPHANS = "queue_release_orphans";
    QUEUE_RELEASE_OWN = "queue_release_own";
    QUEUE_SET_APART = "queue_set_apart";
    QUEUE_SET_ASIDE = "queue_set_aside";
    QUEUE_START = "queue_start";
    QUEUE_STARTED_ORPHANS = "queue_started_orphans";
    QUEUE_STARTED_OWN = "queue_started_own";
    QUEUE_UNPARK = "queue_unpark";
    TASK_DELETE = "task_delete";
    TASK_INSERT = "task_insert";
    TASK_LIVE = "task_live";
    TASK_READ = "task_read";
    TASK_SET_SWITCH = "task_set_switch";
    TASK_SWITCH = "task_switch";
    TASK_UPDATE = "task_update";
    TASKS = "tasks";
    VERIFY_HELD = "verify_held";
    VERIFY_INV_13 = "verify_inv_13";
    VERIFY_INV_18 = "verify_inv_18";
    VERIFY_INV_18_LOST = "verify_inv_18_lost";
    VERIFY_INV_2 = "verify_inv_2";
    VERIFY_INV_24 = "verify_inv_24";
    VERIFY_INV_27 = "verify_inv_27";
    VERIFY_INV_3 = "verify_inv_3";
    VERIFY_INV_5 = "verify_inv_5";
    VERIFY_INV_8 = "verify_inv_8";
    VERIFY_RUNNING = "verify_running";
    WRITABLE = "writable";
}
