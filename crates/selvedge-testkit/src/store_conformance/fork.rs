//! Forks: threads that share the history of another up to a step, by reference.

use selvedge_event::{Timestamp, Usage};
use selvedge_store::{Acceptance, Changes, Epoch, Head, Origin, StoreError, StoreErrorKind, SyncToken, ThreadRecord};

use super::{
    StoreHarness,
    kit::{
        Store, Writer, accept, crash, create, history, inputs, load, refused, steps, summaries, thread_ids,
        thread_that_says, unfinished, user,
    },
    samples,
};

/// A fork's history is that of its parent up to the step, the very same turns.
pub async fn a_fork_shares_the_history_up_to_its_step<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two", "three"]).await;
    let whole = history(&store, "t").await;
    for step in 0..=3 {
        let thread = format!("at {step}");
        fork(&store, "t", step, &thread).await.expect("a thread can be forked");
        assert_eq!(history(&store, &thread).await, whole[..usize::try_from(step).expect("few steps")]);
    }
}

/// What a fork appends is not in its parent, and what the parent appends is not in the fork.
pub async fn a_fork_and_its_parent_go_on_apart<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two"]).await;
    fork(&store, "t", 1, "fork").await.expect("a thread can be forked");
    fork(&store, "t", 1, "twin").await.expect("a thread can be forked twice");
    Writer::of(&store, "t").await.say("parent's three").await;
    let mut writer = Writer::of(&store, "fork").await;
    writer.say("fork's two").await;
    writer.say("fork's three").await;
    for (thread, texts) in [
        ("t", &["one", "two", "parent's three"][..]),
        ("fork", &["one", "fork's two", "fork's three"]),
        ("twin", &["one"]),
    ] {
        let said: Vec<_> = history(&store, thread).await.iter().flat_map(|turn| turn.messages.clone()).collect();
        assert_eq!(said, texts.iter().map(|text| user(text)).collect::<Vec<_>>(), "{thread}");
    }
}

/// A fork has the history, its step, and nothing else: no calls, choices, subscriptions, sign-ins, views, usage or
/// inputs. It counts as committed and has nothing to do.
pub async fn a_fork_has_nothing_else_of_its_parent<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    writer.sync(vec![user("one")], samples::openings(1, "x")).await;
    writer.say("two").await;
    fork(&store, "t", 2, "fork").await.expect("a thread can be forked");
    let expected = ThreadRecord {
        thread: "fork".into(),
        origin: Origin::Fork { parent: "t".into(), step: 2 },
        created_at: Timestamp(9),
        head: Head { step: 2, epoch: Epoch(0), token: SyncToken(0) },
        committed: 2,
        open_calls: vec![],
        choices: vec![],
        subscriptions: vec![],
        oauth: vec![],
        views: vec![],
        usage: Usage::default(),
        inbox: vec![],
        quarantined: vec![],
    };
    assert_eq!(load(&store, "fork").await, expected);
    assert_eq!(unfinished(&store).await, ["t"]);
    let listed = summaries(&store).await;
    assert_eq!((listed[0].thread.as_str(), listed[0].updated_at, listed[0].step), ("fork", Timestamp(9), 2));
    // The parent has lost nothing by it.
    let parent = load(&store, "t").await;
    assert_eq!((parent.open_calls.len(), parent.inbox.len(), parent.head.step), (2, 1, 2));
}

/// The next step of a fork is the one after that which it shares.
pub async fn a_fork_goes_on_after_the_step_it_shares<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two", "three"]).await;
    fork(&store, "t", 2, "fork").await.expect("a thread can be forked");
    let mut writer = Writer::of(&store, "fork").await;
    assert_eq!((writer.step, writer.epoch), (2, Epoch(1)));
    for wrong in [0, 1, 2, 4] {
        let mut request = writer.next(vec![user("wrong")], Changes::default());
        request.turn.step = wrong;
        refused(store.sync(request).await, StoreErrorKind::Conflict);
    }
    writer.sync(vec![user("fork's three")], Changes { usage: samples::usage(4), ..Changes::default() }).await;
    let record = load(&store, "fork").await;
    assert_eq!((record.head.step, record.committed, record.usage), (3, 2, samples::usage(4)));
}

