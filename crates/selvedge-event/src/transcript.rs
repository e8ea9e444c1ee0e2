//! The transcript: what a viewer shows, folded from a snapshot and the events after it.
//!
//! A pure reducer. It promises the attach law: for every moment k of a run, the snapshot at k folded with the events
//! after k equals the fold of all events, and equals the fold of the final history; the same items, order and ids. Of a
//! snapshot that holds only the latest page, the items are those of the page's steps and later ones; everything else is
//! the whole.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    AgentEvent, CallId, ChoiceId, Discard, InputId, ItemId, OAuthNotice, Outcome, ReplaySnapshot, Step, Text,
    ToolResult, Usage, UserChoice, View, replay,
};

/// What a viewer shows of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    items: Vec<Item>,
    step: Step,
    place: u32,
    completion: Option<Completion>,
    choices: Vec<UserChoice>,
    oauth: Vec<OAuthNotice>,
    views: Vec<View>,
    usage: Usage,
    /// What the two newest steps with a completion added to `usage`, for when they are discarded: the one that runs, and
    /// the one before it, which is committed again after a crash. Step 0 for none.
    newest_usage: [(Step, Usage); 2],
}

/// A completion that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Completion {
    step: Step,
    attempt: u32,
    /// How many items there were when it started.
    items: usize,
    /// The place of its first item.
    place: u32,
}

/// One thing that a viewer shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its place in the thread; the same however the transcript came about.
    pub id: ItemId,
    /// What it is.
    #[serde(flatten)]
    pub kind: ItemKind,
}

/// The kinds of things that a viewer shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ItemKind {
    /// What the user wrote.
    User {
        /// The input that brought it.
        input_id: InputId,
        /// The text.
        text: Text,
    },
    /// What the model says.
    Text {
        /// The text so far.
        text: String,
    },
    /// What the model thinks.
    Thinking {
        /// The text so far; may be empty where the provider hides it.
        text: String,
        /// Whether it has ended.
        done: bool,
    },
    /// A call.
    ToolCall {
        /// The call's id.
        call_id: CallId,
        /// The tool's name.
        name: Text,
        /// What it is called with, as the model wrote it.
        arguments: Text,
        /// The call as the tool wants it shown.
        display_as: Option<Text>,
        /// Its result and the step that took it, once there is one.
        result: Option<(Step, Arc<ToolResult>)>,
    },
    /// News from a subscribed call.
    SubscriptionEvent {
        /// The call that subscribed.
        call_id: CallId,
        /// The news.
        text: Text,
        /// Whether the subscription ended with it.
        last: bool,
    },
    /// A summary took the place of what is above, for the model.
    Compaction {
        /// The summary.
        summary: Text,
    },
    /// A completion ended in a way that the user should see: cut short, withheld, interrupted or failed.
    Ended {
        /// How.
        #[serde(flatten)]
        outcome: Outcome,
    },
}

impl Transcript {
    /// The transcript at the moment of a snapshot.
    pub fn from_snapshot(snapshot: &ReplaySnapshot) -> Self {
        let mut transcript = Self::default();
        for turn in snapshot.history.iter() {
            replay::turn(turn).iter().for_each(|event| transcript.apply(event));
        }
        if snapshot.older.is_some() {
            // Completions that are not on the page have been paid for all the same.
            transcript.usage = snapshot.usage;
        }
        if let Some(partial) = &snapshot.partial {
            transcript.enter(partial.step);
            partial.events().iter().for_each(|event| transcript.apply(event));
        }
        transcript.choices.clone_from(&snapshot.choices);
        transcript.oauth.clone_from(&snapshot.oauth);
        transcript.views.clone_from(&snapshot.views);
        transcript
    }

    /// What is shown, in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The step and the attempt of the completion that runs, if one does.
    pub fn completion(&self) -> Option<(Step, u32)> {
        self.completion.map(|completion| (completion.step, completion.attempt))
    }

    /// Choices that wait for an answer, oldest first.
    pub fn choices(&self) -> &[UserChoice] {
        &self.choices
    }

    /// Sign-ins that running calls wait for.
    pub fn oauth(&self) -> &[OAuthNotice] {
        &self.oauth
    }

