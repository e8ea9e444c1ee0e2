//! `DurableObserver` is what every observer is.

use std::sync::Arc;

use selvedge_durable::{DurableObserver, Sessions};
use selvedge_event::{ChoiceId, History, ReplaySnapshot, ThreadId};
use selvedge_live::{FrameKind, Live, LiveRequest, Subscribe, Subscriber};
use selvedge_store::ConversationStore;
use selvedge_testkit::observer_conformance::{Attach, ObserverHarness, Shown, Viewer};
use selvedge_testkit::transcript_of;

use crate::folder::Folder;

struct Durable {
    folder: Folder,
    store: Arc<dyn ConversationStore>,
    sessions: Sessions,
    live: Live,
}

impl ObserverHarness for Durable {
    type Observer = DurableObserver;
    type Viewer = Frames;

    async fn fresh(store: Arc<dyn ConversationStore>) -> Self {
        let folder = Folder::new();
        let sessions = Sessions::open(folder.path("sessions.db")).await.unwrap();
        Self { folder, store, sessions, live: Live::default() }
    }

    fn observers(&self) -> impl Fn() -> DurableObserver + Send + Sync + 'static {
        let (sessions, store, live) = (self.sessions.clone(), self.store.clone(), self.live.clone());
        move || DurableObserver::new(sessions.clone(), store.clone(), &live)
    }

    async fn restart(&mut self) {
        self.sessions.close().await;
        self.sessions = Sessions::open(self.folder.path("sessions.db")).await.unwrap();
        self.live = Live::default();
    }

    async fn committed(&self, thread: &ThreadId) -> String {
        // All that is kept, sums and search included, against the history; and what readers see, as text.
        if self.store.head(thread).await.is_ok() {
            let differences = self.sessions.verify_thread(&*self.store, thread).await.unwrap();
            assert!(differences.is_empty(), "{differences:#?}");
        }
        format!("{:#?}", self.sessions.transcript(thread).await.unwrap())
    }

    fn derived(&self, _: &ThreadId, history: &History) -> String {
        format!("{:#?}", transcript_of(history).items())
    }

    fn derives(&self) -> bool {
        true
    }

    async fn choices(&self, thread: &ThreadId) -> Option<Vec<ChoiceId>> {
        let choices = self.sessions.choices(thread).await.unwrap();
        Some(choices.into_iter().map(|choice| choice.id).collect())
    }

    async fn watch(&self, thread: &ThreadId, attach: Attach<LiveRequest>) -> Option<Frames> {
        let attach = Arc::new(move |thread: ThreadId, request: LiveRequest| attach(thread, request));
        Some(Frames(self.live.subscribe(attach, thread.clone(), Subscribe::default()).await.unwrap()))
    }
}

struct Frames(Subscriber);

impl Viewer for Frames {
    async fn next(&mut self) -> Option<Shown> {
        let frame = self.0.next().await?;
        Some(match &frame.kind {
            FrameKind::Snapshot(snapshot) => Shown::Snapshot(Box::new(ReplaySnapshot::clone(snapshot))),
            FrameKind::Event(event) => Shown::Event(event.clone()),
            _ => Shown::Other,
        })
    }
}

selvedge_testkit::observer_conformance!(Durable);
