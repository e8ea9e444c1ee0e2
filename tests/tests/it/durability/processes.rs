//! Several processes on one file, each with a running system of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use selvedge::event::{Message, Outcome};
use selvedge::model::RequestMessage;
use selvedge::prelude::*;
use selvedge::runtime::SendError;
use tokio::sync::mpsc;

const DATABASE: &str = "SELVEDGE_PROCESS_DATABASE";

/// Tells of commits.
struct Commits(mpsc::UnboundedSender<()>);

#[async_trait(?Send)]
impl ThreadObserver for Commits {
    type SubscribeRequest = ();

    fn on_event(&self, _thread: &str, _event: &AgentEvent) {}

    async fn on_commit(&self, _thread: &str) -> Result<(), BoxError> {
        // Nobody listens any more when the test is over.
        self.0.send(()).ok();
        Ok(())
    }
}

/// A system on the file, whose tool notes each call beside it and never answers.
async fn system(database: &Path, label: &str) -> (RunningSystem<()>, mpsc::UnboundedReceiver<()>) {
    let notes = database.with_extension("calls");
    let act = tool(ToolSpec::new("act", "Acts."), move |_call: ToolContext| {
        let notes = notes.clone();
        async move {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(notes)?;
            file.write_all(b"act\n")?;
            println!("ready");
            std::future::pending().await
        }
    });
    let model = ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(text)) if text.contains("act") => Reply::call("act", "{}"),
        _ => Reply::text("done"),
    });
    let (commits, committed) = mpsc::unbounded_channel();
    let builder = System::builder().store(SqliteStore::open(database).await.unwrap()).model(model).tool(act);
    let builder = builder.label(label).observer(move || Commits(commits.clone()));
    (builder.start().await.unwrap(), committed)
}

fn child(database: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durability::processes::drives_a_thread", "--include-ignored", "--nocapture"])
        .env(DATABASE, database)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe stays open: the child's test runner has more to say.
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    lines.map(Result::unwrap).find(|line| line.ends_with("ready")).expect("the child comes to the point");
    child
}

#[tokio::test]
#[ignore = "the part of a child process"]
async fn drives_a_thread() {
    let Some(database) = std::env::var_os(DATABASE) else { return };
    let (system, _committed) = system(Path::new(&database), "the other process").await;
    system.send_text(&"t".into(), "act").await.unwrap();
    std::future::pending().await
}

/// A system that runs already is refused the thread while its owner lives, whom it is told; once that is killed, the
/// thread is driven here at once when somebody asks. What was in the middle of a call is settled as unknown, not run again.
#[tokio::test]
async fn the_thread_of_a_killed_system_is_driven_by_one_that_runs_already() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("threads.db");
    let (system, mut committed) = system(&database, "this process").await;
    let mut other = child(&database);
    let queued = |text: &str| (selvedge::event::InputId::from(text), Input::queued(text));
    let (id, input) = queued("mine");
    let refused = system.send(&"t".into(), id, input).await.unwrap_err();
    assert!(matches!(&refused, SendError::Owned { owner, .. } if owner.contains("the other process")), "{refused}");

    // On Unix, this is SIGKILL.
    other.kill().unwrap();
    other.wait().unwrap();
    let killed = Instant::now();
    let (id, input) = queued("mine");
    system.send(&"t".into(), id, input).await.unwrap();
    let page = loop {
        committed.recv().await.unwrap();
        let page = system.store().history(&"t".into(), None, u64::MAX).await.unwrap();
        let mut all = page.turns.iter().flat_map(|turn| &turn.messages);
        let is_heard = all.any(|message| matches!(message, Message::User(user) if &*user.text == "mine"));
        let last = page.turns.last().and_then(|turn| turn.messages.last());
        if is_heard && matches!(last, Some(Message::Assistant(answer)) if answer.outcome == Outcome::Stopped) {
            break page;
        }
    };
    let took = killed.elapsed();
    println!("taken over and answered after {took:?}");
    assert!(took < Duration::from_secs(20), "in bounded time: {took:?}");

    let messages: Vec<&Message> = page.turns.iter().flat_map(|turn| &turn.messages).collect();
    let results = messages.iter().filter_map(|message| match message {
        Message::ToolResult(result) => Some(result.status),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [ToolStatus::Unknown]);
    let texts = messages.iter().filter_map(|message| match message {
        Message::User(user) => Some(&*user.text),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["act", "mine"]);
    assert_eq!(std::fs::read_to_string(database.with_extension("calls")).unwrap(), "act\n", "it ran once");
    system.shutdown().await;
}
