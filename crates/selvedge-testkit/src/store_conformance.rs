//! The suite that every [`ConversationStore`] must pass.
//!
//! Each case is a public async function that panics if the store breaks a promise of the trait; the macro
//! [`store_conformance!`](crate::store_conformance!) makes each of them a test of its own:
//!
//! ```
//! use std::sync::Arc;
//!
//! use selvedge_store::{ConversationStore, MemoryStore};
//! use selvedge_testkit::store_conformance::StoreHarness;
//!
//! struct Memory(MemoryStore);
//!
//! impl StoreHarness for Memory {
//!     async fn fresh() -> Self {
//!         Self(MemoryStore::default())
//!     }
//!
//!     fn store(&self) -> Arc<dyn ConversationStore> {
//!         Arc::new(self.0.clone())
//!     }
//!
//!     async fn reopen(&mut self) {} // What a store in memory keeps, it keeps in its clones.
//! }
//!
//! selvedge_testkit::store_conformance!(Memory);
//! # fn main() {}
//! ```
//!
//! A case starts nothing that outlives it: dropping its future ends it, wherever it is.
//!
//! What it cannot see: whether a write survives a power cut, and what becomes of records that were damaged from
//! outside. Tests of those belong to the store.

pub mod accept;
pub mod atomic;
pub mod beside;
pub mod blobs;
pub mod claim;
pub mod concurrent;
pub mod create;
pub mod delete;
pub mod durable;
pub mod fork;
pub mod history;
mod kit;
pub mod marks;
mod samples;
pub mod sync;
pub mod text;
pub mod threads;
pub mod unknown;

use std::{sync::Arc, time::Duration};

use selvedge_store::ConversationStore;

/// How the suite gets at a kind of store. Its functions panic where they fail.
pub trait StoreHarness: Sized {
    /// A store without a thread, which nothing else uses.
    fn fresh() -> impl Future<Output = Self>;

    /// A handle of the store; all handles show the same threads.
    fn store(&self) -> Arc<dyn ConversationStore>;

    /// What the death of the process and a new start would do: forgets all that is not durable and opens the store
    /// again. The suite has dropped all handles and owners before.
    fn reopen(&mut self) -> impl Future<Output = ()>;
}

/// How long a case may take. They take seconds at most: whoever needs longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a case to its end on a runtime of its own, which has two threads so that races are real.
///
/// # Panics
/// If the case does, or does not end within two minutes.
pub fn check(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the machine has threads to spare");
    runtime.block_on(async { tokio::time::timeout(LIMIT, case).await.expect("the store hangs") });
}

