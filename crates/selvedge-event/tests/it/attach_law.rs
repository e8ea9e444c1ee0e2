//! The attach law without a runtime: generated turns are streamed by a stand-in for a thread, which gives a snapshot
//! after every event.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use selvedge_event::{
    AgentEvent, Arguments, AssistantMessage, Block, CallId, CompactionSummary, Discard, FailureKind, Item, Message,
    ModelRef, Outcome, PartialTurn, ReplaySnapshot, Step, Text, Timestamp, ToolCall, ToolResult, ToolStatus,
    Transcript, TurnRecord, Usage, UserMessage, replay,
};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn every_snapshot_and_the_events_after_it_give_the_whole(plan in proptest::collection::vec(turn(), 1..8)) {
        let mut thread = Thread::default();
        plan.iter().for_each(|turn| thread.run(turn));

        let whole = fold(Transcript::default(), &thread.events);
        let kept: Vec<AgentEvent> = thread.now.history.iter().flat_map(|turn| replay::turn(turn)).collect();
        let replayed = fold(Transcript::default(), &kept);
        prop_assert_eq!(replayed.items(), whole.items(), "the final history against all events");
        prop_assert_eq!(replayed.usage(), whole.usage());

        for (at, snapshot) in &thread.snapshots {
            let mut own = Transcript::from_snapshot(snapshot);
            let mut live = fold(Transcript::default(), &thread.events[..*at]);
            prop_assert_eq!(shown(&own), shown(&live), "the snapshot after {} events", at);
            for event in &thread.events[*at..] {
                own.apply(event);
                live.apply(event);
                prop_assert_eq!(shown(&own), shown(&live), "from the snapshot after {} events on", at);
            }
            for turns in 1..snapshot.history.len() {
                let (page, first) = paged(snapshot, turns);
                let mut own = Transcript::from_snapshot(&page);
                let mut live = fold(Transcript::default(), &thread.events[..*at]);
                prop_assert_eq!(shown(&own), shown_since(&live, first), "{} turns after {} events", turns, at);
                for event in &thread.events[*at..] {
                    own.apply(event);
                    live.apply(event);
                    prop_assert_eq!(shown(&own), shown_since(&live, first), "{} turns, from {} events on", turns, at);
                }
            }
        }
    }
}

fn fold(transcript: Transcript, events: &[AgentEvent]) -> Transcript {
    events.iter().fold(transcript, |mut transcript, event| {
        transcript.apply(event);
        transcript
    })
}

/// Everything that a viewer sees.
type Shown = (Vec<Item>, Option<(Step, u32)>, Usage);

fn shown(transcript: &Transcript) -> Shown {
    shown_since(transcript, 0)
}

/// Everything that a viewer sees whose page begins with a step.
fn shown_since(transcript: &Transcript, first: Step) -> Shown {
    let items = transcript.items().iter().filter(|item| item.id.step >= first).cloned();
    (items.collect(), transcript.completion(), transcript.usage())
}

/// A snapshot with only the newest turns of its history, and the first step of these.
fn paged(snapshot: &ReplaySnapshot, turns: usize) -> (ReplaySnapshot, Step) {
    let newest: Vec<_> = snapshot.history.iter_newest_first().take(turns).cloned().collect();
    let first = newest.last().map_or(0, |turn| turn.step);
    let history = newest.into_iter().rev().collect();
    (ReplaySnapshot { history, older: Some(first), ..snapshot.clone() }, first)
}

/// What a step is to do.
#[derive(Debug, Clone)]
struct Turn {
    /// It is streamed this far, in events, and then discarded as a whole, once for each entry.
    discarded_after: Vec<usize>,
    inputs: Vec<Input>,
    /// Attempts that fail after these blocks.
    failed: Vec<Vec<Spoken>>,
    /// `None` if the model is not asked.
    answer: Option<(Vec<Spoken>, Outcome)>,
    /// Whether the calls of the answer are not dispatched but answered in the turn itself.
    rejects: bool,
    /// Whether it is emitted again after its sync, as after a failed commit.
    resumed: bool,
}

