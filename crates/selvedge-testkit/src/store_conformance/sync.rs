//! Sync: a turn and all that comes with it, by compare-and-set.

use selvedge_event::{Message, Timestamp};
use selvedge_store::{
    Acceptance, Changes, Epoch, Head, NewInput, Origin, Spawn, StoreErrorKind, SyncRequest, SyncToken,
};

use super::{
    StoreHarness,
    kit::{
        Store, Writer, accept, at, create, history, inbox_ids, input, inputs, load, refused, steps, summaries,
        thread_ids, user,
    },
};

/// A sync makes its step the newest and its token the newest, and appends its turn.
pub async fn a_sync_moves_the_head<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    for step in 1..=3 {
        let request = SyncRequest { token: SyncToken(100 - step), ..writer.next(vec![user("hi")], Changes::default()) };
        let turn = request.turn.clone();
        store.sync(request).await.expect("a sync of the next step succeeds");
        writer.step += 1;
        let head = Head { step, epoch: Epoch(1), token: SyncToken(100 - step) };
        assert_eq!(store.head(&"t".into()).await.expect("a thread has a head"), head);
        assert_eq!(load(&store, "t").await.head, head);
        assert_eq!(history(&store, "t").await.last().map(|turn| (**turn).clone()), Some(turn));
    }
    assert_eq!(steps(&history(&store, "t").await), [1, 2, 3]);
}

/// Only the next step can be synced.
pub async fn a_step_out_of_turn_is_a_conflict<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let mut wrong = vec![0, 2, 3];
    for newest in 1..=3 {
        for step in wrong {
            let mut request = writer.next(vec![user("out of turn")], Changes::default());
            request.turn.step = step;
            refused(store.sync(request).await, StoreErrorKind::Conflict);
        }
        writer.say("in turn").await;
        wrong = vec![0, newest - 1, newest, newest + 2];
    }
    assert_eq!(steps(&history(&store, "t").await), [1, 2, 3]);
}

/// Only the newest claim can sync: neither an older epoch nor one that was never given out.
pub async fn another_epoch_is_a_conflict<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    drop(Writer::of(&store, "t").await);
    let mut writer = Writer::of(&store, "t").await;
    for epoch in [0, 1, 3] {
        let request = SyncRequest { epoch: Epoch(epoch), ..writer.next(vec![user("no")], Changes::default()) };
        refused(store.sync(request).await, StoreErrorKind::Conflict);
    }
    writer.say("yes").await;
    assert_eq!(history(&store, "t").await.len(), 1);
}

/// A sync whose answer was lost is recognised: sent again it is a conflict, and the head has its token.
pub async fn a_sync_that_is_sent_again_is_a_conflict_under_its_own_token<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let writer = Writer::of(&store, "t").await;
    let request = SyncRequest { token: SyncToken(77), ..writer.next(vec![user("once")], Changes::default()) };
    store.sync(request.clone()).await.expect("a sync of the next step succeeds");
    refused(store.sync(request).await, StoreErrorKind::Conflict);
    assert_eq!(load(&store, "t").await.head.token, SyncToken(77));
    assert_eq!(steps(&history(&store, "t").await), [1]);
}

/// What a step has consumed leaves the inbox, and nothing else does.
pub async fn consumed_inputs_leave_the_inbox<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let seqs: Vec<_> = accept(&store, "t", inputs(&["a", "b", "c", "d"]))
        .await
        .into_iter()
        .map(|acceptance| match acceptance {
            Acceptance::Accepted(seq) => seq,
            Acceptance::Duplicate => panic!("a new input is a duplicate"),
        })
        .collect();
    create(&store, "other").await;
    let mut writer = Writer::of(&store, "t").await;
    accept(&store, "t", inputs(&["e"])).await;
    writer.change(Changes { consumed: vec![seqs[2], seqs[0]], ..Changes::default() }).await;
    assert_eq!(inbox_ids(&store, "t").await, ["b", "d", "e"]);
    writer.change(Changes { consumed: vec![seqs[1], seqs[3]], ..Changes::default() }).await;
    assert_eq!(inbox_ids(&store, "t").await, ["e"]);
    assert_eq!(inbox_ids(&store, "other").await, ["first"]);
}

