//! Resident threads on several shards, watched by one set of sessions.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use selvedge::durable::{DurableObserver, Listing, Sessions, Status};
use selvedge::live::{FrameKind, Live, Subscribe};
use selvedge::prelude::*;

/// Many threads at once, on three shards; somebody watches one of them, and everybody is found afterwards.
#[tokio::test]
async fn many_threads_share_one_database() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("whole-{}.db", std::process::id()));
    let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
    let (sessions, live) = (Sessions::open(&path).await.unwrap(), Live::default());
    let observer = {
        let (sessions, store, live) = (sessions.clone(), store.clone(), live.clone());
        move || DurableObserver::new(sessions.clone(), store.clone(), &live)
    };
    let model = ScriptedModel::from_fn(|request| match request.context.last() {
        Some(selvedge::model::RequestMessage::User(_)) => Reply::call("look", "{}").usage(5, 1),
        _ => Reply::text("a rare bird").usage(9, 2),
    });
    let look = tool(ToolSpec::new("look", "Looks."), |_: ToolContext| async { Ok(ToolOutput::text("feathers")) });
    let system = System::builder()
        .shared_store(store.clone())
        .model(model)
        .tool(look)
        .observer(observer)
        .shards(NonZeroUsize::new(3).unwrap())
        .start()
        .await
        .unwrap();
    for thread in 0..60 {
        system.send_text(&format!("t{thread}").into(), "what is it?").await.unwrap();
    }
    let mut watching = live.subscribe(selvedge::attach_to(&system), "t7".into(), Subscribe::default()).await.unwrap();
    let mut step = 0;
    while step < 2 {
        let frame = tokio::time::timeout(Duration::from_secs(20), watching.next()).await.unwrap().unwrap();
        match &frame.kind {
            FrameKind::Committed { step: committed } => step = *committed,
            FrameKind::Snapshot(snapshot) => step = snapshot.committed,
            _ => {}
        }
        // What a frame says is committed can be read.
        assert!(step == 0 || sessions.session(&"t7".into()).await.unwrap().unwrap().step >= step);
    }
    // A session is idle when its answer is committed.
    let kept = async {
        loop {
            let listed = sessions.list(&Listing::first(100)).await.unwrap();
            if listed.len() == 60 && listed.iter().all(|session| session.step == 2) {
                return listed;
            }
            tokio::task::yield_now().await;
        }
    };
    let listed = tokio::time::timeout(Duration::from_secs(60), kept).await.unwrap();
    system.shutdown().await;
    assert!(listed.iter().all(|session| session.status == Status::Idle && session.usage.input == 14));
    assert_eq!(sessions.search("rare", 100).await.unwrap().len(), 60);
    assert_eq!(sessions.verify(&*store).await.unwrap(), []);
    sessions.close().await;
    std::fs::remove_file(path).unwrap();
}