/// The ids of the parent's inputs are new to a fork.
pub async fn a_fork_knows_no_ids_of_its_parent<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one"]).await;
    fork(&store, "t", 1, "fork").await.expect("a thread can be forked");
    let acceptances = accept(&store, "fork", inputs(&["first"])).await;
    assert!(matches!(acceptances[..], [Acceptance::Accepted(_)]), "{acceptances:?}");
    assert_eq!(accept(&store, "t", inputs(&["first"])).await, [Acceptance::Duplicate]);
    assert_eq!(load(&store, "fork").await.inbox.len(), 1);
}

/// A thread may be forked at step 0, and at a step that appended nothing.
pub async fn a_fork_may_start_at_nothing<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    fork(&store, "t", 0, "at once").await.expect("a thread can be forked before its first step");
    let mut writer = Writer::of(&store, "t").await;
    writer.say("one").await;
    writer.change(Changes::default()).await;
    writer.say("three").await;
    for (step, thread, expected) in [(0, "at 0", &[][..]), (2, "at 2", &[1])] {
        fork(&store, "t", step, thread).await.expect("a thread can be forked");
        assert_eq!(steps(&history(&store, thread).await), expected);
        assert_eq!(load(&store, thread).await.head.step, step);
    }
    Writer::of(&store, "at once").await.say("first").await;
    assert_eq!(steps(&history(&store, "at once").await), [1]);
    assert_eq!(history(&store, "at once").await[0].messages, [user("first")]);
}

/// A fork of a fork may share less than its parent does of the parent's own.
pub async fn a_fork_of_a_fork_may_reach_behind_it<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two", "three", "four"]).await;
    fork(&store, "t", 3, "fork").await.expect("a thread can be forked");
    Writer::of(&store, "fork").await.say("fork's four").await;
    let whole = history(&store, "t").await;
    for (step, shared) in [(0, 0), (1, 1), (3, 3)] {
        let thread = format!("at {step}");
        fork(&store, "fork", step, &thread).await.expect("a fork can be forked");
        assert_eq!(load(&store, &thread).await.origin, Origin::Fork { parent: "fork".into(), step });
        assert_eq!(history(&store, &thread).await, whole[..shared]);
        Writer::of(&store, &thread).await.say("its own").await;
        assert_eq!(history(&store, &thread).await[shared].messages, [user("its own")]);
    }
    fork(&store, "fork", 4, "at 4").await.expect("a fork can be forked");
    assert_eq!(history(&store, "at 4").await[3].messages, [user("fork's four")]);
}

/// A fork of nothing, to a thread that exists, or at a step that is not reached, is refused and leaves nothing.
pub async fn a_fork_that_is_refused_leaves_nothing<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two"]).await;
    create(&store, "there").await;
    let before = load(&store, "there").await;
    refused(fork(&store, "nowhere", 0, "fork").await, StoreErrorKind::NotFound);
    refused(fork(&store, "t", 1, "there").await, StoreErrorKind::Exists);
    refused(fork(&store, "t", 1, "t").await, StoreErrorKind::Exists);
    refused(fork(&store, "t", 3, "fork").await, StoreErrorKind::Invalid);
    assert_eq!(thread_ids(&store).await, ["t", "there"]);
    assert_eq!(load(&store, "there").await, before);
    // Nor is the parent held by a fork that there is not.
    store.delete(&"t".into()).await.expect("a thread without forks can be deleted");
}

/// Forks and what they share survive a crash.
pub async fn forks_survive_a_crash<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two"]).await;
    fork(&store, "t", 1, "fork").await.expect("a thread can be forked");
    let store = crash(&mut harness, store).await;
    Writer::of(&store, "fork").await.say("fork's two").await;
    let store = crash(&mut harness, store).await;
    assert_eq!(load(&store, "fork").await.origin, Origin::Fork { parent: "t".into(), step: 1 });
    assert_eq!(steps(&history(&store, "fork").await), [1, 2]);
    assert_eq!(history(&store, "fork").await[1].messages, [user("fork's two")]);
    refused(store.delete(&"t".into()).await, StoreErrorKind::InUse);
}

async fn fork(store: &Store, parent: &str, step: u64, thread: &str) -> Result<(), StoreError> {
    store.fork(&parent.into(), step, &thread.into(), Timestamp(9)).await
}