/// Tokens are drawn from all 64 bits.
pub async fn any_token_comes_back<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    for token in [u64::MAX, 1 << 63, i64::MAX as u64, 1, 0] {
        let token = SyncToken(token);
        let request = SyncRequest { token, ..writer.next(vec![], Changes::default()) };
        store.sync(request).await.expect("a sync of the next step succeeds");
        writer.step += 1;
        assert_eq!(load(&store, "t").await.head.token, token);
        assert_eq!(store.head(&"t".into()).await.expect("a thread has a head").token, token);
    }
}

/// A spawned thread starts like any other: its inputs wait, nobody has claimed it, and its parent is known.
pub async fn spawned_threads_start_with_their_inputs<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let first = NewInput { at: Timestamp(77), ..input("a") };
    let spawned = vec![
        Spawn { thread: "t/1".into(), inputs: vec![first, input("b"), input("a")] },
        Spawn { thread: "t/2".into(), inputs: inputs(&["first"]) },
    ];
    Writer::of(&store, "t").await.change(Changes { spawned, ..Changes::default() }).await;
    assert_eq!(inbox_ids(&store, "t/1").await, ["a", "b"]);
    assert_eq!(inbox_ids(&store, "t/2").await, ["first"]);
    let child = load(&store, "t/1").await;
    assert_eq!((child.origin, child.created_at), (Origin::Child { parent: "t".into() }, Timestamp(77)));
    assert_eq!((child.head.step, child.head.epoch, child.committed), (0, Epoch(0), 0));
    assert_eq!(accept(&store, "t/1", inputs(&["b"])).await, [Acceptance::Duplicate]);

    let spawned = vec![Spawn { thread: "t/1/1".into(), inputs: inputs(&["x"]) }];
    Writer::of(&store, "t/1").await.change(Changes { spawned, ..Changes::default() }).await;
    assert_eq!(load(&store, "t/1/1").await.origin, Origin::Child { parent: "t/1".into() });
    assert_eq!(thread_ids(&store).await, ["t", "t/1", "t/1/1", "t/2"]);
    assert_eq!(history(&store, "t/1").await, []);
}

/// A sync that spawns a thread that exists, or one thread twice, or its own, is refused.
pub async fn a_spawned_thread_must_be_new<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    create(&store, "there").await;
    for threads in [&["new", "there"][..], &["new", "new"], &["new", "t"]] {
        refuse_spawns(&store, threads.iter().map(|thread| spawn(thread, &["x"])).collect(), StoreErrorKind::Exists)
            .await;
    }
    assert_eq!(inbox_ids(&store, "there").await, ["first"]);
}

/// A sync that spawns a thread without inputs is refused.
pub async fn a_thread_is_not_spawned_for_nothing<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    create(&store, "there").await;
    refuse_spawns(&store, vec![spawn("new", &["x"]), spawn("newer", &[])], StoreErrorKind::Invalid).await;
}

/// Syncs spawns for `t`, which must be refused and leave nothing.
async fn refuse_spawns(store: &Store, spawned: Vec<Spawn>, kind: StoreErrorKind) {
    let mut writer = Writer::of(store, "t").await;
    let changes = Changes { spawned, ..Changes::default() };
    let messages: Vec<Message> = vec![user("not to be seen")];
    refused(store.sync(writer.next(messages, changes)).await, kind);
    assert_eq!(thread_ids(store).await, ["t", "there"]);
    assert_eq!(load(store, "t").await.head.step, writer.step);
    // The step that was refused is free.
    writer.change(Changes::default()).await;
    let updated_at = summaries(store).await[0].updated_at;
    assert_eq!(updated_at, at(writer.step));
}

fn spawn(thread: &str, ids: &[&str]) -> Spawn {
    Spawn { thread: thread.into(), inputs: inputs(ids) }
}
