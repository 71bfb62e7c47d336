//! The cases of the suite that need no hot verb, so that they hold for themselves.

use super::{on_each, open};
use crate::suite::{Subject, World};

macro_rules! cases {
    ($($group:ident { $($case:ident,)+ })+) => {$($(
        #[tokio::test]
        async fn $case() {
            on_each(async |url| {
                let world = World::of(&Subject { store: open(url).await, keep: None });
                world.create(crate::suite::world::TASK, crate::suite::world::definition()).await;
                crate::suite::$group::$case(&world).await;
                assert_eq!(world.store().verify().await.expect("verify answers"), []);
            })
            .await;
        }
    )+)+};
}

cases! {
    admin {
        a_task_is_kept_as_it_was_defined,
        a_taken_code_is_in_the_way,
        an_edit_needs_the_version_that_was_read,
        a_repeated_edit_is_known,
        a_switch_wins_over_edits_and_is_idempotent,
        a_task_gets_no_id_of_a_deleted_one,
        pools_are_kept,
    }
    lists {
        unknown_things_are_none,
    }
    planned {
        a_new_task_has_its_first_fire_time,
        an_edit_keeps_the_next_fire_time_or_sets_it,
        a_switch_writes_the_next_fire_time_once,
        calendars_are_kept_replaced_and_deleted,
        a_request_id_is_carried_out_once,
        a_request_id_is_forgotten_in_time,
    }
}
