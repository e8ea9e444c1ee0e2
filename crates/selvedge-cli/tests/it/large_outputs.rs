//! S42: tools that answer with more than any model reads.

use std::sync::Arc;
use std::time::Duration;

use selvedge::event::{BlobRef, Message, ToolResult};
use selvedge::model::{ModelRequest, RequestMessage};
use selvedge::prelude::*;
use tokio::sync::mpsc::UnboundedSender;

use crate::program::Program;

/// What the tool answers with, in megabytes.
const SIZES: [usize; 3] = [1, 64, 300];
/// Some of it.
const PIECE: &str = "é line ↵";

/// Outputs of 1 MB, 64 MB and 300 MB: the model reads a bounded text with a marker, the whole is kept by reference;
/// attaching, a restart, export and import all work.
#[test]
fn s42_outputs_of_any_size() {
    let program = Program::new();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("it goes well");
    let first = runtime.block_on(talk(&program));
    assert_eq!(runtime.block_on(look(&program)), first, "after a restart, the same");

    let (file, text) = (program.path("large.jsonl"), PIECE.repeat(2));
    program.ok(&["export", "large", "--out", file.to_str().expect("it goes well")], "");
    let whole: usize = SIZES.map(bytes_of).iter().sum();
    assert!(std::fs::metadata(&file).expect("it goes well").len() > whole as u64, "the file holds the whole outputs");
    program.ok(&["import", file.to_str().expect("it goes well"), "--thread", "copy"], "");
    let shown = program.ok(&["show", "copy"], "");
    assert_eq!(shown, program.ok(&["show", "large"], ""));
    assert!(shown.len() < 1024 * 1024 && shown.contains(&text), "{} bytes are shown", shown.len());
}

/// A conversation with a call of each size. What an attach shows at its end.
async fn talk(program: &Program) -> Vec<Item> {
    let model = ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(_)) => {
            SIZES.iter().fold(Reply::new(), |reply, size| reply.and_call("flood", format!(r#"{{"megabytes":{size}}}"#)))
        }
        _ => Reply::text("that was much"),
    });
    let store = SqliteStore::open(program.path("threads.db")).await.expect("it goes well");
    let (sender, mut shown) = tokio::sync::mpsc::unbounded_channel();
    let builder = System::builder().store(store.clone()).model(model.clone()).tool(flood());
    let system = builder.observer(move || Viewer(sender.clone())).start().await.expect("it goes well");
    system.send_text(&"large".into(), "go").await.expect("it goes well");
    while !matches!(shown.recv().await, Some(Shown::Finished(Outcome::Stopped))) {}
    let items = attach(&system, &mut shown).await;
    system.shutdown().await;
    store.close().await;

    let requests = model.requests();
    let read = requests.last().map(results).unwrap_or_default();
    assert_eq!(read.len(), SIZES.len());
    for (result, size) in read.iter().zip(SIZES) {
        let text = result.joined_text();
        assert!(text.len() < 66 * 1024, "the model reads {} bytes", text.len());
        assert!(text.contains(&format!("of {} bytes left out", bytes_of(size))), "a marker says what is left out");
        assert_eq!(result.blob.as_ref().map(|blob| blob.bytes), Some(bytes_of(size) as u64));
    }
    assert_eq!(model.violations(), Vec::<String>::new());
    items
}

/// Another process: what an attach shows, once the whole of every output has been read.
async fn look(program: &Program) -> Vec<Item> {
    let store = SqliteStore::open(program.path("threads.db")).await.expect("it goes well");
    let thread = ThreadId::from("large");
    let page = store.history(&thread, None, u64::MAX).await.expect("it goes well");
    let results = page.turns.iter().flat_map(|turn| &turn.messages).filter_map(|message| match message {
        Message::ToolResult(result) => result.blob.clone(),
        _ => None,
    });
    for BlobRef { id, bytes } in results {
        let mut offset = 0;
        while offset < bytes {
            let piece = store.blob(&thread, &id, offset, 800_000 * PIECE.len() as u64).await.expect("it goes well");
            assert!(piece.chunks(PIECE.len()).all(|piece| PIECE.as_bytes().starts_with(piece)), "at byte {offset}");
            offset += piece.len() as u64;
        }
        assert_eq!(offset, bytes);
    }
    let (sender, mut shown) = tokio::sync::mpsc::unbounded_channel();
    let builder = System::builder().store(store.clone()).model(ScriptedModel::new([]));
    let system = builder.observer(move || Viewer(sender.clone())).start().await.expect("it goes well");
    let items = attach(&system, &mut shown).await;
    system.shutdown().await;
    store.close().await;
    items
}

fn flood() -> impl Tool + 'static {
    tool(ToolSpec::new("flood", "Answers with much.").read_only(), |call: ToolContext| async move {
        let megabytes = call.arguments()["megabytes"].as_u64().unwrap_or_default();
        let text = PIECE.repeat(bytes_of(usize::try_from(megabytes)?) / PIECE.len());
        Ok(ToolOutput::text(text))
    })
}

/// Whole pieces only, so that no character is cut.
fn bytes_of(megabytes: usize) -> usize {
    megabytes * 1_000_000 / PIECE.len() * PIECE.len()
}

fn results(request: &ModelRequest) -> Vec<Arc<ToolResult>> {
    match request.context.last() {
        Some(RequestMessage::ToolResults(answered)) => answered.iter().map(|one| one.result.clone()).collect(),
        _ => Vec::new(),
    }
}

/// What a viewer is told.
enum Shown {
    Finished(Outcome),
    Snapshot(Box<ReplaySnapshot>),
}

struct Viewer(UnboundedSender<Shown>);

impl ThreadObserver for Viewer {
    type SubscribeRequest = ();

    fn on_event(&self, _: &str, event: &AgentEvent) {
        if let AgentEvent::CompletionFinished { outcome, .. } = event {
            drop(self.0.send(Shown::Finished(outcome.clone())));
        }
    }

    fn on_subscribe(&self, _: &str, (): (), snapshot: ReplaySnapshot) {
        drop(self.0.send(Shown::Snapshot(Box::new(snapshot))));
    }
}

async fn attach(system: &RunningSystem<()>, shown: &mut tokio::sync::mpsc::UnboundedReceiver<Shown>) -> Vec<Item> {
    assert!(system.subscribe(&"large".into(), ()).await.expect("it goes well"));
    loop {
        let next = tokio::time::timeout(Duration::from_secs(30), shown.recv()).await.expect("somebody is attached");
        if let Some(Shown::Snapshot(snapshot)) = next {
            return Transcript::from_snapshot(&snapshot).items().to_vec();
        }
    }
}
