//! What one thread does, or is not, is nothing to the others.

use std::time::Duration;

use selvedge::event::ModelRef;
use selvedge::model::{Gate, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason};
use selvedge::prelude::*;
use selvedge::runtime::{AnswerError, Limits, SendError};
use selvedge::store::ThreadsAfter;
use selvedge_testkit::{OperationKind, Select};
use selvedge_tests::{Mode, World, in_paused_time, text_of};
use tokio::time::Instant;

use crate::scenarios::kit::{asked, local, obliging, written};

/// S95: a store read for thread B takes 150 ms while A streams on the same shard: A's events do not wait.
#[test]
fn s95_a_slow_read_holds_up_nobody_else() {
    in_paused_time(async {
        let gate = Gate::new();
        let held = gate.clone();
        let model = ScriptedModel::from_fn(move |request| match &*asked(request) {
            "stream" => (0..20).fold(Reply::new().wait(&held), |reply, _| reply.say("a").pause()),
            text => Reply::text(format!("re: {text}")),
        });
        let world = local(&model).await;
        world.say("b", "hello").await;
        // Its driver leaves, so that the next command has to load it.
        tokio::time::sleep(Duration::from_secs(3)).await;
        world.send("a", "stream", Input::text("stream")).await.unwrap();
        gate.reached().await;

        let reads = Select::kind(OperationKind::Load).thread("b");
        world.faults().delay(reads.clone(), Duration::from_millis(150));
        let before = world.faults().count(&reads);
        let system = world.system().clone();
        let attached = tokio::task::spawn_local(async move { system.subscribe(&"b".into(), ()).await });
        while world.faults().count(&reads) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let start = Instant::now();
        gate.open();
        let finished = |event: &AgentEvent| matches!(event, AgentEvent::CompletionFinished { .. });
        while !world.watcher.events("a").iter().any(finished) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(start.elapsed() < Duration::from_millis(20), "A waited {:?}", start.elapsed());
        assert!(!attached.is_finished(), "B still waits for its store");
        assert!(attached.await.unwrap().unwrap());
        assert!(start.elapsed() >= Duration::from_millis(100));
        world.rest("a").await;
        world.check("a").await;
        world.check("b").await;
    });
}

/// S97: subscribing to, interrupting, answering in, forking or deleting a thread that does not exist: a clear error, and
/// no record appears in the store.
#[test]
fn s97_a_thread_that_does_not_exist() {
    in_paused_time(async {
        let nobody = ThreadId::from("nobody");
        let is_clear = |error: &SendError| matches!(error, SendError::NoSuchThread(thread) if *thread == nobody);
        for mode in [Mode::Local, Mode::Step] {
            let model = obliging();
            let world = World::new(mode, move |builder| builder.model(model.clone())).await;
            let interrupted = world.interrupt("nobody").await.unwrap_err();
            assert!(is_clear(&interrupted), "{interrupted:?}");
            let answered = world.answer("nobody", &"call_1_0:1".into(), 0).await.unwrap_err();
            assert!(matches!(&answered, AnswerError::Send(error) if is_clear(error)), "{answered:?}");
            if mode == Mode::Local {
                let subscribed = world.system().subscribe(&nobody, ()).await.unwrap_err();
                assert!(is_clear(&subscribed), "{subscribed:?}");
                let deleted = world.system().delete(&nobody).await.unwrap_err();
                assert!(is_clear(&deleted), "{deleted:?}");
            } else {
                world.runner().step(&nobody).await.unwrap_err();
            }
            let threads = world.store.threads(ThreadsAfter { after: None, limit: 10 }).await.unwrap();
            assert_eq!(threads, []);
            assert_eq!(world.faults().count(&Select::kind(OperationKind::Accept)), 0);
            assert_eq!(world.watcher.log(), []);
        }
    });
}

/// A model whose stream is ready whenever it is asked.
#[derive(Debug)]
struct Torrent(ModelRef);

const CHUNKS: usize = 200_000;

impl ModelProvider for Torrent {
    fn model(&self) -> &ModelRef {
        &self.0
    }

    fn complete(&self, _: ModelRequest) -> ModelStream {
        let chunks = (0..CHUNKS).map(|_| Ok::<_, ModelError>(ModelEvent::Text("x".into())));
        let end = std::iter::once(Ok(ModelEvent::Finished(StopReason::Done)));
        Box::pin(futures_util::stream::iter(chunks.chain(end)))
    }
}

/// A stream that is always ready starves neither subscribers nor inputs, with the default limits: each is served within a
/// bounded number of events.
#[test]
fn a_stream_that_is_always_ready_starves_nobody() {
    in_paused_time(async {
        let mut world = World::new(Mode::Local, |builder| {
            builder.model(Torrent(ModelRef { api: "test".into(), provider: "here".into(), model: "torrent".into() }))
        })
        .await;
        let between = Limits::default().events_between_yields;
        world.limits().events_between_yields = between;
        world.restart(&[]).await;
        let bound = 12 * between as usize;

        world.send("t", "hello", Input::text("hello")).await.unwrap();
        for _ in 0..3 {
            let before = world.watcher.events("t").len();
            assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
            let served = world.watcher.events("t").len() - before;
            assert!(served <= bound, "an attach waited for {served} events");
        }
        let before = world.watcher.events("t").len();
        world.send("t", "queued", Input::queued("queued")).await.unwrap();
        let served = world.watcher.events("t").len() - before;
        assert!(served <= bound, "an input waited for {served} events");
        // Another thread of the shard gets its turn, too.
        world.send("u", "hello", Input::text("hello")).await.unwrap();
        let before = world.watcher.events("t").len();
        world.interrupt("t").await.unwrap();
        world.interrupt("u").await.unwrap();
        let served = world.watcher.events("t").len() - before;
        assert!(served <= 2 * bound, "an interruption waited for {served} events");
        world.until("t", |record| record.head.step > 0).await;
        let streamed = text_of(&world.shown("t").await).len();
        assert!(streamed < CHUNKS / 10, "it was cut off: {streamed}");
        world.system().shutdown().await;
        assert!(written(&world, "t").await.starts_with(&["hello".to_owned()]));
    });
}
