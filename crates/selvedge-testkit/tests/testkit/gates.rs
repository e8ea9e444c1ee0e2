//! Operations that are held or delayed.

use std::time::Duration;

use selvedge_store::{Acceptance, ConversationStore, StoreErrorKind};
use selvedge_testkit::{Fault, Moment, OperationKind, Select};
use tokio::time::{Instant, timeout};

use crate::faults::{accept, fault_store, unavailable};

#[tokio::test]
async fn a_gate_holds_operations_before_they_are_done() {
    let store = fault_store();
    let gate = store.hold(Select::kind(OperationKind::Accept), Moment::Before);
    let watch = async {
        gate.reached(2).await;
        assert_eq!(store.inner().head(&"t".into()).await.unwrap_err().kind(), StoreErrorKind::NotFound);
        // Others pass.
        assert_eq!(store.unfinished().await.unwrap(), []);
        gate.open();
    };
    let (one, two, ()) = tokio::join!(accept(&store, "t", "a"), accept(&store, "t", "b"), watch);
    assert!(one.is_ok() && two.is_ok());
    assert!(accept(&store, "t", "c").await.is_ok(), "a gate stays open");
    assert_eq!(store.load(&"t".into()).await.unwrap().inbox.len(), 3);
}

#[tokio::test]
async fn a_gate_holds_operations_that_are_done_before_they_answer() {
    let store = fault_store();
    let gate = store.hold(Select::kind(OperationKind::Accept).next(), Moment::After);
    let watch = async {
        gate.reached(1).await;
        assert_eq!(store.inner().load(&"t".into()).await.unwrap().inbox.len(), 1);
        gate.open();
    };
    let (accepted, ()) = tokio::join!(accept(&store, "t", "a"), watch);
    assert!(matches!(accepted.unwrap()[..], [Acceptance::Accepted(_)]));
}

#[tokio::test(start_paused = true)]
async fn a_closed_gate_is_closed_until_it_is_dropped() {
    let store = fault_store();
    let gate = store.hold(Select::any(), Moment::Before);
    assert!(timeout(Duration::from_secs(3_600), accept(&store, "t", "a")).await.is_err(), "the gate is closed");
    drop(gate);
    assert!(matches!(accept(&store, "t", "a").await.unwrap()[..], [Acceptance::Accepted(_)]), "a was never done");
}

#[tokio::test]
async fn nothing_comes_out_of_a_gate_of_the_dead() {
    for (moment, waiting) in [(Moment::Before, 1), (Moment::After, 2)] {
        let store = fault_store();
        accept(&store, "t", "first").await.unwrap();
        let gate = store.hold(Select::any(), moment);
        let watch = async {
            gate.reached(1).await;
            store.die();
            gate.open();
        };
        let (held, ()) = tokio::join!(accept(&store, "t", "a"), watch);
        unavailable(held);
        assert_eq!(store.inner().load(&"t".into()).await.unwrap().inbox.len(), waiting);
    }
}

#[tokio::test]
async fn a_fault_strikes_what_was_held() {
    let store = fault_store();
    let gate = store.hold(Select::any(), Moment::Before);
    store.inject(Select::any().next(), Fault::FailAfter);
    let (held, ()) = tokio::join!(accept(&store, "t", "a"), async { gate.open() });
    unavailable(held);
    assert_eq!(accept(&store, "t", "a").await.unwrap(), [Acceptance::Duplicate]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_passes_before_the_operation_is_done() {
    let store = fault_store();
    store.delay(Select::kind(OperationKind::Accept).next(), Duration::from_millis(150));
    let start = Instant::now();
    assert!(timeout(Duration::from_millis(100), accept(&store, "t", "a")).await.is_err());
    assert_eq!(store.inner().head(&"t".into()).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    assert_eq!(start.elapsed(), Duration::from_millis(100));

    store.delay(Select::kind(OperationKind::Accept).next(), Duration::from_millis(150));
    accept(&store, "t", "a").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(250));
    accept(&store, "t", "b").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(250));
}
