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
    common LANE_GO_ON = "lane_go_on";
    common LANE_HELD = "lane_held";
    common LANE_LIVE = "lane_live";
    common LANE_LIVE_FIRST = "lane_live_first";
    common LANE_LIVE_IDS = "lane_live_ids";
    common LANE_NEXT = "lane_next";
    common LANE_THROTTLED = "lane_throttled";
    common MIGRATIONS_READ = "migrations_read";
    own MIGRATION_FOREIGN = "migration_foreign";
    own MIGRATION_LOCK = "migration_lock";
    own MIGRATION_NOTE = "migration_note";
    own MIGRATION_TABLE = "migration_table";
    own MIGRATION_TABLE_THERE = "migration_table_there";
    own MIGRATION_UNLOCK = "migration_unlock";
    own NOW = "now";
    common POOL_LIMITS = "pool_limits";
    own POOL_LIMITS_LOCK = "pool_limits_lock";
    common QUEUE_ADMIT = "queue_admit";
    common QUEUE_HELD_IN_POOL = "queue_held_in_pool";
    common QUEUE_JUDGE_RATES = "queue_judge_rates";
    common QUEUE_LANE = "queue_lane";
    common RINGS_NEXT = "rings_next";
    common RINGS_OPEN = "rings_open";
    common RING_OPEN = "ring_open";
    common RING_READ = "ring_read";
    common RING_SLOT = "ring_slot";
    own RING_START = "ring_start";
    own RING_TURN = "ring_turn";
    common RING_WAIT = "ring_wait";
    common TASK_LIVE_IDS = "task_live_ids";
    own TASKS_LOCK_CHANGE = "tasks_lock_change";
    own TASKS_LOCK_FREE = "tasks_lock_free";
    own TASKS_LOCK_SHARE = "tasks_lock_share";
    own TASKS_READ = "tasks_read";
}
