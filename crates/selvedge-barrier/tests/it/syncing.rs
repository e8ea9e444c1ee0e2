//! The way from staged to synced.

use selvedge_barrier::Turn;
use selvedge_observer::NullObserver;
use selvedge_store::{ConversationStore, StoreErrorKind, ToolDelivery};

use crate::flaky::Fault;
use crate::kit::{Kit, now, thread};

const CALLS: &[(&str, ToolDelivery)] = &[("look", ToolDelivery::AtLeastOnce), ("pay", ToolDelivery::AtMostOnce)];

#[test]
fn permits_are_of_the_planned_calls_in_call_order() {
    let kit = Kit::new();
    let synced = now(kit.turn(1, 7, CALLS).sync(&kit.store)).unwrap();
    let permits = now(synced.commit(&NullObserver)).unwrap().into_permits();
    let told: Vec<_> =
        permits.iter().map(|permit| (permit.key(), permit.delivery(), permit.attempt(), permit.step())).collect();
    assert_eq!(told, [("t/call_1_0".to_owned(), CALLS[0].1, 1, 1), ("t/call_1_1".to_owned(), CALLS[1].1, 1, 1)]);
    assert!(permits.iter().all(|permit| *permit.thread() == thread()));
}

#[test]
fn a_failing_sync_hands_the_turn_back() {
    let kit = Kit::new();
    kit.store.next_sync(Fault::NotDone);
    let failed = now(kit.turn(1, 7, CALLS).sync(&kit.store)).unwrap_err();
    assert!(failed.error.is_transient());
    assert_eq!(now(kit.store.head(&thread())).unwrap().step, 0, "nothing is durable");
    let synced = now(failed.turn.sync(&kit.store)).unwrap();
    assert_eq!(synced.record().step, 1);
    assert_eq!(now(synced.commit(&NullObserver)).unwrap().into_permits().len(), 2);
}

#[test]
fn a_turn_whose_answer_was_lost_is_recognised() {
    let kit = Kit::new();
    kit.store.next_sync(Fault::AnswerLost);
    let failed = now(kit.turn(1, 7, CALLS).sync(&kit.store)).unwrap_err();
    assert_eq!(now(kit.store.head(&thread())).unwrap().step, 1, "it is durable all the same");
    let synced = now(failed.turn.sync(&kit.store)).unwrap();
    assert_eq!(now(synced.commit(&NullObserver)).unwrap().into_permits().len(), 2);
    assert_eq!(now(kit.store.history(&thread(), None, u64::MAX)).unwrap().turns.len(), 1, "and it is there once");
}

#[test]
fn another_writers_turn_is_a_conflict() {
    let kit = Kit::new();
    now(kit.turn(1, 7, CALLS).sync(&kit.store)).unwrap();
    let failed = now(kit.turn(1, 8, CALLS).sync(&kit.store)).unwrap_err();
    assert_eq!(failed.error.kind(), StoreErrorKind::Conflict);
    assert_eq!(failed.turn.record().step, 1);
}

#[test]
fn a_turn_that_cannot_be_told_from_anothers_is_a_conflict() {
    let kit = Kit::new();
    kit.store.next_sync(Fault::AnswerLost);
    let failed = now(kit.turn(1, 7, CALLS).sync(&kit.store)).unwrap_err();
    kit.store.next_head_fails();
    let failed = now(failed.turn.sync(&kit.store)).unwrap_err();
    assert_eq!(failed.error.kind(), StoreErrorKind::Conflict);
}

#[test]
fn an_older_claim_is_a_conflict() {
    let mut kit = Kit::new();
    let turn = kit.turn(1, 7, CALLS);
    kit.claim();
    let failed = now(turn.sync(&kit.store)).unwrap_err();
    assert_eq!(failed.error.kind(), StoreErrorKind::Conflict);
}

#[test]
#[should_panic(expected = "a planned call stands in its turn")]
fn a_planned_call_that_nobody_made_is_a_bug() {
    let kit = Kit::new();
    let mut draft = kit.draft(1, 7, CALLS);
    draft.changes.planned[0].call_id = "call_9_9".into();
    drop(Turn::stage(draft));
}
