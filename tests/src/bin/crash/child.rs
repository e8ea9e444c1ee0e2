//! The victim of the real kills: a whole system on a SQLite file, in a process of its own.
//!
//! It is told what to send on its standard input and tells what has happened on its standard output, a line each. It also
//! leaves two files, to which it only appends: `side`, one line for each time that a tool did something, and `seen`,
//! everything that its observer was told. It ends in order when its input ends.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use selvedge::model::RequestMessage;
use selvedge::prelude::*;
use selvedge::store::Acceptance;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// The argument that makes the program this child.
pub(crate) const NAME: &str = "child";

/// What one child is to do.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Where its files are.
    pub(crate) folder: PathBuf,
    /// How many conversations there are.
    pub(crate) conversations: usize,
    /// Where it stops, to be killed.
    pub(crate) stop: Option<Stop>,
}

/// A child stops in its nth call of the tool that may run once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) nth: u32,
    /// When the tool has done its part, or before.
    pub(crate) after: bool,
}

/// A line of `seen`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Seen {
    /// A process has started.
    Started,
    /// An event of a thread.
    Event(ThreadId, AgentEvent),
    /// The commit of a thread: an embedder keeps what it has.
    Committed(ThreadId),
    /// A subscriber was given a snapshot of a thread.
    Subscribed(Box<ReplaySnapshot>),
}

impl Part {
    /// Reads the arguments after the name.
    pub(crate) fn read(args: &[String]) -> Result<Self, String> {
        let [folder, conversations, stop] = args else { return Err("a child has three arguments".to_owned()) };
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is no number"));
        let stop = match stop.split_once(':') {
            Some((moment, nth)) => Some(Stop { nth: number(nth)?, after: moment == "after" }),
            None => None,
        };
        Ok(Self { folder: folder.into(), conversations: number(conversations)? as usize, stop })
    }

    /// The arguments that are read as this.
    pub(crate) fn args(&self) -> [String; 4] {
        let moment = |stop: Stop| format!("{}:{}", if stop.after { "after" } else { "before" }, stop.nth);
        let stop = self.stop.map_or_else(|| "never".to_owned(), moment);
        [NAME.to_owned(), self.folder.display().to_string(), self.conversations.to_string(), stop]
    }
}

/// The name of a conversation.
pub(crate) fn thread(conversation: usize) -> String {
    format!("c{conversation}")
}

/// Lives until the end of its input, or until it is killed.
pub(crate) fn live(part: &Part) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work(part));
    ExitCode::SUCCESS
}

async fn work(part: &Part) {
    let store = SqliteStore::open(part.folder.join("threads.db")).await.unwrap();
    let seen = Arc::new(append_to(&part.folder.join("seen")));
    // A process that was killed may have left a line without an end.
    write_line(&seen, &format!("\n{}", serde_json::to_string(&Seen::Started).unwrap()));
    let side = Arc::new(append_to(&part.folder.join("side")));
    let system = System::builder()
        .store(store.clone())
        .model(model())
        .tool(writer("append", None, &side, part.stop))
        .tool(writer("note", Some(()), &side, None))
        .observer(move || Log { seen: seen.clone(), shown: Mutex::default() })
        .start()
        .await
        .unwrap();
    say("ready");

    let mut attached = BTreeSet::new();
    for conversation in 0..part.conversations {
        attach(&system, conversation, &mut attached).await;
    }
    let mut orders = BufReader::new(stdin()).lines();
    while let Some(order) = orders.next_line().await.unwrap() {
        let (conversation, turn) = order.split_once(' ').unwrap();
        let conversation = conversation.parse().unwrap();
        let input = Input::queued(format!("turn {turn}"));
        let acceptance = system.send(&thread(conversation).as_str().into(), turn.into(), input).await.unwrap();
        let news = if acceptance == Acceptance::Duplicate { "known" } else { "new" };
        say(&format!("accepted {conversation} {turn} {news}"));
        attach(&system, conversation, &mut attached).await;
    }
    system.shutdown().await;
    store.close().await;
}

/// Attaches a subscriber to a conversation, unless there is one or the conversation does not exist yet.
async fn attach(system: &RunningSystem<()>, conversation: usize, attached: &mut BTreeSet<usize>) {
    if !attached.contains(&conversation) && system.subscribe(&thread(conversation).as_str().into(), ()).await.is_ok() {
        attached.insert(conversation);
    }
}

/// Calls both tools for every text, and is done with their results.
fn model() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(_)) => {
            Reply::new().think("hm").say("let me see").and_call("append", "{}").and_call("note", "{}").usage(3, 2)
        }
        _ => {
            let texts = request.context.iter().filter_map(|entry| match entry {
                RequestMessage::User(text) => Some(text.clone()),
                _ => None,
            });
            Reply::text(format!("done {}", texts.last().unwrap_or_default())).usage(5, 1)
        }
    })
}

/// A tool that appends a line: with the default delivery, or, if that is said, idempotent.
fn writer(name: &'static str, idempotent: Option<()>, side: &Arc<File>, stop: Option<Stop>) -> impl Tool + use<> {
    let (side, calls) = (side.clone(), Arc::new(AtomicU32::new(0)));
    let spec = ToolSpec::new(name, "Appends a line.");
    let spec = if idempotent.is_some() { spec.idempotent() } else { spec };
    tool(spec, move |call: ToolContext| {
        let (side, number) = (side.clone(), calls.fetch_add(1, Ordering::Relaxed) + 1);
        let stop = stop.filter(|stop| stop.nth == number);
        async move {
            if stop.is_some_and(|stop| !stop.after) {
                wait_for_death().await;
            }
            write_line(&side, &format!("{} {}", call.key(), call.attempt()));
            if stop.is_some() {
                wait_for_death().await;
            }
            Ok(ToolOutput::text("written"))
        }
    })
}

async fn wait_for_death() -> Infallible {
    say("reached");
    std::future::pending().await
}

/// Writes down everything that it is told, and says when a turn is done.
struct Log {
    seen: Arc<File>,
    /// What subscribers see of each thread.
    shown: Mutex<HashMap<ThreadId, Transcript>>,
}

impl Log {
    fn note(&self, seen: &Seen) {
        write_line(&self.seen, &serde_json::to_string(seen).unwrap());
    }
}

#[async_trait(?Send)]
impl ThreadObserver for Log {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        self.note(&Seen::Event(thread_id.into(), event.clone()));
        if let Some(shown) = self.shown.lock().unwrap().get_mut(thread_id) {
            shown.apply(event);
        }
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        self.note(&Seen::Committed(thread_id.into()));
        if let Some(shown) = self.shown.lock().unwrap().get(thread_id) {
            say_done(thread_id, shown);
        }
        Ok(())
    }

    fn on_subscribe(&self, thread_id: &str, (): (), snapshot: ReplaySnapshot) {
        say_done(thread_id, &selvedge_testkit::transcript_of(&snapshot.history));
        self.shown.lock().unwrap().insert(thread_id.into(), Transcript::from_snapshot(&snapshot));
        self.note(&Seen::Subscribed(Box::new(snapshot)));
    }
}

/// Says which turn of a thread was done last.
fn say_done(thread: &str, shown: &Transcript) {
    let done = shown.items().iter().rev().find_map(|item| match &item.kind {
        ItemKind::Text { text } => text.strip_prefix("done turn "),
        _ => None,
    });
    if let Some((conversation, turn)) = thread.strip_prefix('c').zip(done) {
        say(&format!("done {conversation} {turn}"));
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever listened may be gone: then the input ends, too.
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

fn append_to(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}

/// Appends a line in one go.
fn write_line(mut file: &File, line: &str) {
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
