//! Subscribers, for observers that serve them: led by the real runtime, with attachments in the middle of an answer.

use std::sync::Arc;
use std::time::Duration;

use selvedge_event::{AgentEvent, History, Outcome, ThreadId, Transcript};
use selvedge_model::{Gate, Reply, ScriptedModel};
use selvedge_observer::{Tee, TeeRequest};
use selvedge_runtime::{
    Limits, RunningSystem, SystemParts, ThreadConfig, ToolContext, ToolOutput, ToolSet, ToolSpec, Wake, tool,
};
use selvedge_store::{ConversationStore, MemoryStore};

use super::{Attach, ObserverHarness, Shown, Viewer};
use crate::{ManualClock, Watcher, transcript_of};

/// How long a viewer may wait for what has happened already.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whoever attaches, at whatever moment, ends with what the history shows: nothing twice, and nothing missing.
pub async fn a_subscriber_sees_each_event_once<H: ObserverHarness>() {
    let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
    let harness = H::fresh(store.clone()).await;
    let (watcher, gates) = (Watcher::new(), [Gate::new(), Gate::new()]);
    let system = start(&harness, &store, &watcher, &gates).await;
    let (thread, other) = (ThreadId::from("t"), ThreadId::from("other"));
    let through = system.clone();
    let route: Attach<Request<H>> = Arc::new(move |thread, request| {
        let system = through.clone();
        Box::pin(async move {
            system.subscribe(&thread, TeeRequest::Second(request)).await?;
            Ok(())
        })
    });
    let attach = async |thread: &ThreadId| {
        let viewer = harness.watch(thread, route.clone()).await?;
        Some(Watching { viewer, transcript: Transcript::default() })
    };

    system.send(&thread, "1".into(), selvedge_event::Input::text("hello")).await.expect("the text is accepted");
    // An observer that serves nobody has nothing to prove.
    let Some(first) = attach(&thread).await else { return system.shutdown().await };
    let mut viewers = vec![first];
    gates[0].reached().await;
    viewers.extend(attach(&thread).await);
    // Somebody who watches another thread meanwhile sees nothing of this one.
    system.send(&other, "1".into(), selvedge_event::Input::text("bye")).await.expect("the text is accepted");
    let mut elsewhere = attach(&other).await.expect("it has served somebody before");
    gates[0].open();
    gates[1].reached().await;
    viewers.extend(attach(&thread).await);
    viewers.extend(attach(&thread).await);
    gates[1].open();

    viewers[0].read_until_stopped().await;
    elsewhere.read_until_stopped().await;
    system.shutdown().await;
    for (thread, viewers) in [(thread, viewers), (other, vec![elsewhere])] {
        let page = store.history(&thread, None, u64::MAX).await.expect("the thread is there");
        let history: History = page.turns.into_iter().collect();
        watcher.check(thread.as_str(), &history);
        let expected = transcript_of(&history);
        for (number, mut viewer) in viewers.into_iter().enumerate() {
            viewer.read_until(&expected, &format!("subscriber {number} of {thread}")).await;
        }
    }
}

async fn start<H: ObserverHarness>(
    harness: &H,
    store: &Arc<dyn ConversationStore>,
    watcher: &Watcher,
    gates: &[Gate; 2],
) -> RunningSystem<TeeRequest<(), Request<H>>> {
    let gates = gates.clone();
    let model = ScriptedModel::from_fn(move |request| match request.context.last() {
        Some(selvedge_model::RequestMessage::User(text)) if &**text == "hello" => {
            Reply::new().think("hm").say("let ").wait(&gates[0]).say("me ").pause().say("see").and_call("look", "{}")
        }
        Some(selvedge_model::RequestMessage::User(text)) => Reply::text(format!("you said {text}")),
        _ => Reply::new().say("that ").wait(&gates[1]).say("is ").pause().say("it"),
    });
    let look = tool(ToolSpec::new("look", "Looks."), |_: ToolContext| async { Ok(ToolOutput::text("seen")) });
    let mut config = ThreadConfig::new(Arc::new(model));
    config.tools = ToolSet::new([Arc::new(look) as _]).expect("one tool is a set");
    let (watcher, observers) = (watcher.clone(), harness.observers());
    let mut limits = Limits::default();
    // Every event is followed by a chance to attach.
    limits.events_between_yields = 1;
    let parts = SystemParts {
        store: store.clone(),
        observer: move || Tee::new(watcher.clone(), observers()),
        configure: Arc::new(config),
        clock: Arc::new(ManualClock::at(1_000)),
        limits,
        tools: tokio::runtime::Handle::current(),
        shards: std::num::NonZeroUsize::MIN,
        wake: Wake::default(),
        label: "conformance".into(),
    };
    RunningSystem::start_local(parts).await.expect("the system starts")
}

type Request<H> = <<H as ObserverHarness>::Observer as selvedge_observer::ThreadObserver>::SubscribeRequest;

/// Somebody who watches.
struct Watching<V> {
    viewer: V,
    transcript: Transcript,
}

impl<V: Viewer> Watching<V> {
    /// Takes in what is shown next. `None` at the end.
    async fn read(&mut self, what: &str) -> Option<Shown> {
        let next = tokio::time::timeout(PATIENCE, self.viewer.next()).await;
        let shown = next.unwrap_or_else(|_| panic!("{what} is shown nothing more, and has {:#?}", self.transcript));
        match &shown {
            Some(Shown::Snapshot(snapshot)) => self.transcript = Transcript::from_snapshot(snapshot),
            Some(Shown::Event(event)) => self.transcript.apply(event),
            Some(Shown::Other) | None => {}
        }
        shown
    }

    async fn read_until_stopped(&mut self) {
        loop {
            match self.read("the first subscriber").await {
                Some(Shown::Event(AgentEvent::CompletionFinished { outcome: Outcome::Stopped, .. })) => return,
                Some(_) if self.stopped() => return,
                Some(_) => {}
                None => panic!("the subscription ends before the answer does"),
            }
        }
    }

    /// Whether the snapshot came after the end.
    fn stopped(&self) -> bool {
        let texts = self.transcript.items().iter().filter(|item| {
            matches!(&item.kind, selvedge_event::ItemKind::Text { text } if text == "that is it" || text == "you said bye")
        });
        texts.count() > 0 && self.transcript.completion().is_none()
    }

    async fn read_until(&mut self, expected: &Transcript, what: &str) {
        while self.transcript.items() != expected.items() || self.transcript.completion().is_some() {
            let ended = self.read(what).await.is_none();
            assert!(
                !ended || self.transcript.items() == expected.items(),
                "{what} ends with\n{:#?}\n, the history shows\n{:#?}",
                self.transcript.items(),
                expected.items()
            );
        }
    }
}
