//! What has returned Ok is there after a crash.

use selvedge_event::Timestamp;
use selvedge_store::{Changes, Spawn};

use super::{
    StoreHarness,
    kit::{Writer, accept, crash, create, everything, history, inbox_ids, inputs, load, steps, user},
    samples,
};

/// Everything that was written is the same after a crash.
pub async fn everything_survives_a_crash<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let spawned = vec![Spawn { thread: "t/child".into(), inputs: inputs(&["x", "y"]) }];
    let opened = Changes { spawned, ..samples::openings(1, "one") };
    writer.sync(samples::every_message("one"), opened).await;
    writer.finish().await;
    accept(&store, "t", inputs(&["a", "b"])).await;
    store.fork(&"t".into(), 1, &"fork".into(), Timestamp(7)).await.expect("a thread can be forked");
    store.put_blob(&"t".into(), "blob", b"bytes".to_vec()).await.expect("a blob is kept");
    // The claim, and the mark on step 2, need not survive, so the last sync carries them.
    let mut request = writer.next(vec![user("last")], Changes::default());
    request.committed = 2;
    store.sync(request).await.expect("a sync of the next step succeeds");
    drop(writer);

    let before = everything(&store).await;
    let store = crash(&mut harness, store).await;
    assert_eq!(everything(&store).await, before);
    assert_eq!(store.blob(&"fork".into(), "blob", 0, 9).await.expect("a blob can be read"), b"bytes");
}

/// A store that crashes after every operation gets on with its work all the same.
pub async fn a_store_that_crashes_often_goes_on<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    for round in 1..=5 {
        let id = format!("{round}");
        accept(&store, "t", inputs(&[&id])).await;
        store = crash(&mut harness, store).await;
        assert_eq!(inbox_ids(&store, "t").await, [id]);
        let consumed = load(&store, "t").await.inbox.iter().map(|entry| entry.seq).collect();
        let mut writer = Writer::of(&store, "t").await;
        assert_eq!(writer.step, round - 1);
        writer.sync(vec![user("said")], Changes { consumed, ..Changes::default() }).await;
        drop(writer);
        store = crash(&mut harness, store).await;
        assert_eq!(steps(&history(&store, "t").await), (1..=round).collect::<Vec<_>>());
    }
    assert_eq!(inbox_ids(&store, "t").await, [""; 0]);
}
