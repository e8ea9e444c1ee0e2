//! What the observer of all those processes was told, held against the histories.

use std::collections::HashMap;
use std::path::Path;

use selvedge::prelude::*;
use selvedge_testkit::explorer::{Broken, Story, Violation};

use crate::child::Seen;

/// One thread, as an embedder keeps it and as a subscriber sees it.
#[derive(Default)]
struct Shown {
    /// In memory: every event so far.
    working: Transcript,
    /// On the embedder's disk: as of the last commit.
    kept: Transcript,
    /// The subscriber of the process that runs.
    subscriber: Option<Transcript>,
    /// What subscribers saw at commits, and who was given it.
    at_commits: Vec<Vec<Item>>,
}

/// Compares what was kept, and what the last subscribers saw, with the histories; and whatever a subscriber saw committed
/// must still be there.
pub(super) fn compare(file: &Path, stories: &[Story]) -> Vec<Violation> {
    let mut threads = read(file);
    stories
        .iter()
        .flat_map(|story| {
            let shown = threads.remove(&story.thread).unwrap_or_default();
            against(story, &shown)
        })
        .collect()
}

fn read(file: &Path) -> HashMap<ThreadId, Shown> {
    let mut threads: HashMap<ThreadId, Shown> = HashMap::new();
    let text = std::fs::read(file).unwrap_or_default();
    // A line that a kill has cut off says nothing.
    for seen in String::from_utf8_lossy(&text).lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match seen {
            Seen::Started => {
                for shown in threads.values_mut() {
                    shown.working = shown.kept.clone();
                    shown.subscriber = None;
                }
            }
            Seen::Event(thread, event) => {
                let shown = threads.entry(thread).or_default();
                shown.working.apply(&event);
                if let Some(subscriber) = &mut shown.subscriber {
                    subscriber.apply(&event);
                }
            }
            Seen::Committed(thread) => {
                let shown = threads.entry(thread).or_default();
                shown.kept = shown.working.clone();
                shown.at_commits.extend(shown.subscriber.as_ref().map(|subscriber| subscriber.items().to_vec()));
            }
            Seen::Subscribed(snapshot) => {
                let shown = threads.entry(snapshot.thread_id.clone()).or_default();
                shown.subscriber = Some(Transcript::from_snapshot(&snapshot));
            }
        }
    }
    threads
}

fn against(story: &Story, shown: &Shown) -> Vec<Violation> {
    let (thread, history) = (&story.thread, story.transcript());
    let mut violations = Vec::new();
    if shown.kept.items() != history.items() {
        let what = format!("{thread}: kept {:?}\n of {:?}", shown.kept.items(), history.items());
        violations.push(Violation::new(Broken::State, what));
    }
    if shown.subscriber.as_ref().is_none_or(|subscriber| subscriber.items() != history.items()) {
        violations
            .push(Violation::new(Broken::Viewer, format!("{thread}: the last subscriber saw {:?}", shown.subscriber)));
    }
    let gone = shown.at_commits.iter().flatten().find(|item| !history.items().iter().any(|other| is_same(item, other)));
    if let Some(item) = gone {
        violations.push(Violation::new(Broken::Viewer, format!("{thread}: seen committed, and gone: {item:?}")));
    }
    violations
}

/// Whether an item is what became of another: a call may have its result by now.
fn is_same(then: &Item, now: &Item) -> bool {
    let mut now = now.clone();
    if let (ItemKind::ToolCall { result: None, .. }, ItemKind::ToolCall { result, .. }) = (&then.kind, &mut now.kind) {
        *result = None;
    }
    *then == now
}
