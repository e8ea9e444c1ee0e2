//! Attaching to threads of a `SqliteStore`. Time is real here: the store's own threads do not know of a paused one.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge::model::{Gate, ModelEvent};
use selvedge::prelude::*;
use selvedge_tests::{Mode, World, text_of};

/// Runs a test within a `LocalSet`, for at most a minute.
pub(crate) fn in_real_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let test = async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test hangs") };
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

/// A folder of a test's own, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// S01 on SQLite: somebody attaches after each of ten chunks, also in the middle of reasoning, and around the end: the
/// text appears once, whole; also for whoever attaches after a restart.
#[test]
fn s01_attach_after_every_chunk_on_sqlite() {
    let folder = folder("s01");
    in_real_time(async {
        let gates: Vec<Gate> = (0..10).map(|_| Gate::new()).collect();
        let mut reply = Reply::new().event(ModelEvent::ReasoningStarted);
        for (number, gate) in gates.iter().enumerate() {
            if number == 3 {
                reply = reply.event(ModelEvent::ReasoningEnded { native: None });
            }
            let chunk = format!("{number} ").into();
            let event = if number < 3 { ModelEvent::Reasoning(chunk) } else { ModelEvent::Text(chunk) };
            reply = reply.event(event).wait(gate);
        }
        let store = SqliteStore::open(folder.join("threads.db")).await.unwrap();
        let model = ScriptedModel::new([reply]);
        let shared: Arc<dyn ConversationStore> = Arc::new(store.clone());
        let mut world = World::over(Mode::Local, shared, move |builder| builder.model(model.clone())).await;
        world.send("t", "hello", Input::text("hello")).await.unwrap();
        for gate in &gates {
            gate.reached().await;
            assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
            gate.open();
            assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
        }
        world.rest("t").await;
        assert_eq!(world.watcher.subscribers("t"), 20);
        world.check("t").await;
        assert_eq!(text_of(&world.shown("t").await), "3 4 5 6 7 8 9 ");

        world.restart(&["t"]).await;
        assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
        let replayed = Transcript::from_snapshot(&world.watcher.newest_snapshot("t").unwrap());
        assert_eq!(
            text_of(&replayed.items().iter().map(|item| item.kind.clone()).collect::<Vec<_>>()),
            "3 4 5 6 7 8 9 "
        );
        world.check("t").await;
        world.system().shutdown().await;
        store.close().await;
    });
    std::fs::remove_dir_all(folder).unwrap();
}
