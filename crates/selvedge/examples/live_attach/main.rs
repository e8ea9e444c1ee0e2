//! Two viewers of one thread, one of them late: both end with the same transcript, item for item.

#![allow(clippy::disallowed_methods, reason = "viewers are tasks of the embedder's own runtime")]

mod fan_out;

use std::time::Duration;

use selvedge::prelude::*;
use tokio::sync::mpsc;

use fan_out::{FanOut, Frame};

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
