//! An observer that keeps state of its own: what each thread has cost, durable in its `on_commit`.
//!
//! After a crash, the last step may be emitted and committed again. So state is staged per step while events come, and
//! committed under (thread, step): a step that is already there is replaced, never added.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use async_trait::async_trait;
use selvedge::prelude::*;

/// Tokens per thread and step.
type Ledger = BTreeMap<String, BTreeMap<u64, u64>>;

struct Costs {
    file: PathBuf,
    /// What the running step of each thread has cost so far.
    staged: RefCell<HashMap<String, (u64, u64)>>,
    ledger: RefCell<Ledger>,
}

impl Costs {
    fn open(file: PathBuf) -> Self {
        let kept = std::fs::read(&file).ok().and_then(|bytes| parse(&bytes));
        Self { file, staged: RefCell::default(), ledger: RefCell::new(kept.unwrap_or_default()) }
    }
}

#[async_trait(?Send)]
impl ThreadObserver for Costs {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        if let AgentEvent::CompletionFinished { step, usage, .. } = event {
            self.staged.borrow_mut().insert(thread_id.to_owned(), (*step, usage.input + usage.output));
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

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let file = std::env::temp_dir().join("selvedge-costs.txt");
    let observed = file.clone();
    let system = System::builder()
        .store(MemoryStore::default())
        .model(ScriptedModel::new([Reply::text("Hello!").usage(12, 3), Reply::text("Goodbye!").usage(20, 4)]))
        .observer(move || Costs::open(observed.clone()))
        .start()
        .await?;
    system.send_text(&"a".into(), "hi").await?;
    system.send_text(&"b".into(), "bye").await?;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    system.shutdown().await;
    print!("step, tokens, thread:\n{}", std::fs::read_to_string(file)?);
    Ok(())
}
