//! A system that is watched through `selvedge-live`, and viewers that fold what they are given.

use std::sync::Arc;
use std::time::Duration;

use selvedge::event::Text;
use selvedge::live::{Cursor, Frame, FrameKind, Live, LiveObserver, LiveRequest, ResyncReason, Subscribe, Subscriber};
use selvedge::prelude::*;
use selvedge::runtime::Limits;
use selvedge_testkit::{TokioClock, transcript_of};

/// A system on the test's own `LocalSet`, and what its viewers go through.
pub(crate) struct Watched {
    pub(crate) store: MemoryStore,
    pub(crate) live: Live,
    pub(crate) system: RunningSystem<LiveRequest>,
}

impl Watched {
    pub(crate) async fn new(live: Live, model: &ScriptedModel) -> Self {
        Self::over(MemoryStore::default(), live, model).await
    }

    /// Starts on what another has left.
    pub(crate) async fn over(store: MemoryStore, live: Live, model: &ScriptedModel) -> Self {
        let observed = live.clone();
        let mut limits = Limits::default();
        limits.idle = Duration::from_secs(1);
        let system = System::builder()
            .store(store.clone())
            .model(model.clone())
            .limits(limits)
            .clock(TokioClock::starting_at(1_764_500_000_000))
            .observer(move || LiveObserver::new(&observed))
            .start_local()
            .await
            .unwrap();
        Self { store, live, system }
    }

    pub(crate) async fn subscribe(&self, thread: &str, subscribe: Subscribe) -> Viewer {
        let attach = selvedge::attach_to(&self.system);
        Viewer::new(self.live.subscribe(attach, thread.into(), subscribe).await.unwrap())
    }

    pub(crate) async fn resume(&self, thread: &str, cursor: Cursor) -> Viewer {
        self.subscribe(thread, Subscribe { resume: Some(cursor), ..Subscribe::default() }).await
    }

    /// Sends a text, and waits until its answer is durable.
    pub(crate) async fn say(&self, thread: &str, text: &str) {
        let before = self.store.head(&thread.into()).await.map_or(0, |head| head.step);
        self.system.send(&thread.into(), text.into(), Input::text(text)).await.unwrap();
        while self
            .store
            .load(&thread.into())
            .await
            .is_ok_and(|record| record.head.step == before || !record.inbox.is_empty())
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The commit follows on the sync.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// What the durable history of a thread shows.
    pub(crate) async fn durable(&self, thread: &str) -> Transcript {
        let page = self.store.history(&thread.into(), None, u64::MAX).await.unwrap();
        transcript_of(&page.turns.into_iter().collect())
    }
}

/// A subscriber and what it makes of its frames.
pub(crate) struct Viewer {
    pub(crate) subscriber: Subscriber,
    pub(crate) transcript: Transcript,
    pub(crate) frames: Vec<Arc<Frame>>,
}

impl Viewer {
    fn new(subscriber: Subscriber) -> Self {
        Self { subscriber, transcript: Transcript::default(), frames: Vec::new() }
    }

    /// The next frame, if one comes soon.
    pub(crate) async fn next(&mut self) -> Option<Arc<Frame>> {
        let frame = tokio::time::timeout(Duration::from_millis(100), self.subscriber.next()).await.ok().flatten()?;
        match &frame.kind {
            FrameKind::Snapshot(snapshot) => self.transcript = Transcript::from_snapshot(snapshot),
            FrameKind::Event(event) => self.transcript.apply(event),
            FrameKind::ChoiceRequired(choice) => self.transcript.choice_required(choice),
            FrameKind::ChoiceDismissed(id) => self.transcript.choice_dismissed(id),
            _ => {}
        }
        self.frames.push(frame.clone());
        Some(frame)
    }

    pub(crate) async fn catch_up(&mut self) {
        while self.next().await.is_some() {}
    }

    /// The kinds of the frames so far, events by their text or their type.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let kind = |frame: &Arc<Frame>| {
            let json: serde_json::Value = serde_json::from_str(frame.json()).unwrap();
            let name = match &frame.kind {
                FrameKind::Event(_) => &json["data"]["type"],
                FrameKind::Resync { .. } => &json["data"]["reason"],
                _ => &json["frame"],
            };
            name.as_str().unwrap().to_owned()
        };
        self.frames.iter().map(kind).collect()
    }

    pub(crate) fn resyncs(&self) -> Vec<ResyncReason> {
        let reasons = self.frames.iter().filter_map(|frame| match frame.kind {
            FrameKind::Resync { reason } => Some(reason),
            _ => None,
        });
        reasons.collect()
    }
}

/// A model whose every answer is so many chunks of a text.
pub(crate) fn chunks(count: usize, text: &str) -> ScriptedModel {
    let text: Text = text.into();
    ScriptedModel::from_fn(move |_| (0..count).fold(Reply::text(text.clone()), |reply, _| reply.say(text.clone())))
}
