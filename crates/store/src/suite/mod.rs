//! The conformance suite: what every store must do, as sentences.
//!
//! A store runs it with `store_suite!(name => constructor)`; each case becomes a test of its own with a fresh store.
//! Times are passed in by the cases, so no case waits for a clock.

pub mod admin;
pub mod after_end;
pub mod broadcast;
pub mod claim;
pub mod differential;
pub mod finish;
pub mod fire;
pub mod lanes;
pub mod lists;
pub mod nodes;
pub mod planned;
pub mod planted;
pub mod rates;
pub mod rescue;
pub(crate) mod scheduled;
pub mod sequences;
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
                    a_repetition_hands_out_no_job_that_has_ended,
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
                nodes {
                    nodes_side_by_side_have_numbers_of_their_own,
                    a_node_that_joins_beside_others_takes_nothing_from_them,
                    a_node_whose_lease_ran_out_is_taken_over_once,
                    a_renewed_lease_is_not_taken_over,
                    a_claim_that_was_committed_after_its_node_was_gone_is_found,
                    a_node_that_comes_back_replaces_its_own_past,
                    an_incarnation_that_is_gone_does_not_come_back,
                    a_claim_names_its_owner,
                    a_draining_node_lives_on,
                    jobs_of_excluded_tasks_stay_for_others,
                    a_pool_keeps_its_limit_for_all_nodes_together,
                    claims_of_several_nodes_at_once_keep_the_limit_of_a_pool,
                    a_part_of_a_broadcast_knows_which_it_is,
                    changes_of_definitions_are_news_and_fires_are_not,
                }
                broadcast {
                    a_parent_stands_in_the_lane_for_its_parts,
                    a_parent_is_replaced_without_its_parts,
                    parts_enter_no_lane_when_their_task_gets_a_limit,
                    parts_of_a_broadcast_that_was_accepted_are_taken,
                    parts_that_wait_for_a_node_that_is_gone_go_to_the_pool_of_their_task,
                    parts_that_wait_for_a_draining_node_go_elsewhere,
                    a_part_that_is_taken_up_again_waits_for_no_node_that_is_gone,
                    a_lost_coordinator_is_repeated_whatever_its_task_says_of_lost_bodies,
                }
                admin {
                    a_task_is_kept_as_it_was_defined,
                    a_taken_code_is_in_the_way,
                    an_edit_needs_the_version_that_was_read,
                    a_repeated_edit_is_known,
                    a_switch_wins_over_edits_and_is_idempotent,
                    a_task_with_live_jobs_is_not_deleted,
                    a_task_gets_no_id_of_a_deleted_one,
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
                fire {
                    a_fire_is_stored_once_and_moves_the_next_fire_time,
                    a_repeated_fire_answers_as_the_first,
                    a_fire_without_jobs_moves_on_and_can_be_repeated,
                    a_fire_that_was_overtaken_writes_nothing,
                    a_skipped_fire_has_its_record_and_no_body,
                    one_fire_time_has_one_record_also_when_it_was_skipped,
                    the_time_of_the_last_fire_never_goes_back,
                    the_last_fire_ends_the_schedule,
                    forbid_skips_a_fire_while_a_job_is_live,
                    queue_one_keeps_one_waiting,
                    replace_cancels_what_is_live,
                    the_result_of_a_replaced_body_is_discarded,
                    allow_joins_what_is_live,
                    fires_of_one_plan_see_each_other,
                    fires_that_catch_up_run_one_after_another,
                    a_fired_job_is_claimed_by_its_insert_only_when_it_is_alone,
                }
                lanes {
                    no_more_of_a_task_are_held_than_it_allows,
                    each_key_has_its_own_places,
                    a_saturated_key_blocks_no_other_key_and_no_other_task,
                    every_way_out_of_a_place_lets_the_next_one_in,
                    a_turn_that_is_not_used_goes_to_the_next,
                    the_next_in_turn_is_the_most_urgent_then_the_oldest,
                    an_edit_has_waiting_jobs_judged_anew,
                    a_limit_that_comes_while_jobs_run_counts_them,
                    a_job_in_a_lane_is_claimed_by_its_insert_only_when_it_is_alone,
                    a_job_that_is_taken_up_again_is_in_its_lane,
                    a_job_that_outlives_its_task_is_in_the_lane_of_the_next_one,
                    jobs_in_turn_keep_no_others_from_a_free_place,
                    a_trigger_keeps_away_from_live_jobs,
                    a_trigger_takes_the_place_of_live_jobs,
                }
                rates {
                    starts_keep_the_rate_in_every_window,
                    a_clock_that_went_far_back_closes_no_rate,
                    jobs_that_wait_for_a_rate_start_on_its_instant,
                    the_store_says_when_a_rate_opens,
                    jobs_that_wait_for_a_rate_are_judged_anew_on_request,
                    each_key_has_its_own_rate,
                    a_rate_hands_out_ahead_and_each_job_on_its_instant,
                    a_pool_keeps_its_rate_and_nobody_asks_in_vain,
                    a_new_job_of_a_pool_with_a_rate_is_not_claimed_by_its_insert,
                    a_pool_whose_rate_changes_goes_on,
                    an_edit_of_a_rate_begins_anew,
                    a_job_that_is_ended_while_it_waits_takes_nobodys_time,
                    a_new_job_under_a_rate_is_not_claimed_by_its_insert,
                    places_and_rates_hold_together,
                    a_deleted_task_leaves_no_rate_behind,
                }
                after_end {
                    the_end_of_a_fired_job_sets_the_next_fire_time,
                    a_person_who_ends_a_fired_job_sets_the_next_fire_time,
                    a_clock_that_went_back_while_the_job_ran_keeps_no_fire_back,
                    a_fired_job_that_is_lost_for_good_sets_the_next_fire_time,
                    an_expired_job_is_skipped_and_says_why,
                    fired_jobs_that_nobody_has_begun_in_time_expire,
                    the_end_of_a_triggered_job_sets_no_fire_time,
                    a_disabled_fixed_delay_stays_still,
                    a_fixed_delay_ends_with_its_end,
                    a_fixed_delay_whose_fire_is_skipped_goes_on,
                    a_fixed_delay_that_replaces_waits_for_the_new_job,
                }
                planned {
                    a_new_task_has_its_first_fire_time,
                    an_edit_keeps_the_next_fire_time_or_sets_it,
                    a_switch_writes_the_next_fire_time_once,
                    a_task_that_was_stopped_says_why_until_a_person_switches_it,
                    a_plan_is_changed_only_as_it_was_read,
                    calendars_are_kept_replaced_and_deleted,
                    a_calendar_that_a_task_names_stays,
                    a_request_id_is_carried_out_once,
                    a_request_id_is_forgotten_in_time,
                    a_task_without_a_schedule_is_as_before,
                }
            }
            $crate::store_suite! { @unsound $make;
                planted {
                    a_fire_time_with_two_records_is_found,
                }
            }
        }
    };
    (@unsound $make:path; $($group:ident { $($case:ident,)+ })+) => {
        $(mod $group {
            $(
                #[tokio::test]
                async fn $case() {
                    let subject = $make().await;
                    $crate::suite::$group::$case(&$crate::suite::World::new(&subject).await).await;
                }
            )+
        })+
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
            include_str!("broadcast.rs"),
            include_str!("claim.rs"),
            include_str!("finish.rs"),
            include_str!("fire.rs"),
            include_str!("after_end.rs"),
            include_str!("lanes.rs"),
            include_str!("planned.rs"),
            include_str!("planted.rs"),
            include_str!("rates.rs"),
            include_str!("lists.rs"),
            include_str!("nodes.rs"),
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
