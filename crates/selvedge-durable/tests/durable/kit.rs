//! A store, a scripted model and a durable observer, in step mode.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use selvedge_durable::{DurableObserver, Price, Prices, Session, Sessions, SessionsOptions};
use selvedge_event::{ChoiceId, Input, InputId, ThreadId, Transcript};
use selvedge_live::Live;
use selvedge_model::{Reply, RequestMessage, ScriptedModel};
use selvedge_runtime::{Limits, StepParts, StepRunner, ThreadConfig, ToolContext, ToolOutput, ToolSet, ToolSpec, tool};
use selvedge_store::{ConversationStore, MemoryStore};
use selvedge_testkit::{ManualClock, transcript_of};

use crate::folder::Folder;

pub(crate) struct World {
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) sessions: Sessions,
    pub(crate) folder: Folder,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = Folder::new();
        let sessions = options().open(folder.path("sessions.db")).await.unwrap();
        Self { store: Arc::new(MemoryStore::default()), sessions, folder }
    }

    /// What a new process has.
    pub(crate) async fn runner(&self) -> StepRunner<DurableObserver> {
        self.runner_with(DurableObserver::new(self.sessions.clone(), self.store.clone(), &Live::default())).await
    }

    /// A process at another time of the day.
    pub(crate) async fn runner_at(&self, time: i64) -> StepRunner<DurableObserver> {
        let observer = DurableObserver::new(self.sessions.clone(), self.store.clone(), &Live::default());
        self.runner_of(observer, ManualClock::at(time)).await
    }

    pub(crate) async fn runner_with<O: selvedge_observer::ThreadObserver>(&self, observer: O) -> StepRunner<O> {
        self.runner_of(observer, ManualClock::at(1_000)).await
    }

    async fn runner_of<O: selvedge_observer::ThreadObserver>(&self, observer: O, clock: ManualClock) -> StepRunner<O> {
        let mut config = ThreadConfig::new(Arc::new(model()));
        config.tools = ToolSet::new([Arc::new(look()) as _, Arc::new(ask()) as _]).unwrap();
        let parts = StepParts {
            store: self.store.clone(),
            observer,
            configure: Arc::new(config),
            clock: Arc::new(clock),
            limits: Limits::default(),
            tools: tokio::runtime::Handle::current(),
            label: "test".into(),
        };
        StepRunner::new(parts).await.unwrap()
    }

    /// A text and everything that follows from it.
    pub(crate) async fn say(&self, thread: &str, text: &str) {
        say(&self.runner().await, thread, text).await;
    }

    pub(crate) async fn session(&self, thread: &str) -> Session {
        self.sessions.session(&thread.into()).await.unwrap().expect("the thread is kept")
    }

    /// What is kept is what the histories say.
    pub(crate) async fn check(&self) {
        assert_eq!(self.sessions.verify(&*self.store).await.unwrap(), []);
    }

    /// The transcript that is kept is that of the history.
    pub(crate) async fn check_transcript(&self, thread: &str) {
        let thread = ThreadId::from(thread);
        let page = self.store.history(&thread, None, u64::MAX).await.unwrap();
        let history: Transcript = transcript_of(&page.turns.into_iter().collect());
        assert_eq!(self.sessions.transcript(&thread).await.unwrap(), history.items());
    }
}

pub(crate) fn options() -> SessionsOptions {
    SessionsOptions::default().prices(Prices::new().model("scripted", Price { input: 2_000_000, ..Price::default() }))
}

pub(crate) async fn say<O: selvedge_observer::ThreadObserver>(runner: &StepRunner<O>, thread: &str, text: &str) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let id = InputId::from(NUMBER.fetch_add(1, Ordering::Relaxed).to_string());
    let thread = ThreadId::from(thread);
    runner.send(&thread, id, Input::text(text)).await.unwrap();
    runner.run(&thread).await.unwrap();
}

pub(crate) async fn answer<O: selvedge_observer::ThreadObserver>(
    runner: &StepRunner<O>,
    thread: &str,
    choice: &ChoiceId,
) {
    let thread = ThreadId::from(thread);
    runner.answer(&thread, choice.clone(), 1).await.unwrap();
    runner.run(&thread).await.unwrap();
}

/// Does what the user says: `look` and `ask` call the tool of that name, `fail` fails, anything else is answered.
fn model() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(text)) if &**text == "look" => {
            Reply::new().think("hm").say("let me see").and_call("look", r#"{"at":"the Zugspitze"}"#).usage(10, 2)
        }
        Some(RequestMessage::User(text)) if &**text == "ask" => Reply::call("ask", "{}").usage(10, 2),
        Some(RequestMessage::User(text)) if &**text == "fail" => {
            Reply::failing(selvedge_model::ModelError::new(selvedge_event::FailureKind::Auth, "no such key"))
        }
        Some(RequestMessage::User(text)) => Reply::text(format!("you said {text}")).usage(3, 1),
        _ => Reply::text("there it is").usage(20, 2),
    })
}

fn look() -> impl selvedge_runtime::Tool + 'static {
    tool(ToolSpec::new("look", "Looks."), |_: ToolContext| async { Ok(ToolOutput::text("a glacier, in fog")) })
}

fn ask() -> impl selvedge_runtime::Tool + 'static {
    tool(ToolSpec::new("ask", "Asks."), |call: ToolContext| async move {
        let chosen = call.choose("Really?", vec!["no".into(), "yes".into()], 0, None).await?;
        Ok(ToolOutput::text(format!("option {}", chosen.selected)))
    })
}
