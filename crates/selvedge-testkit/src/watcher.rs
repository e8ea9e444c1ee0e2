//! [`Watcher`]: the observer that checks what every subscriber sees (oracle F), and fails on demand.

mod feed;
mod hooks;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use selvedge_event::{AgentEvent, History, ReplaySnapshot, ThreadId, Transcript, UserChoice};
use selvedge_model::Gate;
use selvedge_observer::{BoxError, ThreadObserver};

pub use self::feed::transcript_of;
use self::feed::{Feed, Kept};
use self::hooks::{Hook, Hooks, Strike};
use crate::{Chance, Fault, Moment};

/// Watches threads, and keeps everything: the feed, the hooks, and what each subscriber was given when.
///
/// [`check`](Self::check) holds every subscriber's snapshot, folded with the events after it, against the fold of the
/// whole feed, and that against the history. Clones share what they keep, so one watcher serves all shards.
#[derive(Debug, Clone, Default)]
pub struct Watcher(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    feeds: HashMap<ThreadId, Feed>,
    log: Vec<Seen>,
    /// What an embedder would have kept of each thread: as of its last commit, whatever died since.
    kept: HashMap<ThreadId, Kept>,
    commit_gate: Option<Gate>,
    choice_gate: Option<Gate>,
    hooks: Hooks,
    failing_commits: u32,
    failing_dismissals: u32,
    panics: Vec<Panic>,
    chance: Option<Chance>,
    /// The one thread that faults strike; `None` for any.
    struck: Option<ThreadId>,
}

/// Something that the watcher was told, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// An event.
    Event(AgentEvent),
    /// A commit was begun.
    Committing,
    /// A commit returned Ok.
    Committed,
    /// A choice was required.
    Required(UserChoice),
    /// A choice was dismissed.
    Dismissed(String),
    /// A subscriber was installed.
    Subscribed,
    /// A note of a test's own, such as a tool that was reached.
    Note(String),
}

/// Where a watcher is to panic, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panic {
    /// At the next event whose serde name (`text_chunk`, …) this is.
    AtEvent(&'static str),
    /// In the next commit.
    InCommit,
    /// At the next subscriber.
    AtSubscribe,
}

impl Watcher {
    /// A watcher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Holds every commit from now on at a gate.
    pub fn hold_commits(&self, gate: &Gate) {
        self.lock().commit_gate = Some(gate.clone());
    }

    /// Holds every choice that is required from now on at a gate.
    pub fn hold_choices(&self, gate: &Gate) {
        self.lock().choice_gate = Some(gate.clone());
    }

    /// Holds the `n`th commit from now, from 1, at a gate: before the watcher has done its part, or when it has and the
    /// runtime does not know yet.
    pub fn hold_commit(&self, n: u32, moment: Moment, gate: &Gate) {
        self.lock().hooks.add(Some(Hook::Commit), n, Fault::die(moment), gate);
    }

    /// Lets the `n`th hook from now, from 1, of whatever kind, go wrong: it errs before or after the watcher has done its
    /// part, or is held there at a gate, for its process to die.
    pub fn strike_hook(&self, n: u32, fault: Fault, gate: &Gate) {
        self.lock().hooks.add(None, n, fault, gate);
    }

    /// How many hooks were begun so far, of all kinds.
    pub fn hooks(&self) -> u32 {
        self.lock().hooks.begun()
    }

    /// Lets the next commits err.
    pub fn fail_commits(&self, count: u32) {
        self.lock().failing_commits = count;
    }

    /// Lets the next dismissals of choices err.
    pub fn fail_dismissals(&self, count: u32) {
        self.lock().failing_dismissals = count;
    }

    /// Lets every hook pause by chance before and after it has done its part.
    pub fn shuffle(&self, chance: &Chance) {
        self.lock().chance = Some(chance.clone());
    }

    /// Lets gates, errors and panics strike only one thread.
    pub fn strike_only(&self, thread: impl Into<ThreadId>) {
        self.lock().struck = Some(thread.into());
    }

    /// Panics once.
    pub fn panic_once(&self, panic: Panic) {
        self.lock().panics.push(panic);
    }