    /// The latest view of each type.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// Tokens of all finished completions, also of those that are not on the page that is shown.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Folds in the next event.
    pub fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::UserInput { step, input_id, text } => {
                self.enter(*step);
                self.push(ItemKind::User { input_id: input_id.clone(), text: text.clone() });
            }
            AgentEvent::CompletionStarted { step, attempt } => {
                self.enter(*step);
                let (items, place) = (self.items.len(), self.place);
                self.completion = Some(Completion { step: *step, attempt: *attempt, items, place });
            }
            AgentEvent::TextChunk { text } => self.text(text),
            AgentEvent::ThinkingStarted => self.push(ItemKind::Thinking { text: String::new(), done: false }),
            AgentEvent::ThinkingChunk { text } => self.thinking(text),
            AgentEvent::ThinkingEnded => self.end_thinking(),
            AgentEvent::ToolCall { call_id, name, arguments, display_as } => self.push(ItemKind::ToolCall {
                call_id: call_id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
                display_as: display_as.clone(),
                result: None,
            }),
            AgentEvent::ToolResult { step, result } => self.result(*step, result),
            AgentEvent::SubscriptionEvent { step, call_id, text, last } => {
                self.enter(*step);
                self.push(ItemKind::SubscriptionEvent { call_id: call_id.clone(), text: text.clone(), last: *last });
            }
            AgentEvent::OAuthRequired { call_id, auth_url } => {
                self.oauth.retain(|notice| notice.call_id != *call_id);
                self.oauth.push(OAuthNotice { call_id: call_id.clone(), auth_url: auth_url.clone() });
            }
            AgentEvent::CompactionApplied { step, summary } => {
                self.enter(*step);
                self.push(ItemKind::Compaction { summary: summary.clone() });
            }
            AgentEvent::CompletionFinished { step, outcome, usage, .. } => self.finish(*step, outcome, *usage),
            AgentEvent::Info { .. } => {}
            AgentEvent::TurnDiscarded { step, scope, .. } => self.discard(*step, *scope),
            AgentEvent::ViewUpdated(view) => {
                self.views.retain(|known| known.view_type != view.view_type);
                self.views.push(view.clone());
            }
        }
    }

    /// Shows a choice: [`choices`](Self::choices) are not part of the event feed but of the observer's hooks.
    pub fn choice_required(&mut self, choice: &UserChoice) {
        self.choices.retain(|known| known.id != choice.id);
        self.choices.push(choice.clone());
    }

    /// Takes a choice away, because it was answered, dismissed or has expired.
    pub fn choice_dismissed(&mut self, id: &ChoiceId) {
        self.choices.retain(|known| known.id != *id);
    }

    fn enter(&mut self, step: Step) {
        if self.step != step {
            self.step = step;
            self.place = 0;
        }
    }

    fn push(&mut self, kind: ItemKind) {
        self.items.push(Item { id: ItemId { step: self.step, place: self.place }, kind });
        self.place += 1;
    }

    /// The newest item, if it belongs to the running completion.
    fn newest(&mut self) -> Option<&mut ItemKind> {
        let start = self.completion.map_or(0, |completion| completion.items);
        if self.items.len() > start { self.items.last_mut().map(|item| &mut item.kind) } else { None }
    }

    fn text(&mut self, chunk: &str) {
        if let Some(ItemKind::Text { text }) = self.newest() {
            text.push_str(chunk);
        } else {
            self.push(ItemKind::Text { text: chunk.to_owned() });
        }
    }

    fn thinking(&mut self, chunk: &str) {
        if let Some(ItemKind::Thinking { text, done: false }) = self.newest() {
            text.push_str(chunk);
        } else {
            self.push(ItemKind::Thinking { text: chunk.to_owned(), done: false });
        }
    }

    fn end_thinking(&mut self) {
        if let Some(ItemKind::Thinking { done, .. }) = self.newest() {
            *done = true;
        }
    }

    fn result(&mut self, step: Step, arrived: &Arc<ToolResult>) {
        self.enter(step);
        self.oauth.retain(|notice| notice.call_id != arrived.call_id);
        self.choices.retain(|choice| choice.call_id != arrived.call_id);
        let call = self.items.iter_mut().rev().find_map(|item| match &mut item.kind {
            ItemKind::ToolCall { call_id, result, .. } if *call_id == arrived.call_id => Some(result),
            _ => None,
        });
        // A call that is not shown (its page is not loaded) has no item to complete.
        if let Some(result) = call {
            *result = Some((step, arrived.clone()));
        }
    }

    fn finish(&mut self, step: Step, outcome: &Outcome, usage: Usage) {
        self.enter(step);
        self.completion = None;
        self.usage += usage;
        let [newest, before] = self.newest_usage;
        self.newest_usage = [(step, usage), if newest.0 == 0 { before } else { newest }];
        if !matches!(outcome, Outcome::Stopped | Outcome::ToolCalls) {
            self.push(ItemKind::Ended { outcome: outcome.clone() });
        }
    }

    fn discard(&mut self, step: Step, scope: Discard) {
        match (scope, self.completion) {
            (Discard::Attempt, Some(completion)) if completion.step == step => {
                self.items.truncate(completion.items);
                self.place = completion.place;
                self.completion = None;
            }
            (Discard::Attempt, _) => {}
            (Discard::Step, _) => self.discard_step(step),
        }
    }

    fn discard_step(&mut self, step: Step) {
        self.items.retain(|item| item.id.step != step);
        for item in &mut self.items {
            if let ItemKind::ToolCall { result, .. } = &mut item.kind
                && result.as_ref().is_some_and(|(taken, _)| *taken == step)
            {
                *result = None;
            }
        }
        if self.completion.is_some_and(|completion| completion.step == step) {
            self.completion = None;
        }
        for newest in self.newest_usage.iter_mut().filter(|(of, _)| *of == step) {
            self.usage = self.usage.less(std::mem::take(newest).1);
        }
        // Whatever step comes next, its places start afresh.
        self.step = 0;
        self.place = 0;
    }
}
