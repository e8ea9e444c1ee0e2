//! Shards of their own, in real time: every wait here ends as soon as what it waits for has happened.

use std::future::Future;
use std::num::NonZeroUsize;
use std::time::Duration;

use selvedge::prelude::*;
use selvedge_testkit::Watcher;

use crate::scenarios::kit::obliging;

/// Runs a test in real time, with a bound that only a hang reaches.
fn in_real_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test hangs");
    });
}

async fn until(mut done: impl AsyncFnMut() -> bool) {
    while !done().await {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// 200 threads on four shards, each with a call: all of them are answered, each in its own order.
#[test]
fn many_threads_on_several_shards() {
    const THREADS: usize = 200;
    in_real_time(async {
        let watcher = Watcher::new();
        let model = obliging();
        let observer = watcher.clone();
        let store = std::sync::Arc::new(MemoryStore::default());
        let system = System::builder()
            .shared_store(store.clone())
            .model(model.clone())
            .tool(tool(ToolSpec::new("look", "Looks.").read_only(), |call| async move {
                Ok(format!("seen by {}", call.thread_id()).into())
            }))
            .observer(move || observer.clone())
            .shards(NonZeroUsize::new(4).unwrap())
            .start()
            .await
            .unwrap();
        let threads: Vec<ThreadId> = (0..THREADS).map(|number| format!("thread {number}").into()).collect();
        for thread in &threads {
            system.send(thread, "a".into(), Input::text("call look")).await.unwrap();
            assert!(system.subscribe(thread, ()).await.unwrap());
            system.send(thread, "b".into(), Input::queued("and now")).await.unwrap();
        }
        for thread in &threads {
            until(async || {
                let record = store.load(thread).await.unwrap();
                record.inbox.is_empty() && record.open_calls.is_empty() && record.head.step > 0
            })
            .await;
        }
        system.shutdown().await;
        assert_eq!(model.violations(), Vec::<String>::new());
        for thread in &threads {
            let history = store.history(thread, None, u64::MAX).await.unwrap().turns.into_iter().collect();
            watcher.check(thread.as_str(), &history);
            let shown = selvedge_testkit::transcript_of(&history);
            let result = shown.items().iter().find_map(|item| match &item.kind {
                ItemKind::ToolCall { result: Some((_, result)), .. } => Some(result.joined_text()),
                _ => None,
            });
            assert_eq!(result, Some(format!("seen by {thread}")));
        }
    });
}

/// A system that is dropped without a shutdown leaves nothing behind that keeps another from going on.
#[test]
fn a_system_that_is_dropped_is_gone() {
    in_real_time(async {
        let store = std::sync::Arc::new(MemoryStore::default());
        let start = async || {
            System::builder()
                .shared_store(store.clone())
                .model(obliging())
                .observer(|| NullObserver)
                .start()
                .await
                .unwrap()
        };
        let first = start().await;
        first.send_text(&"t".into(), "one").await.unwrap();
        drop(first);
        let second = start().await;
        until(async || second.send_text(&"t".into(), "two").await.is_ok()).await;
        until(async || store.load(&"t".into()).await.unwrap().inbox.is_empty()).await;
        second.shutdown().await;
        // It is down for good, and says so.
        assert!(second.send_text(&"t".into(), "three").await.is_err());
    });
}
