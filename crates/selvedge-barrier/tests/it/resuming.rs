//! Where a loaded thread goes on.

use std::sync::Arc;

use selvedge_barrier::{Resumed, ResumedTurn, resume};
use selvedge_event::{CallId, Step, ToolCall};
use selvedge_observer::NullObserver;
use selvedge_store::{ConversationStore, ToolDelivery};

use crate::kit::{Kit, call, choice, now, thread};

const CALLS: &[(&str, ToolDelivery)] = &[("look", ToolDelivery::AtLeastOnce), ("pay", ToolDelivery::AtMostOnce)];

/// Loads the thread as another process would.
fn found(kit: &mut Kit, call: impl Fn(Step, &CallId) -> Option<Arc<ToolCall>>) -> Resumed {
    kit.claim();
    let record = now(kit.store.load(&thread())).unwrap();
    let last = now(kit.store.history(&thread(), None, u64::MAX)).unwrap().turns.pop();
    resume(&record, kit.epoch, last, call)
}

fn known(step: Step, id: &CallId) -> Option<Arc<ToolCall>> {
    CALLS.iter().enumerate().map(|(index, (name, _))| call(step, index, name)).find(|call| call.id == *id)
}

fn permits(resumed: Resumed) -> Vec<(String, u32)> {
    let committed = match resumed.turn {
        ResumedTurn::Synced(turn) => now(turn.commit(&NullObserver)).unwrap(),
        ResumedTurn::Committed(turn) => turn,
    };
    committed.into_permits().iter().map(|permit| (permit.key(), permit.attempt())).collect()
}

#[test]
fn a_turn_that_is_synced_is_committed_again() {
    let mut kit = Kit::new();
    let mut draft = kit.draft(1, 7, CALLS);
    draft.changes.choices_opened = vec![choice("call_1_0", 1)];
    now(selvedge_barrier::Turn::stage(draft).sync(&kit.store)).unwrap();

    let resumed = found(&mut kit, known);
    let ResumedTurn::Synced(turn) = &resumed.turn else { panic!("{resumed:?}") };
    assert_eq!(turn.record().messages.len(), 1, "its events can be emitted again");
    assert_eq!(turn.changes().choices_opened, [choice("call_1_0", 1)], "its choices are required again");
    assert_eq!(resumed.in_doubt, [CallId::of(1, 1)]);
    assert_eq!(permits(resumed), [("t/call_1_0".to_owned(), 2)], "the call may have gone out before");
}

#[test]
fn a_turn_that_is_committed_only_sends_out_what_may_go_out_again() {
    let mut kit = Kit::new();
    now(kit.turn(1, 7, CALLS).sync(&kit.store)).unwrap();
    now(kit.store.mark_committed(&thread(), kit.epoch, 1)).unwrap();

    let resumed = found(&mut kit, known);
    assert!(matches!(resumed.turn, ResumedTurn::Committed(_)));
    assert_eq!(resumed.in_doubt, [CallId::of(1, 1)]);
    assert_eq!(permits(resumed), [("t/call_1_0".to_owned(), 2)]);
}

#[test]
fn a_call_whose_record_is_gone_is_in_doubt_whatever_it_was() {
    let mut kit = Kit::new();
    now(kit.turn(1, 7, CALLS).sync(&kit.store)).unwrap();
    let resumed = found(&mut kit, |_, _| None);
    assert_eq!(resumed.in_doubt, [CallId::of(1, 0), CallId::of(1, 1)]);
    assert_eq!(permits(resumed), []);
}

#[test]
fn a_thread_without_a_step_has_nothing_to_resume() {
    let mut kit = Kit::new();
    let resumed = found(&mut kit, known);
    assert!(matches!(&resumed.turn, ResumedTurn::Committed(turn) if turn.record().messages.is_empty()));
    assert_eq!((resumed.in_doubt.len(), permits(resumed).len()), (0, 0));
}
