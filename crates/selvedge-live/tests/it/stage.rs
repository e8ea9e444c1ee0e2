//! A thread that is played by hand: it keeps what a snapshot needs, and tells its observer what a runtime would.

use std::sync::{Arc, Mutex, MutexGuard};

use selvedge_event::{
    AgentEvent, AssistantMessage, Block, ChoiceId, Discard, History, Message, ModelRef, Outcome, PartialTurn,
    ReplaySnapshot, ThreadId, Timestamp, Transcript, TurnRecord, Usage, UserChoice, UserMessage,
};
use selvedge_live::{
    Attach, Cursor, Frame, FrameKind, Hub, Live, LiveOptions, LiveRequest, ResyncReason, Subscribe, Subscriber,
};

/// A thread, and the hub that is told of it. Clones are the same.
#[derive(Clone)]
pub(crate) struct Stage(Arc<Mutex<Inner>>);

struct Inner {
    hub: Option<Arc<Hub>>,
    now: ReplaySnapshot,
    /// The fold of everything since the thread began: what every viewer must see.
    reference: Transcript,
    inputs: u64,
}

pub(crate) fn text(text: &str) -> AgentEvent {
    AgentEvent::TextChunk { text: text.into() }
}

/// A runtime whose time is paused.
pub(crate) fn in_paused_time<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async { tokio::time::timeout(std::time::Duration::from_secs(3600), test).await.unwrap() })
}

/// Live fan-out with a ring of so many bytes, of which a subscriber may be behind.
pub(crate) fn live(ring_bytes: usize) -> Live {
    let mut options = LiveOptions::default();
    (options.ring_bytes, options.lag_bytes) = (ring_bytes, ring_bytes);
    Live::new(options)
}

impl Stage {
    pub(crate) fn new(live: &Live, thread: &str) -> Self {
        Self::of(Arc::new(live.hub()), thread, 1)
    }

    /// A thread that is created at a time.
    pub(crate) fn of(hub: Arc<Hub>, thread: &str, created_at: i64) -> Self {
        let now = ReplaySnapshot {
            thread_id: thread.into(),
            created_at: Timestamp(created_at),
            step: 0,
            committed: 0,
            history: History::default(),
            older: None,
            partial: None,
            open_calls: Vec::new(),
            choices: Vec::new(),
            oauth: Vec::new(),
            views: Vec::new(),
            usage: Usage::default(),
        };
        Self(Arc::new(Mutex::new(Inner { hub: Some(hub), now, reference: Transcript::default(), inputs: 0 })))
    }

    pub(crate) fn thread(&self) -> ThreadId {
        self.lock().now.thread_id.clone()
    }

    /// What every viewer must see now.
    pub(crate) fn reference(&self) -> Transcript {
        self.lock().reference.clone()
    }

    pub(crate) fn snapshot(&self) -> ReplaySnapshot {
        self.lock().now.clone()
    }

    /// The system is shut down.
    pub(crate) fn shut_down(&self) {
        self.lock().hub = None;
    }

    /// The hub of another process goes on with the thread.
    pub(crate) fn restart(&self, live: &Live) {
        self.lock().hub = Some(Arc::new(live.hub()));
    }

    /// Begins a step with an input, and asks the model.
    pub(crate) fn begin(&self) {
        let mut inner = self.lock();
        inner.inputs += 1;
        let (step, input_id) = (inner.now.step + 1, format!("i-{}", inner.inputs));
        let (input_id, text) = (input_id.as_str().into(), "go on".into());
        let message = Message::User(UserMessage { input_id, text }.into());
        inner.now.partial = Some(PartialTurn { step, messages: vec![message.clone()], ..PartialTurn::default() });
        let mut events = Vec::new();
        selvedge_event::replay::message(step, &message, &mut events);
        events.iter().for_each(|event| inner.tell(event));
        inner.start(1);
    }

    /// The model says something.
    pub(crate) fn say(&self, said: &str) {
        let mut inner = self.lock();
        let partial = inner.now.partial.as_mut().unwrap();
        match partial.blocks.last_mut() {
            Some(Block::Text { text, .. }) => *text = format!("{text}{said}").into(),
            _ => partial.blocks.push(Block::Text { text: said.into(), native: None }),
        }
        inner.tell(&text(said));
    }

