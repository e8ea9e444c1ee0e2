//! How a thread comes into being with its first input.

use selvedge_event::Timestamp;
use selvedge_store::{AcceptRequest, Create, Epoch, Head, NewInput, Origin, StoreErrorKind, SyncToken, ThreadRecord};

use super::{
    StoreHarness,
    kit::{accept, create, inbox_ids, input, inputs, load, refused, register, thread_ids},
};

/// With [`Create::No`], inputs for a thread that is not there are refused, and it does not appear.
pub async fn nothing_is_created_unless_it_is_asked_for<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let request = || AcceptRequest { thread: "t".into(), inputs: inputs(&["a"]), create: Create::No };
    refused(store.accept(request()).await, StoreErrorKind::NotFound);
    assert_eq!(thread_ids(&store).await, [""; 0]);
    // Nor is the id remembered.
    create(&store, "t").await;
    store.accept(request()).await.expect("the thread is there now");
    assert_eq!(inbox_ids(&store, "t").await, ["first", "a"]);
}

/// A new thread is nobody's, at step 0, and was created when its first input arrived.
pub async fn a_new_thread_holds_its_inputs_and_nothing_else<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let later = NewInput { at: Timestamp(42), ..input("b") };
    let earlier = NewInput { at: Timestamp(41), ..input("a") };
    accept(&store, "t", vec![later, earlier]).await;
    let record = load(&store, "t").await;
    assert_eq!(record.inbox.len(), 2);
    let head = Head { step: 0, epoch: Epoch(0), token: SyncToken(0) };
    let expected = ThreadRecord {
        thread: "t".into(),
        origin: Origin::Root,
        created_at: Timestamp(42),
        head,
        committed: 0,
        open_calls: vec![],
        choices: vec![],
        subscriptions: vec![],
        oauth: vec![],
        views: vec![],
        usage: selvedge_event::Usage::default(),
        inbox: record.inbox.clone(),
        quarantined: vec![],
    };
    assert_eq!(record, expected);
    assert_eq!(store.head(&"t".into()).await.expect("a thread has a head"), head);
}

/// With [`Create::ClaimedBy`], a new thread has epoch 1 and its owner at once.
pub async fn a_thread_can_be_created_claimed<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let (owner, other) = (register(&store).await, register(&store).await);
    let create = Create::ClaimedBy(owner.id().clone());
    let request = AcceptRequest { thread: "t".into(), inputs: inputs(&["a"]), create };
    let reply = store.accept(request).await.expect("an accept succeeds");
    assert_eq!(reply.claimed, Some(Epoch(1)));
    assert_eq!(load(&store, "t").await.head.epoch, Epoch(1));
    let message = refused(store.claim(&"t".into(), &other).await, StoreErrorKind::Owned);
    assert!(message.contains(owner.id().as_str()), "{message}");
    drop(owner);
    assert_eq!(store.claim(&"t".into(), &other).await.expect("the owner is dead"), Epoch(2));
}

/// With [`Create::ClaimedBy`], a thread that exists only gets the inputs.
pub async fn an_accept_does_not_claim_a_thread_that_exists<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let (owner, other) = (register(&store).await, register(&store).await);
    let request =
        AcceptRequest { thread: "t".into(), inputs: inputs(&["a"]), create: Create::ClaimedBy(owner.id().clone()) };
    let reply = store.accept(request).await.expect("an accept succeeds");
    assert_eq!((reply.acceptances.len(), reply.claimed), (1, None));
    assert_eq!(load(&store, "t").await.head.epoch, Epoch(0));
    store.claim(&"t".into(), &other).await.expect("nobody has the thread");
}

/// A thread is not created without an input.
pub async fn a_thread_is_not_created_for_nothing<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let owner = register(&store).await;
    for create in [Create::Unclaimed, Create::ClaimedBy(owner.id().clone())] {
        let request = AcceptRequest { thread: "t".into(), inputs: Vec::new(), create };
        refused(store.accept(request).await, StoreErrorKind::Invalid);
    }
    assert_eq!(thread_ids(&store).await, [""; 0]);
}
