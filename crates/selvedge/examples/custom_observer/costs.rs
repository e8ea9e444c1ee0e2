//! The observer: what each step of each thread has cost.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use async_trait::async_trait;
use selvedge::event::Discard;
use selvedge::prelude::*;

/// Tokens per thread and step.
pub(crate) type Ledger = BTreeMap<String, BTreeMap<u64, u64>>;

pub(crate) struct Costs {
    file: PathBuf,
    /// What the running step of each thread has cost so far.
    staged: RefCell<HashMap<String, (u64, u64)>>,
    ledger: RefCell<Ledger>,
}

impl Costs {
    pub(crate) fn open(file: PathBuf) -> Self {
        let ledger = read(&file);
        Self { file, staged: RefCell::default(), ledger: RefCell::new(ledger) }
    }
}

#[async_trait(?Send)]
impl ThreadObserver for Costs {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        match event {
            AgentEvent::CompletionFinished { step, usage, .. } => {
                self.staged.borrow_mut().insert(thread_id.to_owned(), (*step, usage.input + usage.output));
            }
            // The step could not be synced, or is about to be emitted again: what it has cost so far is void.
            AgentEvent::TurnDiscarded { scope: Discard::Step, .. } => drop(self.staged.borrow_mut().remove(thread_id)),
            _ => {}
        }
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        let Some((step, tokens)) = self.staged.borrow_mut().remove(thread_id) else { return Ok(()) };
        self.ledger.borrow_mut().entry(thread_id.to_owned()).or_default().insert(step, tokens);
        // Written whole to a new file and moved over the old one: the step goes no further before this is durable, and
        // an error here keeps every tool call of the step from going out.
        let text = render(&self.ledger.borrow());
        let new = self.file.with_extension("new");
        std::fs::write(&new, text)?;
        std::fs::File::open(&new)?.sync_all()?;
        std::fs::rename(&new, &self.file)?;
        Ok(())
    }
}

/// What is durable.
pub(crate) fn read(file: &std::path::Path) -> Ledger {
    std::fs::read(file).ok().and_then(|bytes| parse(&bytes)).unwrap_or_default()
}

fn render(ledger: &Ledger) -> String {
    let lines = ledger
        .iter()
        .flat_map(|(thread, steps)| steps.iter().map(move |(step, tokens)| format!("{step} {tokens} {thread}\n")));
    lines.collect()
}

fn parse(bytes: &[u8]) -> Option<Ledger> {
    let mut ledger = Ledger::new();
    for line in std::str::from_utf8(bytes).ok()?.lines() {
        let mut fields = line.splitn(3, ' ');
        let (step, tokens, thread) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?);
        ledger.entry(thread.to_owned()).or_default().insert(step, tokens);
    }
    Some(ledger)
}
