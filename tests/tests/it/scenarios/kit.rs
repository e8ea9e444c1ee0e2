//! What the scenarios share: models that answer by the last message, and tools that note that they were reached.

use std::sync::Arc;

use selvedge::Builder;
use selvedge::model::{Gate, ModelRequest, RequestMessage};
use selvedge::prelude::*;
use selvedge_testkit::{Seen, Watcher};
use selvedge_tests::{Mode, World};

/// A world in local mode with one model.
pub(crate) async fn local(model: &ScriptedModel) -> World {
    local_with(model, |builder, _| builder).await
}

/// A world in local mode with one model, and tools that leave notes with the watcher.
pub(crate) async fn local_with(
    model: &ScriptedModel,
    tools: impl Fn(Builder<fn() -> NullObserver>, &Watcher) -> Builder<fn() -> NullObserver> + 'static,
) -> World {
    let (model, watcher) = (model.clone(), Watcher::new());
    let notes = watcher.clone();
    let wiring = move |builder: Builder<_>| tools(builder.model(model.clone()), &notes);
    World::watched(Mode::Local, Arc::new(MemoryStore::default()), watcher, wiring).await
}

/// A model that answers results with "done", a text that names a tool with a call of it, and others with an echo.
pub(crate) fn obliging() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match asked(request).strip_prefix("call ") {
        Some(tool) => Reply::call(tool, "{}"),
        None => Reply::text(format!("re: {}", asked(request))),
    })
}

/// What a request ends with: the user's text, or "done" for results.
pub(crate) fn asked(request: &ModelRequest) -> String {
    match request.context.last() {
        Some(RequestMessage::User(text)) => text.to_string(),
        _ => "done".into(),
    }
}

/// A tool that notes that it was reached, and with what.
pub(crate) fn noting(name: &'static str, watcher: &Watcher) -> impl Tool + 'static {
    let watcher = watcher.clone();
    tool(ToolSpec::new(name, "Leaves a note."), move |call| {
        watcher.note(format!("{name} {}", call.arguments()));
        async { Ok("noted".into()) }
    })
}

/// A tool that waits at a gate.
pub(crate) fn held(name: &'static str, gate: &Gate) -> impl Tool + 'static {
    let gate = gate.clone();
    tool(ToolSpec::new(name, "Waits."), move |_| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok("passed".into())
        }
    })
}

/// The notes that tools have left, in order.
pub(crate) fn notes(watcher: &Watcher) -> Vec<String> {
    let notes = watcher.log().into_iter().filter_map(|seen| match seen {
        Seen::Note(note) => Some(note),
        _ => None,
    });
    notes.collect()
}

/// The results that a thread shows, each with its status, in the order of their calls.
pub(crate) async fn results(world: &World, thread: &str) -> Vec<(ToolStatus, String)> {
    let results = world.shown(thread).await.into_iter().filter_map(|kind| match kind {
        ItemKind::ToolCall { result: Some((_, result)), .. } => Some((result.status, result.joined_text())),
        _ => None,
    });
    results.collect()
}

/// What the users of a thread wrote, in the order in which it was taken.
pub(crate) async fn written(world: &World, thread: &str) -> Vec<String> {
    let texts = world.shown(thread).await.into_iter().filter_map(|kind| match kind {
        ItemKind::User { text, .. } => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}