    /// Adds a note to the log.
    pub fn note(&self, text: impl Into<String>) {
        self.lock().log.push(Seen::Note(text.into()));
    }

    /// Everything seen so far, of all threads, in order.
    pub fn log(&self) -> Vec<Seen> {
        self.lock().log.clone()
    }

    /// The events of a thread since the last restart.
    pub fn events(&self, thread: &str) -> Vec<AgentEvent> {
        self.lock().feeds.get(thread).map(|feed| feed.events().to_vec()).unwrap_or_default()
    }

    /// What the feed of a thread folds to.
    pub fn transcript(&self, thread: &str) -> Transcript {
        self.lock().feeds.get(thread).map(|feed| feed.whole()).unwrap_or_default()
    }

    /// How many subscribers a thread has had since the last restart.
    pub fn subscribers(&self, thread: &str) -> usize {
        self.lock().feeds.get(thread).map_or(0, |feed| feed.subscribers().len())
    }

    /// The snapshot that the newest subscriber of a thread was given.
    pub fn newest_snapshot(&self, thread: &str) -> Option<ReplaySnapshot> {
        self.lock().feeds.get(thread).and_then(|feed| feed.subscribers().last()).map(|(_, snapshot)| snapshot.clone())
    }

    /// What an embedder that keeps its own state has of a thread: the fold of all events, as of the last commit. It
    /// survives a restart, and what came after the commit does not.
    pub fn kept(&self, thread: &str) -> Transcript {
        self.lock().kept.get(thread).map(|kept| kept.committed.clone()).unwrap_or_default()
    }

    /// The process died and another goes on with the store: viewers begin again from what is durable, the embedder's own
    /// state from its last commit.
    pub fn restarted(&self, thread: &ThreadId, durable: &ReplaySnapshot) {
        let mut inner = self.lock();
        inner.feeds.insert(thread.clone(), Feed::from_snapshot(durable));
        if let Some(kept) = inner.kept.get_mut(thread) {
            kept.working = kept.committed.clone();
        }
    }

    /// Oracle F for a thread that has come to rest: every subscriber, from its snapshot on, sees what the whole feed
    /// folds to, at every event; and that is what the history folds to. Where a snapshot held only the latest page, that
    /// goes for the page's steps and those after it, and for everything that is not an item.
    ///
    /// # Panics
    /// When somebody sees anything else.
    pub fn check(&self, thread: &str, history: &History) {
        if let Err(difference) = self.verify(thread, history) {
            panic!("oracle F: {difference}");
        }
    }

