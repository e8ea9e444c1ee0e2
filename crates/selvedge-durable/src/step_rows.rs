//! What one step leaves in the database: the one pure function from a step's events to rows.
//!
//! The observer feeds it the events as they come, a rebuild the events of the history, a check both: so what is
//! committed live and what is derived later cannot differ.

use std::borrow::Cow;
use std::sync::Arc;

use selvedge_event::{
    AgentEvent, CallId, Discard, Item, ItemKind, ModelRef, Outcome, Step, ToolResult, Transcript, TurnRecord, Usage,
    replay,
};

use crate::{Cost, Prices};

/// How much of a call's arguments, or of its result, search can find: the beginning, in bytes.
const FOUND_BYTES: usize = 16 * 1024;

/// The rows of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepRows {
    pub(crate) step: Step,
    pub(crate) entries: Vec<Entry>,
    pub(crate) completion: Option<Completion>,
}

/// A row of what a viewer shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its place among the items of the step; `None` for the result of a call.
    pub(crate) place: Option<u32>,
    pub(crate) kind: Cow<'static, str>,
    pub(crate) call_id: Option<CallId>,
    /// What search finds.
    pub(crate) text: String,
    /// JSON, of an [`ItemKind`] or of a [`ToolResult`].
    pub(crate) body: String,
}

/// A completion that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) model: Arc<ModelRef>,
    pub(crate) outcome: Outcome,
    pub(crate) usage: Usage,
}

/// What a step adds to the sums of its thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// `None` where the model was not asked.
    pub(crate) model: Option<String>,
    /// The completion's [`Outcome`] as JSON.
    pub(crate) outcome: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    /// How many more calls are open after the step than before it.
    pub(crate) open_calls: i64,
}

/// The kind of an entry that is the result of a call.
pub(crate) const RESULT: &str = "tool_result";

impl StepRows {
    /// The rows of a step that has shown nothing that is kept.
    pub(crate) fn empty(step: Step) -> Self {
        Self { step, entries: Vec::new(), completion: None }
    }

    /// The rows of a turn of the history.
    pub(crate) fn of_turn(turn: &TurnRecord) -> Self {
        let mut fold = StepFold::default();
        replay::turn(turn).iter().for_each(|event| fold.apply(event));
        fold.finish().unwrap_or_else(|| Self::empty(turn.step))
    }

    /// What the step adds to the sums. `inherited` is the step up to which the history is that of a fork's parent, which
    /// has paid for it.
    pub(crate) fn line(&self, inherited: Step, prices: &Prices) -> Line {
        let count = |kind: &str| self.entries.iter().filter(|entry| entry.kind == kind).count() as i64;
        let open_calls = count("tool_call") - count(RESULT);
        let Some(Completion { model, outcome, usage }) = &self.completion else {
            return Line { open_calls, ..Line::default() };
        };
        let usage = if self.step > inherited { *usage } else { Usage::default() };
        let cost = match prices.price_of(model) {
            Some(price) => Cost { millionths: price.of(&usage).min(1 << 50), unpriced: 0 },
            None => Cost { millionths: 0, unpriced: u64::from(usage != Usage::default()) },
        };
        Line { model: Some(model.model.to_string()), outcome: Some(json(outcome)), usage, cost, open_calls }
    }

    /// The calls to which the step brought the result.
    pub(crate) fn settled(&self) -> impl Iterator<Item = &CallId> {
        self.entries.iter().filter(|entry| entry.kind == RESULT).filter_map(|entry| entry.call_id.as_ref())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.completion.is_none()
    }
}

/// A step that runs, as far as it has been shown. What is kept of a thread in memory, and only while it runs.
#[derive(Debug, Default)]
pub(crate) struct StepFold {
    step: Option<Step>,
    /// Items of this step alone.
    transcript: Transcript,
    /// Results, most of which complete calls of earlier steps.
    results: Vec<Arc<ToolResult>>,
    completion: Option<Completion>,
}

impl StepFold {
    /// Whether an event changes anything that is kept.
    pub(crate) fn concerns(event: &AgentEvent) -> bool {
        !matches!(event, AgentEvent::Info { .. } | AgentEvent::OAuthRequired { .. } | AgentEvent::ViewUpdated(_))
    }

    /// Whether an event makes everything shown of its step void.
    pub(crate) fn is_voided_by(event: &AgentEvent) -> bool {
        matches!(event, AgentEvent::TurnDiscarded { scope: Discard::Step, .. })
    }

    /// Folds in the next event.
    pub(crate) fn apply(&mut self, event: &AgentEvent) {
        if Self::is_voided_by(event) {
            *self = Self::default();
            return;
        }
        if let Some(step) = event.step()
            && self.step != Some(step)
        {
            // The step before it was another process's, which commits it; here it was only shown.
            *self = Self { step: Some(step), ..Self::default() };
        }
        match event {
            AgentEvent::ToolResult { result, .. } => self.results.push(result.clone()),
            AgentEvent::CompletionFinished { outcome, model, usage, .. } => {
                let (outcome, model) = (outcome.clone(), model.clone());
                self.completion = Some(Completion { model, outcome, usage: believable(*usage) });
            }
            _ => {}
        }
        self.transcript.apply(event);
    }