/// Makes one test of each case of the [suite](mod@crate::store_conformance), for the [`StoreHarness`] that it is given.
///
/// The tests run under the runtime that this crate brings along and are named `module::case`.
#[macro_export]
macro_rules! store_conformance {
    ($harness:ty) => {
        $crate::store_conformance! { @tests $harness;
            accept {
                inputs_wait_in_the_order_of_their_arrival
                every_kind_of_input_comes_back
                an_id_twice_in_a_request_counts_once
                an_id_that_comes_again_is_a_duplicate
                an_id_stays_known_when_its_input_is_consumed
                an_id_stays_known_across_a_crash
                an_id_is_known_to_its_own_thread_only
                numbers_grow_and_are_never_used_again
                nothing_is_accepted_from_an_empty_request
            }
            atomic {
                a_refused_sync_leaves_nothing
                a_sync_that_is_dropped_is_whole_or_absent
                an_accept_that_is_dropped_is_whole_or_absent
                readers_see_whole_syncs
            }
            beside {
                planned_calls_are_open_in_call_order
                a_settled_call_takes_its_choices_and_sign_ins_along
                a_call_that_is_planned_and_settled_at_once_is_not_open
                choices_wait_oldest_first
                a_resolved_choice_is_kept_until_its_call_is_settled
                a_choice_that_is_opened_and_closed_at_once_is_resolved
                subscriptions_outlive_their_calls_until_they_are_closed
                a_later_sign_in_of_a_call_replaces_the_earlier
                a_later_view_of_a_type_replaces_the_earlier
                usage_adds_up
            }
            blobs {
                a_blob_comes_back
                any_range_of_a_blob_can_be_read
                the_first_blob_of_a_name_stays
                blobs_belong_to_their_thread
                a_fork_reads_the_blobs_of_its_parents
                a_fork_prefers_its_own_blobs
                a_blob_that_is_not_there_is_not_found
                blobs_survive_a_crash
            }
            claim {
                each_claim_counts_the_epoch_up
                a_living_owner_keeps_its_thread
                a_dead_owner_is_displaced
                an_owner_may_claim_again
                a_released_thread_is_free
                releasing_an_old_claim_does_nothing
                owners_of_one_label_are_told_apart
                an_owner_may_have_many_threads
                an_owner_dies_with_its_process
                an_epoch_that_has_synced_is_never_given_out_again
            }
            concurrent {
                accepts_at_once_are_all_kept_once
                one_of_many_creators_gets_the_thread
                one_of_many_claims_succeeds
                one_of_two_writers_wins_each_step
                inputs_that_arrive_during_syncs_are_kept
                forks_and_spawns_of_one_name_make_one_thread
            }
            create {
                nothing_is_created_unless_it_is_asked_for
                a_new_thread_holds_its_inputs_and_nothing_else
                a_thread_can_be_created_claimed
                an_accept_does_not_claim_a_thread_that_exists
                a_thread_is_not_created_for_nothing
            }
            delete {
                a_deleted_thread_is_gone_and_forgotten
                a_thread_of_a_living_owner_is_not_deleted
                a_thread_of_a_dead_owner_can_be_deleted
                a_thread_with_forks_is_not_deleted
                children_outlive_their_parent
                a_deleted_thread_stays_deleted_across_a_crash
                other_threads_are_untouched
            }
            durable {
                everything_survives_a_crash
                a_store_that_crashes_often_goes_on
            }
            fork {
                a_fork_shares_the_history_up_to_its_step
                a_fork_and_its_parent_go_on_apart
                a_fork_has_nothing_else_of_its_parent
                a_fork_goes_on_after_the_step_it_shares
                a_fork_knows_no_ids_of_its_parent
                a_fork_may_start_at_nothing
                a_fork_of_a_fork_may_reach_behind_it
                a_fork_that_is_refused_leaves_nothing
                forks_survive_a_crash
            }
            history {
                every_kind_of_message_comes_back
                a_new_thread_has_no_history
                steps_without_messages_leave_gaps
                a_page_ends_before_a_step
                a_page_has_at_least_one_turn
                a_page_holds_no_more_than_fits
                every_page_size_gives_the_same_whole
                every_page_size_gives_the_same_whole_across_forks
                a_long_history_comes_back_in_order
            }
            marks {
                a_mark_is_kept_and_never_lowered
                a_sync_carries_a_mark
                a_mark_of_an_old_claim_is_a_conflict
                a_mark_beyond_the_newest_step_is_invalid
            }
            sync {
                a_sync_moves_the_head
                a_step_out_of_turn_is_a_conflict
                another_epoch_is_a_conflict
                a_sync_that_is_sent_again_is_a_conflict_under_its_own_token
                consumed_inputs_leave_the_inbox
                any_token_comes_back
                spawned_threads_start_with_their_inputs
                a_spawned_thread_must_be_new
                a_thread_is_not_spawned_for_nothing
            }
            text {
                any_text_comes_back_in_inputs
                any_text_comes_back_in_messages
                any_text_comes_back_beside_the_history
                any_text_comes_back_in_ids
                ids_that_look_alike_are_different
                a_megabyte_comes_back
                extreme_times_come_back
            }
            threads {
                threads_are_listed_in_the_order_of_their_ids
                every_length_of_list_gives_the_same_whole
                a_summary_says_what_a_thread_is
                a_thread_with_nothing_to_do_is_finished
                a_waiting_input_is_unfinished
                an_open_call_is_unfinished
                an_uncommitted_step_is_unfinished
            }
            unknown {
                an_unknown_thread_is_not_found_and_not_made
                a_deleted_thread_is_not_found
            }
        }
    };
    (@tests $harness:ty; $($module:ident { $($case:ident)* })*) => {
        $(mod $module {
            #[allow(unused_imports, reason = "the harness may be named by a full path")]
            use super::*;

            $(#[test]
            fn $case() {
                $crate::store_conformance::check($crate::store_conformance::$module::$case::<$harness>());
            })*
        })*
    };
}
