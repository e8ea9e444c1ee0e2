//! Failures and deaths, before and after an operation is done.

use std::sync::Arc;

use selvedge_event::{Input, Timestamp, TurnRecord};
use selvedge_store::{
    AcceptRequest, Acceptance, Changes, ConversationStore, Create, Epoch, MemoryStore, NewInput, StoreError,
    StoreErrorKind, SyncRequest, SyncToken,
};
use selvedge_testkit::{Fault, FaultStore, Moment, Operation, OperationKind, Select};

#[tokio::test]
async fn a_failure_before_leaves_the_operation_undone() {
    let store = fault_store();
    store.inject(Select::kind(OperationKind::Accept).next(), Fault::FailBefore);
    unavailable(accept(&store, "t", "a").await);
    assert_eq!(store.inner().head(&"t".into()).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    assert!(matches!(accept(&store, "t", "a").await.unwrap()[..], [Acceptance::Accepted(_)]));
}

#[tokio::test]
async fn a_failure_after_loses_the_answer_only() {
    let store = fault_store();
    store.inject(Select::kind(OperationKind::Accept).next(), Fault::FailAfter);
    unavailable(accept(&store, "t", "a").await);
    assert_eq!(store.inner().load(&"t".into()).await.unwrap().inbox.len(), 1);
    assert_eq!(accept(&store, "t", "a").await.unwrap(), [Acceptance::Duplicate]);
}

#[tokio::test]
async fn a_fault_strikes_what_is_selected() {
    let faults: [(Select, &[&str]); 7] = [
        (Select::any(), &["t1", "u1", "head", "t2", "u2", "unfinished"]),
        (Select::any().nth(3), &["head"]),
        (Select::writes(), &["t1", "u1", "t2", "u2"]),
        (Select::writes().nth(4), &["u2"]),
        (Select::kind(OperationKind::Accept).thread("u"), &["u1", "u2"]),
        (Select::any().thread("t").nth(2), &["head"]),
        (Select::kind(OperationKind::Unfinished).next(), &["unfinished"]),
    ];
    for (select, expected) in faults {
        let store = fault_store();
        // What was asked before the fault was asked for does not count, and what is taken back does not strike.
        for thread in ["t", "u"] {
            accept(&store, thread, "first").await.unwrap();
        }
        store.inject(Select::any(), Fault::FailBefore);
        store.clear();
        store.inject(select.clone(), Fault::FailBefore);
        let done = [
            ("t1", accept(&store, "t", "1").await.is_ok()),
            ("u1", accept(&store, "u", "1").await.is_ok()),
            ("head", store.head(&"t".into()).await.is_ok()),
            ("t2", accept(&store, "t", "2").await.is_ok()),
            ("u2", accept(&store, "u", "2").await.is_ok()),
            ("unfinished", store.unfinished().await.is_ok()),
        ];
        let struck: Vec<_> = done.iter().filter(|(_, done)| !done).map(|(name, _)| *name).collect();
        assert_eq!(struck, expected, "{select:?}");
    }
}

#[tokio::test]
async fn of_two_faults_the_first_counts() {
    let store = fault_store();
    store.inject(Select::any().nth(2), Fault::FailBefore);
    store.inject(Select::any(), Fault::FailAfter);
    for (id, waiting) in [("a", 1), ("b", 1), ("c", 2)] {
        unavailable(accept(&store, "t", id).await);
        assert_eq!(store.inner().load(&"t".into()).await.unwrap().inbox.len(), waiting);
    }
}

#[tokio::test]
async fn the_log_has_every_operation_in_order() {
    let store = fault_store();
    accept(&store, "t", "a").await.unwrap();
    store.inject(Select::kind(OperationKind::Load), Fault::FailBefore);
    unavailable(store.clone().load(&"t".into()).await);
    store.fork(&"t".into(), 0, &"fork".into(), Timestamp(1)).await.unwrap();
    store.unfinished().await.unwrap();
    store.die();
    unavailable(store.head(&"nowhere".into()).await);
    let expected = [
        (OperationKind::Accept, Some("t")),
        (OperationKind::Load, Some("t")),
        (OperationKind::Fork, Some("fork")),
        (OperationKind::Unfinished, None),
        (OperationKind::Head, Some("nowhere")),
    ];
    let expected = expected.map(|(kind, thread)| Operation { kind, thread: thread.map(Into::into) });
    assert_eq!(store.log(), expected);
    assert_eq!(store.count(&Select::any()), 5);
    assert_eq!(store.count(&Select::writes()), 2);
    assert_eq!(store.count(&Select::any().thread("t")), 2);
    assert_eq!(store.count(&Select::kind(OperationKind::Sync)), 0);
}

#[tokio::test]
async fn the_dead_answer_nothing_and_own_nothing() {
    let store = fault_store();
    accept(&store, "t", "a").await.unwrap();
    let owner = store.register("process").await.unwrap();
    store.claim(&"t".into(), &owner).await.unwrap();
    assert!(!store.is_dead());

    let next = FaultStore::new(store.inner().clone());
    let heir = next.register("process").await.unwrap();
    assert_eq!(next.claim(&"t".into(), &heir).await.unwrap_err().kind(), StoreErrorKind::Owned);
    store.die();
    assert!(store.is_dead() && !next.is_dead());
    store.clear();
    unavailable(store.head(&"t".into()).await);
    unavailable(accept(&store, "t", "b").await);
    unavailable(store.register("late").await);
    unavailable(store.unfinished().await);
    // The owner is dead though it is held still.
    assert_eq!(next.claim(&"t".into(), &heir).await.unwrap(), Epoch(2));
    assert_eq!(next.load(&"t".into()).await.unwrap().inbox.len(), 1);
    drop(owner);
}

#[tokio::test]
async fn an_owner_that_is_dropped_is_dead() {
    let store = fault_store();
    accept(&store, "t", "a").await.unwrap();
    let owner = store.register("first").await.unwrap();
    let heir = store.register("second").await.unwrap();
    store.claim(&"t".into(), &owner).await.unwrap();
    assert_eq!(store.claim(&"t".into(), &heir).await.unwrap_err().kind(), StoreErrorKind::Owned);
    drop(owner);
    store.claim(&"t".into(), &heir).await.unwrap();
}

/// How a test finds out whether its subject survives a crash anywhere: this subject does.
#[tokio::test]
async fn a_run_can_be_crashed_at_every_operation() {
    let store = fault_store();
    take_one_input(&store).await.unwrap();
    let operations = store.log().len() as u64;
    assert!(operations > 4);

    let mut struck = 0;
    for nth in 1..=operations {
        for moment in Moment::BOTH {
            let store = fault_store();
            store.inject(Select::any().nth(nth), Fault::die(moment));
            unavailable(take_one_input(&store).await);
            assert!(store.is_dead());
            assert_eq!(store.log().len() as u64, nth, "nothing was asked of the dead");

            let next = FaultStore::new(store.inner().clone());
            take_one_input(&next).await.unwrap();
            let record = next.load(&"t".into()).await.unwrap();
            assert_eq!((record.inbox.len(), record.head.step), (0, 1), "{moment:?} operation {nth}");
            struck += 1;
        }
    }
    assert_eq!(struck, operations * 2);
}

/// Accepts an input and consumes it with a step, unless that has been done.
async fn take_one_input(store: &FaultStore) -> Result<(), StoreError> {
    accept(store, "t", "a").await?;
    let owner = store.register("subject").await?;
    let epoch = store.claim(&"t".into(), &owner).await?;
    let record = store.load(&"t".into()).await?;
    let consumed: Vec<_> = record.inbox.iter().map(|entry| entry.seq).collect();
    if !consumed.is_empty() {
        let request = SyncRequest {
            thread: "t".into(),
            epoch,
            turn: TurnRecord { step: record.head.step + 1, at: Timestamp(1), messages: vec![] },
            token: SyncToken(1),
            committed: 0,
            changes: Changes { consumed, ..Changes::default() },
        };
        store.sync(request).await?;
    }
    let step = store.head(&"t".into()).await?.step;
    store.mark_committed(&"t".into(), epoch, step).await
}

pub(crate) fn fault_store() -> FaultStore {
    FaultStore::new(Arc::new(MemoryStore::default()))
}

pub(crate) async fn accept(store: &FaultStore, thread: &str, id: &str) -> Result<Vec<Acceptance>, StoreError> {
    let input = NewInput { id: id.into(), input: Input::text("hello"), at: Timestamp(1) };
    let request = AcceptRequest { thread: thread.into(), inputs: vec![input], create: Create::Unclaimed };
    Ok(store.accept(request).await?.acceptances)
}

#[track_caller]
pub(crate) fn unavailable<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    assert_eq!(result.expect_err("a fault strikes").kind(), StoreErrorKind::Unavailable);
}