    /// The model thinks something, from beginning to end.
    pub(crate) fn think(&self, thought: &[&str]) {
        let mut inner = self.lock();
        inner.tell(&AgentEvent::ThinkingStarted);
        thought.iter().for_each(|text| inner.tell(&AgentEvent::ThinkingChunk { text: (*text).into() }));
        inner.tell(&AgentEvent::ThinkingEnded);
        let block = Block::Reasoning { text: thought.concat().into(), native: None, complete: true };
        inner.now.partial.as_mut().unwrap().blocks.push(block);
    }

    /// The attempt fails and another begins.
    pub(crate) fn retry(&self) {
        let mut inner = self.lock();
        let partial = inner.now.partial.as_mut().unwrap();
        let (step, attempt) = (partial.step, partial.attempt.unwrap());
        partial.blocks.clear();
        partial.attempt = None;
        inner.tell(&AgentEvent::TurnDiscarded { step, attempt, scope: Discard::Attempt });
        inner.start(attempt + 1);
    }

    /// The step is void.
    pub(crate) fn discard(&self) {
        let mut inner = self.lock();
        let partial = inner.now.partial.take().unwrap();
        inner.tell(&AgentEvent::TurnDiscarded { step: partial.step, attempt: 1, scope: Discard::Step });
    }

    /// The completion ends and the step is synced.
    pub(crate) fn sync(&self) {
        let mut inner = self.lock();
        let PartialTurn { step, mut messages, attempt, blocks, .. } = inner.now.partial.clone().unwrap();
        let model = Arc::new(ModelRef { api: "a".into(), provider: "p".into(), model: "m".into() });
        let (attempt, usage) = (attempt.unwrap(), Usage { output: 3, ..Usage::default() });
        let assistant = AssistantMessage { attempt, model: model.clone(), blocks, outcome: Outcome::Stopped, usage };
        messages.push(Message::Assistant(assistant.into()));
        inner.tell(&AgentEvent::CompletionFinished { step, attempt, outcome: Outcome::Stopped, model, usage });
        inner.now.partial = None;
        inner.now.step = step;
        inner.now.usage += usage;
        inner.now.history.push(TurnRecord { step, at: Timestamp(0), messages }.into());
    }

    /// A step without events is synced.
    pub(crate) fn sync_silently(&self) {
        self.lock().now.step += 1;
    }

    /// The step is committed, with the choices that it opens.
    pub(crate) fn commit(&self, choices: &[UserChoice]) {
        let mut inner = self.lock();
        for choice in choices {
            inner.told(|hub, thread| hub.choice_required(thread, choice));
        }
        inner.told(|hub, thread| hub.committed(thread));
        inner.now.committed = inner.now.step;
        for choice in choices {
            inner.now.choices.push(choice.clone());
            inner.reference.choice_required(choice);
        }
    }

    /// A choice is moot; the step that says so is synced later.
    pub(crate) fn dismiss(&self, id: &ChoiceId) {
        let mut inner = self.lock();
        inner.told(|hub, thread| hub.choice_dismissed(thread, id.as_str()));
        inner.reference.choice_dismissed(id);
    }

    /// The step that dismissed choices is synced.
    pub(crate) fn sync_dismissal(&self) {
        let mut inner = self.lock();
        inner.now.step += 1;
        inner.now.choices.clear();
    }

    /// A whole step that says one thing.
    pub(crate) fn step(&self, said: &str) {
        self.begin();
        self.say(said);
        self.sync();
        self.commit(&[]);
    }

    /// Another process runs a step that this one's hub is not told of.
    pub(crate) fn step_elsewhere(&self, said: &str) {
        let hub = self.lock().hub.take();
        self.step(said);
        self.lock().hub = hub;
    }

    /// Tells the hub of any event, whatever the thread makes of it.
    pub(crate) fn event(&self, event: &AgentEvent) {
        self.lock().tell(event);
    }

    pub(crate) async fn subscribe(&self, live: &Live, subscribe: Subscribe) -> Subscriber {
        live.subscribe(self.attach(), self.thread(), subscribe).await.unwrap()
    }

    /// What routes requests to the thread's observer: a shut down system refuses them.
    pub(crate) fn attach(&self) -> Arc<dyn Attach> {
        let stage = self.clone();
        Arc::new(move |thread: ThreadId, request: LiveRequest| {
            let attached = stage.install(&thread, request);
            async move { attached.then_some(()).ok_or_else(|| "the system is shut down".into()) }
        })
    }

