//! [`Watcher`]: the observer that checks what every subscriber sees (oracle F), and fails on demand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use selvedge_event::{AgentEvent, History, Item, ReplaySnapshot, ThreadId, Transcript, TurnRecord, UserChoice};
use selvedge_model::Gate;
use selvedge_observer::{BoxError, ThreadObserver};

use crate::{Chance, Moment};

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
    commit_gate: Option<Gate>,
    held_commits: Vec<HeldCommit>,
    choice_gate: Option<Gate>,
    failing_commits: u32,
    failing_dismissals: u32,
    panics: Vec<Panic>,
    chance: Option<Chance>,
    /// The one thread that faults strike; `None` for any.
    struck: Option<ThreadId>,
}

/// One commit that is to be held.
#[derive(Debug)]
struct HeldCommit {
    /// How many commits come before it, and it itself.
    left: u32,
    moment: Moment,
    gate: Gate,
}

#[derive(Debug, Default)]
struct Feed {
    /// What there was before the first event.
    base: Transcript,
    events: Vec<AgentEvent>,
    subscribers: Vec<(usize, ReplaySnapshot)>,
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
        self.lock().held_commits.push(HeldCommit { left: n, moment, gate: gate.clone() });
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
        self.lock().feeds.get(thread).map(|feed| feed.events.clone()).unwrap_or_default()
    }

    /// What the feed of a thread folds to.
    pub fn transcript(&self, thread: &str) -> Transcript {
        self.lock().feeds.get(thread).map(|feed| feed.fold(feed.events.len())).unwrap_or_default()
    }

    /// How many subscribers a thread has had since the last restart.
    pub fn subscribers(&self, thread: &str) -> usize {
        self.lock().feeds.get(thread).map_or(0, |feed| feed.subscribers.len())
    }

    /// The snapshot that the newest subscriber of a thread was given.
    pub fn newest_snapshot(&self, thread: &str) -> Option<ReplaySnapshot> {
        self.lock().feeds.get(thread).and_then(|feed| feed.subscribers.last()).map(|(_, snapshot)| snapshot.clone())
    }

    /// The process died and another goes on with the store: viewers begin again from what is durable.
    pub fn restarted(&self, thread: &ThreadId, durable: &ReplaySnapshot) {
        let base = Transcript::from_snapshot(durable);
        self.lock().feeds.insert(thread.clone(), Feed { base, ..Feed::default() });
    }

    /// Oracle F for a thread that has come to rest: every subscriber, from its snapshot on, sees what the whole feed
    /// folds to, at every event; and that is what the history folds to.
    ///
    /// # Panics
    /// When somebody sees anything else.
    pub fn check(&self, thread: &str, history: &History) {
        let inner = self.lock();
        let Some(feed) = inner.feeds.get(thread) else {
            assert!(history.is_empty(), "oracle F: {thread} has a history that nobody was shown");
            return;
        };
        for (number, (at, snapshot)) in feed.subscribers.iter().enumerate() {
            let mut reference = feed.fold(*at);
            let mut own = Transcript::from_snapshot(snapshot);
            same(thread, &format!("subscriber {number} at event {at}"), &own, &reference);
            for (place, event) in feed.events.iter().enumerate().skip(*at) {
                own.apply(event);
                reference.apply(event);
                same(thread, &format!("subscriber {number} of event {at}, after event {place}"), &own, &reference);
            }
        }
        let whole = feed.fold(feed.events.len());
        same_items(thread, "the feed against the history", whole.items(), transcript_of(history).items());
        assert_eq!(whole.completion(), None, "oracle F: {thread} ends with a completion that runs");
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

    /// A commit begins: the gates at which it is held, before and after the watcher has done its part.
    fn gates_of_commit(&mut self) -> (Vec<Gate>, Vec<Gate>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for held in &mut self.held_commits {
            held.left -= 1;
            if held.left == 0 {
                let gates = if held.moment == Moment::Before { &mut before } else { &mut after };
                gates.push(held.gate.clone());
            }
        }
        self.held_commits.retain(|held| held.left > 0);
        (before, after)
    }
}