#[derive(Debug, Clone)]
enum Input {
    User(&'static str),
    /// Results of as many calls as are open, at most.
    Results(usize),
    News,
    Compaction,
}

/// A block, in the chunks in which it is streamed.
#[derive(Debug, Clone)]
enum Spoken {
    Text(Vec<&'static str>),
    Reasoning(Vec<&'static str>),
    Call,
}

fn turn() -> impl Strategy<Value = Turn> {
    let outcome = prop_oneof![
        6 => Just(Outcome::Stopped),
        1 => Just(Outcome::Length),
        1 => Just(Outcome::Interrupted),
        1 => Just(Outcome::Failed { failure: FailureKind::Server, message: "down".into() }),
    ];
    let input = prop_oneof![
        3 => select(vec!["hi", "and now?"]).prop_map(Input::User),
        3 => (1usize..4).prop_map(Input::Results),
        1 => Just(Input::News),
        1 => Just(Input::Compaction),
    ];
    let answer = proptest::option::weighted(0.8, (blocks(), outcome));
    (
        proptest::collection::vec(0usize..12, 0..2),
        proptest::collection::vec(input, 0..3),
        proptest::collection::vec(blocks(), 0..2),
        answer,
        any::<bool>(),
        proptest::bool::weighted(0.2),
    )
        .prop_map(|(discarded_after, inputs, failed, answer, rejects, resumed)| {
            let failed = if answer.is_some() { failed } else { Vec::new() };
            Turn { discarded_after, inputs, failed, answer, rejects, resumed }
        })
}

/// Blocks as a thread keeps them: no two texts in a row, no text without a chunk.
fn blocks() -> impl Strategy<Value = Vec<Spoken>> {
    let chunks = |least| proptest::collection::vec(select(vec!["a", "bé", " c "]), least..4);
    let block = prop_oneof![
        2 => chunks(1).prop_map(Spoken::Text),
        1 => chunks(0).prop_map(Spoken::Reasoning),
        1 => Just(Spoken::Call),
    ];
    proptest::collection::vec(block, 0..5).prop_map(|mut blocks| {
        blocks.dedup_by(|next, block| matches!((next, block), (Spoken::Text(_), Spoken::Text(_))));
        blocks
    })
}

/// Streams turns as the runtime does, and notes what a subscriber would be given at every moment.
struct Thread {
    now: ReplaySnapshot,
    open: Vec<CallId>,
    events: Vec<AgentEvent>,
    /// Each with the number of events before it.
    snapshots: Vec<(usize, ReplaySnapshot)>,
}

impl Default for Thread {
    fn default() -> Self {
        let now = ReplaySnapshot {
            thread_id: "t".into(),
            created_at: Timestamp(0),
            step: 0,
            committed: 0,
            history: [].into_iter().collect(),
            older: None,
            partial: None,
            open_calls: Vec::new(),
            choices: Vec::new(),
            oauth: Vec::new(),
            views: Vec::new(),
            usage: Usage::default(),
        };
        Self { snapshots: vec![(0, now.clone())], now, open: Vec::new(), events: Vec::new() }
    }
}

impl Thread {
    fn run(&mut self, turn: &Turn) {
        let step = self.now.history.last().map_or(1, |turn| turn.step + 1);
        for after in &turn.discarded_after {
            self.rehearse(step, turn, *after);
        }
        self.stream(step, turn);
        let messages = self.now.partial.take().map(|partial| partial.messages).unwrap_or_default();
        if messages.is_empty() {
            return;
        }
        let record = TurnRecord { step, at: Timestamp(0), messages };
        self.now.step = step;
        for message in &record.messages {
            if let Message::Assistant(assistant) = message {
                self.now.usage += assistant.usage;
            }
        }
        self.now.history.push(record.clone().into());
        self.note();
        if turn.resumed {
            // These come in one go: nobody attaches in between.
            self.events.push(AgentEvent::TurnDiscarded { step, attempt: 0, scope: Discard::Step });
            self.events.extend(replay::turn(&record));
            self.note();
        }
    }

    /// Streams a turn as far as `after` events, and discards it.
    fn rehearse(&mut self, step: Step, turn: &Turn, after: usize) {
        let (open, base) = (self.open.clone(), self.events.len());
        let mut rehearsal = Self { now: self.now.clone(), open, events: Vec::new(), snapshots: Vec::new() };
        rehearsal.stream(step, turn);
        rehearsal.events.truncate(after);
        rehearsal.snapshots.retain(|(at, _)| *at <= after);
        self.events.extend(rehearsal.events);
        self.snapshots.extend(rehearsal.snapshots.into_iter().map(|(at, snapshot)| (base + at, snapshot)));
        self.emit(AgentEvent::TurnDiscarded { step, attempt: 0, scope: Discard::Step });
    }

    fn stream(&mut self, step: Step, turn: &Turn) {
        self.now.partial = Some(PartialTurn { step, ..PartialTurn::default() });
        for input in &turn.inputs {
            self.input(step, input);
        }
        let Some((blocks, outcome)) = turn.answer.as_ref().filter(|_| self.open.is_empty()) else { return };
        let mut attempt = 1;
        for blocks in &turn.failed {
            self.attempt(step, attempt, blocks);
            self.partial().attempt = None;
            self.partial().blocks.clear();
            self.emit(AgentEvent::TurnDiscarded { step, attempt, scope: Discard::Attempt });
            attempt += 1;
        }
        let blocks = self.attempt(step, attempt, blocks);
        let usage = Usage { input: step, output: u64::from(attempt), ..Usage::default() };
        let model = Arc::new(ModelRef { api: "a".into(), provider: "p".into(), model: "m".into() });
        let message = AssistantMessage { attempt, model: model.clone(), blocks, outcome: outcome.clone(), usage };
        let calls: Vec<CallId> = message.calls().map(|call| call.id.clone()).collect();
        let partial = self.partial();
        (partial.attempt, partial.blocks) = (None, Vec::new());
        partial.messages.push(Message::Assistant(message.into()));
        self.emit(AgentEvent::CompletionFinished { step, attempt, outcome: outcome.clone(), model, usage });
        for call in calls {
            if turn.rejects {
                let result = ToolResult::text(call, ToolStatus::Error, "no such tool");
                self.message(step, Message::ToolResult(result.into()));
            } else {
                self.open.push(call);
            }
        }
    }

    fn input(&mut self, step: Step, input: &Input) {
        match input {
            Input::User(text) => {
                let user = UserMessage { input_id: format!("{}", self.events.len()).into(), text: (*text).into() };
                self.message(step, Message::User(user.into()));
            }
            Input::Results(count) => {
                // The newest first: results come in any order.
                for _ in 0..*count {
                    let Some(call) = self.open.pop() else { return };
                    self.message(step, Message::ToolResult(ToolResult::text(call, ToolStatus::Ok, "42").into()));
                }
            }
            Input::News => {
                let news = selvedge_event::SubscriptionMessage {
                    input_id: "news".into(),
                    event_id: format!("event_{step}_0").into(),
                    call_id: CallId::of(1, 0),
                    tool: "watch".into(),
                    arguments: Arguments::Object("{}".into()),
                    text: "it rains".into(),
                    last: false,
                };
                self.message(step, Message::SubscriptionEvent(news.into()));
            }
            Input::Compaction => {
                self.message(step, Message::Compaction(CompactionSummary { summary: "so far".into() }.into()));
            }
        }
    }

    fn message(&mut self, step: Step, message: Message) {
        let mut events = Vec::new();
        replay::message(step, &message, &mut events);
        self.partial().messages.push(message);
        events.into_iter().for_each(|event| self.emit(event));
    }

    /// Streams blocks, chunk by chunk, and gives back what is kept of them.
    fn attempt(&mut self, step: Step, attempt: u32, blocks: &[Spoken]) -> Vec<Block> {
        self.partial().attempt = Some(attempt);
        self.emit(AgentEvent::CompletionStarted { step, attempt });
        let mut calls = 0;
        for block in blocks {
            match block {
                Spoken::Text(chunks) => self.text(chunks),
                Spoken::Reasoning(chunks) => self.reasoning(chunks),
                Spoken::Call => {
                    let call = ToolCall {
                        id: CallId::of(step, calls),
                        provider_id: None,
                        name: "look".into(),
                        arguments: Arguments::Object("{}".into()),
                        display_as: None,
                        native: None,
                    };
                    calls += 1;
                    let event = replay::tool_call(&call);
                    self.partial().blocks.push(Block::ToolCall(call.into()));
                    self.emit(event);
                }
            }
        }
        self.partial().blocks.clone()
    }

    fn text(&mut self, chunks: &[&str]) {
        for count in 1..=chunks.len() {
            let partial = self.partial();
            if count > 1 {
                partial.blocks.pop();
            }
            partial.blocks.push(Block::Text { text: chunks[..count].concat().into(), native: None });
            self.emit(AgentEvent::TextChunk { text: chunks[count - 1].into() });
        }
    }

    fn reasoning(&mut self, chunks: &[&str]) {
        let so_far = |text: String, complete| Block::Reasoning { text: text.into(), native: None, complete };
        let partial = self.partial();
        partial.blocks.push(so_far(String::new(), false));
        partial.thinking = true;
        self.emit(AgentEvent::ThinkingStarted);
        for count in 1..=chunks.len() {
            let partial = self.partial();
            partial.blocks.pop();
            partial.blocks.push(so_far(chunks[..count].concat(), false));
            self.emit(AgentEvent::ThinkingChunk { text: Text::from(chunks[count - 1]) });
        }
        let partial = self.partial();
        partial.blocks.pop();
        partial.blocks.push(so_far(chunks.concat(), true));
        partial.thinking = false;
        self.emit(AgentEvent::ThinkingEnded);
    }

    fn partial(&mut self) -> &mut PartialTurn {
        self.now.partial.as_mut().expect("a step runs")
    }

    fn emit(&mut self, event: AgentEvent) {
        self.events.push(event);
        self.note();
    }

    fn note(&mut self) {
        self.snapshots.push((self.events.len(), self.now.clone()));
    }
}

/// A step that cannot be synced is discarded; the load that follows finds the one before it uncommitted and shows it
/// again: what both had used is counted once.
#[test]
fn two_steps_are_discarded_one_after_the_other() {
    let model = Arc::new(ModelRef { api: "a".into(), provider: "p".into(), model: "m".into() });
    let finished = |step| {
        let usage = Usage { input: 10 * step, ..Usage::default() };
        AgentEvent::CompletionFinished { step, attempt: 1, outcome: Outcome::Stopped, model: model.clone(), usage }
    };
    let discarded = |step| AgentEvent::TurnDiscarded { step, attempt: 0, scope: Discard::Step };
    let events = [finished(1), finished(2), discarded(2), discarded(1), finished(1), finished(2), discarded(2)];
    let mut transcript = Transcript::default();
    let used = events.map(|event| {
        transcript.apply(&event);
        transcript.usage().input
    });
    assert_eq!(used, [10, 30, 10, 0, 10, 30, 10]);
}