    /// As [`check`](Self::check).
    ///
    /// # Errors
    /// What somebody sees who does not see what others do.
    pub fn verify(&self, thread: &str, history: &History) -> Result<(), String> {
        match self.lock().feeds.get(thread) {
            Some(feed) => feed.verify(history).map_err(|difference| format!("{thread}: {difference}")),
            None if history.is_empty() => Ok(()),
            None => Err(format!("{thread} has a history that nobody was shown")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pause(&self) {
        let chance = self.lock().chance.clone();
        if let Some(chance) = chance {
            chance.pause().await;
        }
    }

    /// Panics if that was asked for here.
    fn maybe_panic(&self, thread: &str, here: impl Fn(Panic) -> bool) {
        let mut inner = self.lock();
        if inner.strikes(thread)
            && let Some(place) = inner.panics.iter().position(|panic| here(*panic))
        {
            inner.panics.remove(place);
            drop(inner);
            panic!("the watcher was told to panic");
        }
    }
}

impl Inner {
    fn strikes(&self, thread: &str) -> bool {
        self.struck.as_ref().is_none_or(|struck| struck.as_str() == thread)
    }

    /// A hook begins.
    fn begin(&mut self, hook: Hook, thread: &str) -> Strike {
        if self.strikes(thread) { self.hooks.begin(hook) } else { Strike::default() }
    }

    /// Takes an event into what an embedder keeps.
    fn keep(&mut self, thread: &str, event: &AgentEvent) {
        let base = || self.feeds.get(thread).map(|feed| feed.base().clone()).unwrap_or_default();
        if !self.kept.contains_key(thread) {
            self.kept.insert(thread.into(), Kept::from_base(base()));
        }
        if let Some(kept) = self.kept.get_mut(thread) {
            kept.working.apply(event);
        }
    }

    /// The embedder commits: what it has of the thread becomes what it keeps.
    fn commit(&mut self, thread: &str) {
        self.log.push(Seen::Committed);
        if let Some(kept) = self.kept.get_mut(thread) {
            kept.committed = kept.working.clone();
        }
    }
}

#[async_trait(?Send)]
impl ThreadObserver for Watcher {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        let mut inner = self.lock();
        inner.log.push(Seen::Event(event.clone()));
        inner.keep(thread_id, event);
        inner.feeds.entry(thread_id.into()).or_default().push(event.clone());
        drop(inner);
        self.maybe_panic(thread_id, |panic| matches!(panic, Panic::AtEvent(name) if name == name_of(event)));
    }

    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        self.pause().await;
        let (gate, strike) = {
            let mut inner = self.lock();
            let gate = inner.choice_gate.clone().filter(|_| inner.strikes(thread_id));
            (gate, inner.begin(Hook::Required, thread_id))
        };
        strike.before().await?;
        if let Some(gate) = gate {
            gate.pass().await;
        }
        self.lock().log.push(Seen::Required(choice.clone()));
        strike.after().await
    }

    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        self.pause().await;
        let strike = self.lock().begin(Hook::Dismissed, thread_id);
        strike.before().await?;
        {
            let mut inner = self.lock();
            if inner.failing_dismissals > 0 && inner.strikes(thread_id) {
                inner.failing_dismissals -= 1;
                return Err("the watcher was told to fail".into());
            }
            inner.log.push(Seen::Dismissed(choice_id.into()));
        }
        strike.after().await
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        let (gate, strike) = {
            let mut inner = self.lock();
            inner.log.push(Seen::Committing);
            let gate = inner.commit_gate.clone().filter(|_| inner.strikes(thread_id));
            (gate, inner.begin(Hook::Commit, thread_id))
        };
        self.pause().await;
        if let Some(gate) = gate {
            gate.pass().await;
        }
        strike.before().await?;
        self.maybe_panic(thread_id, |panic| panic == Panic::InCommit);
        {
            let mut inner = self.lock();
            if inner.failing_commits > 0 && inner.strikes(thread_id) {
                inner.failing_commits -= 1;
                return Err("the watcher was told to fail".into());
            }
            inner.commit(thread_id);
        }
        self.pause().await;
        strike.after().await
    }

    fn on_subscribe(&self, thread_id: &str, (): (), snapshot: ReplaySnapshot) {
        self.maybe_panic(thread_id, |panic| panic == Panic::AtSubscribe);
        let mut inner = self.lock();
        inner.log.push(Seen::Subscribed);
        // A thread whose first event this watcher has not seen begins with what the first snapshot says.
        let first = || Feed::from_snapshot(&snapshot);
        inner.feeds.entry(thread_id.into()).or_insert_with(first).attach(snapshot);
    }
}

/// The event's kind, as in its serde form.
fn name_of(event: &AgentEvent) -> &'static str {
    match event {
        AgentEvent::UserInput { .. } => "user_input",
        AgentEvent::CompletionStarted { .. } => "completion_started",
        AgentEvent::TextChunk { .. } => "text_chunk",
        AgentEvent::ThinkingStarted => "thinking_started",
        AgentEvent::ThinkingChunk { .. } => "thinking_chunk",
        AgentEvent::ThinkingEnded => "thinking_ended",
        AgentEvent::ToolCall { .. } => "tool_call",
        AgentEvent::ToolResult { .. } => "tool_result",
        AgentEvent::SubscriptionEvent { .. } => "subscription_event",
        AgentEvent::CompletionFinished { .. } => "completion_finished",
        AgentEvent::Info { .. } => "info",
        AgentEvent::TurnDiscarded { .. } => "turn_discarded",
        AgentEvent::ViewUpdated(_) => "view_updated",
        _ => "other",
    }
}