impl Feed {
    /// The transcript after the first `count` events.
    fn fold(&self, count: usize) -> Transcript {
        let mut transcript = self.base.clone();
        self.events[..count].iter().for_each(|event| transcript.apply(event));
        transcript
    }
}

/// The transcript of a whole history.
pub fn transcript_of(history: &History) -> Transcript {
    let mut transcript = Transcript::default();
    let events = history.iter().flat_map(|turn: &Arc<TurnRecord>| selvedge_event::replay::turn(turn));
    events.for_each(|event| transcript.apply(&event));
    transcript
}

fn same(thread: &str, what: &str, own: &Transcript, reference: &Transcript) {
    same_items(thread, what, own.items(), reference.items());
    assert_eq!(own.completion(), reference.completion(), "oracle F: {thread}, {what}: the completion differs");
    assert_eq!(own.usage(), reference.usage(), "oracle F: {thread}, {what}: the usage differs");
    assert_eq!(own.oauth(), reference.oauth(), "oracle F: {thread}, {what}: the sign-ins differ");
    assert_eq!(own.views(), reference.views(), "oracle F: {thread}, {what}: the views differ");
}

fn same_items(thread: &str, what: &str, own: &[Item], reference: &[Item]) {
    let place = own.iter().zip(reference).position(|(own, reference)| own != reference);
    let place = place.unwrap_or(own.len().min(reference.len()));
    assert!(
        own == reference,
        "oracle F: {thread}, {what}: item {place} differs\n own: {:#?}\n reference: {:#?}",
        own.get(place),
        reference.get(place)
    );
}

#[async_trait(?Send)]
impl ThreadObserver for Watcher {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        let mut inner = self.lock();
        inner.log.push(Seen::Event(event.clone()));
        inner.feeds.entry(thread_id.into()).or_default().events.push(event.clone());
        drop(inner);
        self.maybe_panic(thread_id, |panic| matches!(panic, Panic::AtEvent(name) if name == name_of(event)));
    }

    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        self.pause().await;
        let gate = {
            let inner = self.lock();
            inner.choice_gate.clone().filter(|_| inner.strikes(thread_id))
        };
        if let Some(gate) = gate {
            gate.pass().await;
        }
        self.lock().log.push(Seen::Required(choice.clone()));
        Ok(())
    }

    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        self.pause().await;
        let mut inner = self.lock();
        if inner.failing_dismissals > 0 && inner.strikes(thread_id) {
            inner.failing_dismissals -= 1;
            return Err("the watcher was told to fail".into());
        }
        inner.log.push(Seen::Dismissed(choice_id.into()));
        Ok(())
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        let (gates, held_after) = {
            let mut inner = self.lock();
            inner.log.push(Seen::Committing);
            let strikes = inner.strikes(thread_id);
            let (before, after) = if strikes { inner.gates_of_commit() } else { Default::default() };
            (inner.commit_gate.clone().filter(|_| strikes).into_iter().chain(before), after)
        };
        self.pause().await;
        for gate in gates {
            gate.pass().await;
        }
        self.maybe_panic(thread_id, |panic| panic == Panic::InCommit);
        {
            let mut inner = self.lock();
            if inner.failing_commits > 0 && inner.strikes(thread_id) {
                inner.failing_commits -= 1;
                return Err("the watcher was told to fail".into());
            }
            inner.log.push(Seen::Committed);
        }
        self.pause().await;
        for gate in held_after {
            gate.pass().await;
        }
        Ok(())
    }

    fn on_subscribe(&self, thread_id: &str, (): (), snapshot: ReplaySnapshot) {
        self.maybe_panic(thread_id, |panic| panic == Panic::AtSubscribe);
        let mut inner = self.lock();
        inner.log.push(Seen::Subscribed);
        // A thread whose first event this watcher has not seen begins with what the first snapshot says.
        let feed = inner
            .feeds
            .entry(thread_id.into())
            .or_insert_with(|| Feed { base: Transcript::from_snapshot(&snapshot), ..Feed::default() });
        let at = feed.events.len();
        feed.subscribers.push((at, snapshot));
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
