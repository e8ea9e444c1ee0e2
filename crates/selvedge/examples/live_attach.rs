//! Two viewers of one thread, one of them late: both end with the same transcript, item for item.

#![allow(clippy::disallowed_methods, reason = "viewers are tasks of the embedder's own runtime")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use selvedge::prelude::*;
use tokio::sync::mpsc;

/// What a subscriber hands in: where its frames go. The bound is its budget; whoever does not read is dropped.
type Viewer = mpsc::Sender<Frame>;

#[derive(Clone, Debug)]
enum Frame {
    Snapshot(Box<ReplaySnapshot>),
    Event(AgentEvent),
}

#[derive(Default)]
struct FanOut {
    viewers: RefCell<HashMap<String, Vec<Viewer>>>,
}

impl ThreadObserver for FanOut {
    type SubscribeRequest = Viewer;

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        if let Some(viewers) = self.viewers.borrow_mut().get_mut(thread_id) {
            // A viewer that is full or gone is dropped; it attaches again for a fresh snapshot.
            viewers.retain(|viewer| viewer.try_send(Frame::Event(event.clone())).is_ok());
        }
    }

    fn on_subscribe(&self, thread_id: &str, viewer: Viewer, snapshot: ReplaySnapshot) {
        if viewer.try_send(Frame::Snapshot(Box::new(snapshot))).is_ok() {
            self.viewers.borrow_mut().entry(thread_id.to_owned()).or_default().push(viewer);
        }
    }
}

/// Folds frames into a transcript until a completion has finished.
async fn watch(mut frames: mpsc::Receiver<Frame>) -> Transcript {
    let mut transcript = Transcript::default();
    while let Some(frame) = frames.recv().await {
        match frame {
            Frame::Snapshot(snapshot) => transcript = Transcript::from_snapshot(&snapshot),
            Frame::Event(event) => {
                transcript.apply(&event);
                if matches!(event, AgentEvent::CompletionFinished { .. }) {
                    break;
                }
            }
        }
    }
    transcript
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let gate = selvedge::model::Gate::new();
    let reply = Reply::text("First half, ").wait(&gate).say("second half.");
    let system = System::builder()
        .store(MemoryStore::default())
        .model(ScriptedModel::new([reply]))
        .observer(FanOut::default)
        .start()
        .await?;
    let thread = ThreadId::from("demo");

    system.send_text(&thread, "Tell me everything.").await?;
    let (early, frames) = mpsc::channel(64);
    system.subscribe(&thread, early).await?;
    let early = tokio::task::spawn(watch(frames));
    gate.reached().await;
    let (late, frames) = mpsc::channel(64);
    system.subscribe(&thread, late).await?; // in the middle of the answer
    let late = tokio::task::spawn(watch(frames));
    gate.open();

    let (early, late) = tokio::time::timeout(Duration::from_secs(10), async { (early.await, late.await) }).await?;
    assert_eq!(early?.items(), late?.items());
    println!("both viewers show the same");
    system.shutdown().await;
    Ok(())
}