    fn install(&self, thread: &ThreadId, request: LiveRequest) -> bool {
        let inner = self.lock();
        inner.told(|hub, _| hub.subscribe(thread.as_str(), request, inner.now.clone()));
        inner.hub.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }
}

impl Inner {
    fn start(&mut self, attempt: u32) {
        let partial = self.now.partial.as_mut().unwrap();
        partial.attempt = Some(attempt);
        let step = partial.step;
        self.tell(&AgentEvent::CompletionStarted { step, attempt });
    }

    fn tell(&mut self, event: &AgentEvent) {
        self.reference.apply(event);
        self.told(|hub, thread| hub.event(thread, event));
    }

    fn told(&self, tell: impl FnOnce(&Hub, &str)) {
        if let Some(hub) = &self.hub {
            tell(hub, self.now.thread_id.as_str());
        }
    }
}

/// A subscriber and what it makes of its frames, checked as they come.
pub(crate) struct Viewer {
    pub(crate) subscriber: Subscriber,
    pub(crate) transcript: Transcript,
    /// Why it had to resync, each time.
    pub(crate) resyncs: Vec<ResyncReason>,
    pub(crate) snapshots: usize,
    last: Option<Cursor>,
}

impl Viewer {
    pub(crate) fn new(subscriber: Subscriber) -> Self {
        Self { subscriber, transcript: Transcript::default(), resyncs: Vec::new(), snapshots: 0, last: None }
    }

    /// One that goes on after a cursor with what it made of the frames before.
    pub(crate) fn resumed(subscriber: Subscriber, transcript: Transcript) -> Self {
        Self { transcript, ..Self::new(subscriber) }
    }

    /// Takes in what there is.
    pub(crate) async fn catch_up(&mut self) {
        while let Some(frame) = now(&mut self.subscriber).await {
            self.take(&frame);
        }
    }

    pub(crate) fn take(&mut self, frame: &Frame) {
        let begins = matches!(frame.kind, FrameKind::Snapshot(_) | FrameKind::Resync { .. });
        if let Some(last) = self.last.filter(|_| !begins) {
            assert!(frame.cursor > last, "{} does not come after {last}", frame.cursor);
        }
        self.last = Some(frame.cursor);
        match &frame.kind {
            FrameKind::Snapshot(snapshot) => {
                self.transcript = Transcript::from_snapshot(snapshot);
                self.snapshots += 1;
            }
            FrameKind::Event(event) => self.transcript.apply(event),
            FrameKind::ChoiceRequired(choice) => self.transcript.choice_required(choice),
            FrameKind::ChoiceDismissed(id) => self.transcript.choice_dismissed(id),
            FrameKind::Resync { reason } => self.resyncs.push(*reason),
            _ => {}
        }
    }

    /// What it shows is what there is to see.
    pub(crate) fn check(&self, reference: &Transcript, when: &str) {
        assert_eq!(self.transcript.items(), reference.items(), "{when}");
        assert_eq!(self.transcript.completion(), reference.completion(), "{when}");
        assert_eq!(self.transcript.choices(), reference.choices(), "{when}");
        assert_eq!(self.transcript.usage(), reference.usage(), "{when}");
    }
}

/// The next frame, if there is one without waiting for anything but a wake-up.
pub(crate) async fn now(subscriber: &mut Subscriber) -> Option<Arc<Frame>> {
    tokio::time::timeout(std::time::Duration::from_millis(100), subscriber.next()).await.ok().flatten()
}

/// The kinds of all frames that there are, as their names, events by theirs.
pub(crate) async fn kinds(subscriber: &mut Subscriber) -> Vec<String> {
    let mut kinds = Vec::new();
    while let Some(frame) = now(subscriber).await {
        let json: serde_json::Value = serde_json::from_str(frame.json()).unwrap();
        let name = match &frame.kind {
            FrameKind::Event(_) => json["data"]["type"].clone(),
            FrameKind::Resync { .. } => json["data"]["reason"].clone(),
            _ => json["frame"].clone(),
        };
        kinds.push(name.as_str().unwrap().to_owned());
    }
    kinds
}

pub(crate) fn choice(number: u32) -> UserChoice {
    let call_id = selvedge_event::CallId::of(1, 0);
    UserChoice {
        id: ChoiceId::of(&call_id, number),
        call_id,
        prompt: "Sure?".into(),
        options: vec!["yes".into(), "no".into()],
        default: 1,
        expires_at: None,
    }
}