    /// The rows of the step; `None` if no event has named it.
    pub(crate) fn finish(self) -> Option<StepRows> {
        let items = self.transcript.items().iter().map(item);
        let results = self.results.iter().map(|result| entry_of_result(result));
        Some(StepRows { step: self.step?, entries: items.chain(results).collect(), completion: self.completion })
    }
}

/// The row of an item. The result of a call is a row of its own, for it may come with a later step.
fn item(item: &Item) -> Entry {
    let mut kind = item.kind.clone();
    if let ItemKind::ToolCall { result, .. } = &mut kind {
        *result = None;
    }
    let (name, call_id, text) = match &kind {
        ItemKind::User { text, .. } => ("user", None, text.to_string()),
        ItemKind::Text { text } => ("text", None, text.clone()),
        ItemKind::Thinking { .. } => ("thinking", None, String::new()),
        ItemKind::ToolCall { call_id, name, arguments, display_as, .. } => {
            let shown = beginning(display_as.as_ref().unwrap_or(arguments));
            ("tool_call", Some(call_id.clone()), format!("{name} {shown}"))
        }
        ItemKind::SubscriptionEvent { call_id, text, .. } => {
            ("subscription_event", Some(call_id.clone()), text.to_string())
        }
        ItemKind::Compaction { summary } => ("compaction", None, summary.to_string()),
        ItemKind::Ended { outcome: Outcome::Failed { message, .. } } => ("ended", None, message.to_string()),
        ItemKind::Ended { .. } => ("ended", None, String::new()),
        _ => ("other", None, String::new()),
    };
    Entry { place: Some(item.id.place), kind: name.into(), call_id, text, body: json(&kind) }
}

fn entry_of_result(result: &ToolResult) -> Entry {
    let text = beginning(&result.joined_text()).to_owned();
    Entry { place: None, kind: RESULT.into(), call_id: Some(result.call_id.clone()), text, body: json(result) }
}

/// Counts that sums can be made of, whatever a provider claims.
fn believable(usage: Usage) -> Usage {
    let bound = |tokens: u64| tokens.min(1 << 40);
    Usage {
        input: bound(usage.input),
        output: bound(usage.output),
        cache_read: bound(usage.cache_read),
        cache_write: bound(usage.cache_write),
        reasoning: bound(usage.reasoning),
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(FOUND_BYTES)]
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("bug: what a viewer shows has a JSON form")
}

#[cfg(test)]
mod tests {
    use selvedge_event::{FailureKind, ToolStatus};

    use super::*;

    fn fold(events: &[AgentEvent]) -> Option<StepRows> {
        let mut fold = StepFold::default();
        events.iter().for_each(|event| fold.apply(event));
        fold.finish()
    }

    fn user(step: Step) -> AgentEvent {
        AgentEvent::UserInput { step, input_id: "a".into(), text: "hello".into() }
    }

    fn said(text: &str) -> AgentEvent {
        AgentEvent::TextChunk { text: text.into() }
    }

    fn finished(step: Step, outcome: Outcome) -> AgentEvent {
        let model = ModelRef { api: "a".into(), provider: "p".into(), model: "m".into() }.into();
        AgentEvent::CompletionFinished { step, attempt: 1, outcome, model, usage: Usage::default() }
    }

    #[test]
    fn chunks_make_one_entry_and_a_discarded_attempt_none() {
        let start = |attempt| AgentEvent::CompletionStarted { step: 1, attempt };
        let void = AgentEvent::TurnDiscarded { step: 1, attempt: 1, scope: Discard::Attempt };
        let rows =
            fold(&[user(1), start(1), said("x"), void, start(2), said("a"), said("b"), finished(1, Outcome::Stopped)]);
        let rows = rows.unwrap();
        let texts: Vec<_> = rows.entries.iter().map(|entry| (entry.place, &*entry.kind, &*entry.text)).collect();
        assert_eq!(texts, [(Some(0), "user", "hello"), (Some(1), "text", "ab")]);
        assert_eq!(rows.completion.unwrap().outcome, Outcome::Stopped);
    }

    #[test]
    fn a_discarded_step_leaves_nothing() {
        assert_eq!(fold(&[user(3), AgentEvent::TurnDiscarded { step: 3, attempt: 0, scope: Discard::Step }]), None);
    }

    #[test]
    fn a_step_that_others_ran_makes_room_for_the_next() {
        let rows = fold(&[user(3), user(4)]).unwrap();
        assert_eq!((rows.step, rows.entries.len()), (4, 1));
    }

    #[test]
    fn a_result_is_an_entry_of_the_step_that_took_it() {
        let result = Arc::new(ToolResult::text("call_1_0".into(), ToolStatus::Ok, "42"));
        let rows = fold(&[AgentEvent::ToolResult { step: 2, result }]).unwrap();
        assert_eq!(rows.line(0, &Prices::new()).open_calls, -1);
        assert_eq!(rows.settled().collect::<Vec<_>>(), ["call_1_0"].map(CallId::from).iter().collect::<Vec<_>>());
        assert_eq!((rows.entries[0].place, &*rows.entries[0].text), (None, "42"));
    }

    #[test]
    fn a_failure_can_be_found() {
        let failed = Outcome::Failed { failure: FailureKind::Auth, message: "no such key".into() };
        let rows = fold(&[AgentEvent::CompletionStarted { step: 1, attempt: 1 }, finished(1, failed)]).unwrap();
        assert_eq!(rows.entries[0].text, "no such key");
    }
}
