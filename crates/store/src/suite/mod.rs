//! The conformance suite: what every store must do, as sentences.
//!
//! A store runs it with `store_suite!(name => constructor)`; each case becomes a test of its own with a fresh store.
//! Times are passed in by the cases, so no case waits for a clock.

pub mod admin;
pub mod claim;
pub mod differential;
pub mod finish;
pub mod lists;
pub mod rescue;
pub mod submit;
pub(crate) mod world;

use std::any::Any;
use std::sync::Arc;

use crate::Store;

pub use world::World;

/// A fresh store, and what must live as long as it does.
#[derive(Debug)]
pub struct Subject {
    pub store: Arc<dyn Store>,
    pub keep: Option<Box<dyn Any + Send + Sync>>,
}

impl Subject {
    pub fn new(store: impl Store) -> Subject {
        Subject { store: Arc::new(store), keep: None }
    }

    #[must_use]
    pub fn keeping(self, keep: impl Any + Send + Sync) -> Subject {
        Subject { keep: Some(Box::new(keep)), ..self }
    }
}

/// One test per case. `$make` is an `async fn() -> Subject`, named by an absolute path.
#[macro_export]
macro_rules! store_suite {
    ($name:ident => $make:path) => {
        mod $name {
            $crate::store_suite! { @groups $make;
                submit {
                    a_job_is_stored_as_it_was_given,
                    a_second_job_with_the_same_key_is_a_duplicate,
                    a_live_key_is_free_once_its_job_is_final,
                    an_always_key_stays_taken,
                    keys_of_different_tasks_do_not_meet,
                    a_repeated_submit_answers_stored,
                    a_bad_row_stops_no_other,
                    a_repeat_after_the_task_was_disabled_is_still_stored,
                    a_big_payload_comes_back_whole,
                    a_fresh_job_is_claimed_by_its_own_insert,
                }
                claim {
                    due_jobs_come_in_order_of_their_time,
                    nothing_is_claimed_before_its_time,
                    the_urgent_go_first_and_the_others_get_their_part,
                    two_claimers_never_share_a_job,
                    a_claim_takes_no_more_than_its_room,
                    pools_are_apart,
                    every_claim_adds_one_to_the_fence,
                    a_given_back_job_is_claimed_again_and_not_suspect,
                    giving_back_needs_the_fence,
                    a_parked_job_rests_until_its_task_is_known,
                    the_next_due_time_is_told,
                    a_node_can_ask_what_it_holds,
                }
                finish {
                    a_started_job_is_executing,
                    a_start_needs_the_fence,
                    a_repeated_start_changes_nothing,
                    a_success_ends_the_job,
                    a_short_job_never_shows_executing,
                    a_failure_waits_for_its_next_try,
                    a_snooze_spends_nothing,
                    a_loss_is_counted_apart,
                    a_repeated_settlement_is_known,
                    a_late_result_is_discarded,
                    a_late_result_of_an_ended_attempt_changes_nothing,
                    an_end_by_a_person_is_not_taken_for_the_bodys_own,
                    a_failed_job_is_dead_and_people_are_told,
                    a_failure_may_stop_the_task,
                    a_long_result_is_cut_on_a_character_and_kept_whole,
                    a_batch_settles_each_for_itself,
                    output_comes_back_in_order_and_once,
                }
                rescue {
                    a_node_learns_its_number_and_beats,
                    a_node_learns_of_the_newest_job,
                    claimed_jobs_of_a_dead_node_are_released_as_suspects,
                    started_jobs_of_a_dead_node_are_lost_and_queued,
                    the_poison_limit_ends_a_job,
                    a_job_that_must_not_run_twice_is_dead_after_a_loss,
                    joining_again_changes_nothing,
                    a_polite_leave_spends_nothing,
                    a_result_after_the_take_over_changes_nothing,
                }
                admin {
                    a_task_is_kept_as_it_was_defined,
                    a_taken_code_is_in_the_way,
                    an_edit_needs_the_version_that_was_read,
                    a_repeated_edit_is_known,
                    a_switch_wins_over_edits_and_is_idempotent,
                    a_task_with_live_jobs_is_not_deleted,
                    pools_are_kept,
                    operations_agree_with_the_rules_in_every_state,
                    an_operation_needs_what_the_person_saw,
                    a_repeated_operation_is_known,
                    a_retry_opens_a_new_generation,
                    a_retry_takes_its_live_key_again_or_says_who_has_it,
                    retry_now_makes_a_waiting_job_due,
                    a_cancel_takes_a_running_job_from_its_node,
                    a_job_marked_failed_is_dead,
                    a_release_gives_a_held_job_to_others,
                    the_store_says_what_it_is,
                }
                lists {
                    pages_make_the_whole_list_under_inserts,
                    filters_find_what_they_say,
                    a_rare_match_goes_on_with_the_next_page,
                    attempts_come_newest_first,
                    dead_jobs_come_newest_first_until_taken_up,
                    numbers_are_bounded,
                    live_jobs_of_all_tasks_are_counted_in_one_bounded_pass,
                    a_key_finds_the_jobs_that_have_freed_it_too,
                    unknown_things_are_none,
                }
            }
        }
    };
    (@groups $make:path; $($group:ident { $($case:ident,)+ })+) => {
        $(mod $group {
            $(
                #[tokio::test]
                async fn $case() {
                    let subject = $make().await;
                    $crate::suite::$group::$case(&$crate::suite::World::new(&subject).await).await;
                    let violations = subject.store.verify().await.expect("verify answers");
                    assert!(violations.is_empty(), "{violations:?}");
                }
            )+
        })+
    };
}

#[cfg(test)]
mod tests {
    /// A case that no store runs proves nothing.
    #[test]
    fn every_case_is_in_the_list() {
        let list = include_str!("mod.rs");
        for cases in [
            include_str!("admin.rs"),
            include_str!("claim.rs"),
            include_str!("finish.rs"),
            include_str!("lists.rs"),
            include_str!("rescue.rs"),
            include_str!("submit.rs"),
        ] {
            for line in cases.lines() {
                let name = line.strip_prefix("pub async fn ").and_then(|rest| rest.split('(').next());
                if let Some(name) = name {
                    assert!(list.contains(&format!("{name},")), "{name} is in no list");
                }
            }
        }
    }
}
