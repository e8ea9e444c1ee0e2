//! What a thread does on the stage: scenes, each one step.

use std::sync::Arc;

use selvedge_event::{
    AgentEvent, Arguments, AssistantMessage, Block, CallId, ChoiceEnd, ChoiceId, ChoiceResolution, CompactionSummary,
    Discard, FailureKind, Message, ModelRef, Outcome, Step, SubscriptionMessage, Text, ToolCall, ToolResult,
    ToolStatus, Usage, UserChoice, UserMessage, View, replay,
};
use selvedge_store::{Changes, PlannedCall, ToolDelivery};

/// One step of a thread, wherever it falls.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    user: Option<Text>,
    /// Calls of earlier steps, as step and place, which get their results.
    results: Vec<(CallId, Text)>,
    news: Option<Text>,
    summary: Option<Text>,
    answer: Option<(Text, Outcome)>,
    calls: usize,
    view: bool,
    asks: Option<ChoiceId>,
    answers: Option<ChoiceId>,
    dismisses: Option<ChoiceId>,
}

/// A scene as a step with a number.
pub(super) struct Acted {
    pub(super) step: Step,
    pub(super) dismissed: Vec<ChoiceId>,
    pub(super) events: Vec<AgentEvent>,
    pub(super) messages: Vec<Message>,
    pub(super) changes: Changes,
}

impl Scene {
    pub(super) fn user(text: &str) -> Self {
        Self { user: Some(text.into()), ..Self::default() }
    }

    /// A step without messages, which shows a view.
    pub(super) fn view() -> Self {
        Self { view: true, ..Self::default() }
    }

    /// A step that shows nothing at all.
    pub(super) fn silent() -> Self {
        Self::default()
    }

    pub(super) fn answer(mut self, text: &str) -> Self {
        self.answer = Some((text.into(), Outcome::Stopped));
        self
    }

    pub(super) fn ends(mut self, outcome: Outcome) -> Self {
        self.answer = Some((self.answer.map(|(text, _)| text).unwrap_or_default(), outcome));
        self
    }

    /// The answer makes so many calls.
    pub(super) fn calls(mut self, calls: usize) -> Self {
        self.answer = Some((self.answer.map(|(text, _)| text).unwrap_or_default(), Outcome::ToolCalls));
        self.calls = calls;
        self
    }

    pub(super) fn result(mut self, call: CallId, text: &str) -> Self {
        self.results.push((call, text.into()));
        self
    }

    pub(super) fn news(mut self, text: &str) -> Self {
        self.news = Some(text.into());
        self
    }

    pub(super) fn summary(mut self, text: &str) -> Self {
        self.summary = Some(text.into());
        self
    }

    /// A running call asks.
    pub(super) fn asks(choice: &ChoiceId) -> Self {
        Self { asks: Some(choice.clone()), ..Self::default() }
    }

    /// Somebody has answered.
    pub(super) fn answers(choice: &ChoiceId) -> Self {
        Self { answers: Some(choice.clone()), ..Self::default() }
    }

    /// Somebody has answered, among other things.
    pub(super) fn answers_too(mut self, choice: &ChoiceId) -> Self {
        self.answers = Some(choice.clone());
        self
    }

    /// The question is moot.
    pub(super) fn dismisses(mut self, choice: &ChoiceId) -> Self {
        self.dismisses = Some(choice.clone());
        self
    }

    /// The scene as the step of a number.
    pub(super) fn at(&self, step: Step) -> Acted {
        let (mut messages, mut events, mut changes) = (Vec::new(), Vec::new(), Changes::default());
        if let Some(text) = &self.user {
            let input_id = format!("input {step}").into();
            messages.push(Message::User(UserMessage { input_id, text: text.clone() }.into()));
        }
        for (call, text) in &self.results {
            changes.settled.push(call.clone());
            messages.push(Message::ToolResult(ToolResult::text(call.clone(), ToolStatus::Ok, text.clone()).into()));
        }
        messages.extend(self.news.clone().map(|text| news(step, text)));
        messages.extend(self.summary.clone().map(|summary| Message::Compaction(CompactionSummary { summary }.into())));
        messages.iter().for_each(|message| replay::message(step, message, &mut events));
        if self.view {
            let view = View { view_type: "list".into(), content: format!("as of {step}").into() };
            changes.views.push(view.clone());
            events.push(AgentEvent::ViewUpdated(view));
        }
        if let Some((text, outcome)) = &self.answer {
            let answer = assistant(step, text, self.calls, outcome.clone());
            stream(step, &answer, &mut events);
            let planned = answer.calls().map(|call| PlannedCall {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                step,
                delivery: ToolDelivery::AtMostOnce,
            });
            changes.planned.extend(planned);
            changes.usage = answer.usage;
            messages.push(Message::Assistant(answer.into()));
        }
        changes.choices_opened.extend(self.asks.as_ref().map(choice));
        let closed = |id: &ChoiceId, end| ChoiceResolution { id: id.clone(), call_id: asker(id), end, selected: 0 };
        changes.choices_closed.extend(self.answers.as_ref().map(|id| closed(id, ChoiceEnd::Answered)));
        changes.choices_closed.extend(self.dismisses.as_ref().map(|id| closed(id, ChoiceEnd::Dismissed)));
        Acted { step, dismissed: self.dismisses.iter().cloned().collect(), events, messages, changes }
    }
}

/// A conversation with a bit of everything, in steps that follow on one another from 1.
pub(super) fn conversation() -> Vec<Scene> {
    let failed = Outcome::Failed { failure: FailureKind::Server, message: "out of order".into() };
    vec![
        Scene::user("What is in the file?").answer("Let me look.").calls(2),
        Scene::view(),
        Scene::default().result(CallId::of(1, 1), "the second file"),
        Scene::default().result(CallId::of(1, 0), "the first file").answer("Two files."),
        Scene::silent(),
        Scene::user("And now?").ends(failed),
        Scene::user("Again.").answer("As I was say").ends(Outcome::Interrupted),
        Scene::default().news("it is noon").answer("It is noon.").ends(Outcome::Length),
        Scene::default().summary("They talked about files.").answer("Where were we?"),
        Scene::user("").answer("").calls(1),
        Scene::user("Stop.").result(CallId::of(10, 0), "interrupted").ends(Outcome::ContentFilter),
        Scene::user("Thanks.").answer("You are welcome."),
    ]
}

/// The call that asks: a choice's name begins with it.
fn asker(id: &ChoiceId) -> CallId {
    id.as_str().split(':').next().unwrap_or_default().into()
}

fn choice(id: &ChoiceId) -> UserChoice {
    UserChoice {
        id: id.clone(),
        call_id: asker(id),
        prompt: "Really?".into(),
        options: vec!["no".into(), "yes".into()],
        default: 0,
        expires_at: None,
    }
}

fn news(step: Step, text: Text) -> Message {
    let message = SubscriptionMessage {
        input_id: format!("news {step}").into(),
        event_id: format!("event_{step}_0").into(),
        call_id: CallId::of(1, 0),
        tool: "watch".into(),
        arguments: Arguments::Object("{}".into()),
        text,
        last: false,
    };
    Message::SubscriptionEvent(message.into())
}

fn assistant(step: Step, text: &Text, calls: usize, outcome: Outcome) -> AssistantMessage {
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(Block::Reasoning { text: format!("about {text}").into(), native: None, complete: true });
        blocks.push(Block::Text { text: text.clone(), native: None });
    }
    blocks.extend((0..calls).map(|place| {
        let arguments = Arguments::Object(format!(r#"{{"place":{place}}}"#).into());
        let id = CallId::of(step, place);
        let call = ToolCall { id, provider_id: None, name: "read".into(), arguments, display_as: None, native: None };
        Block::ToolCall(Arc::new(call))
    }));
    let model = ModelRef { api: "scripted".into(), provider: "testkit".into(), model: "scripted".into() };
    let usage = Usage { input: 10 * step, output: step, ..Usage::default() };
    AssistantMessage { attempt: 2, model: model.into(), blocks, outcome, usage }
}

/// The answer as it is streamed: in small pieces, with notes in between, and after an attempt that came to nothing.
fn stream(step: Step, answer: &AssistantMessage, events: &mut Vec<AgentEvent>) {
    let note = || AgentEvent::Info { text: "a note".into(), call_id: None };
    events.push(AgentEvent::CompletionStarted { step, attempt: 1 });
    events.push(AgentEvent::ThinkingStarted);
    events.push(AgentEvent::ThinkingChunk { text: "void thoughts".into() });
    events.push(AgentEvent::ThinkingEnded);
    events.push(AgentEvent::TextChunk { text: "void words".into() });
    events.push(AgentEvent::ToolCall {
        call_id: CallId::of(step, 0),
        name: "void".into(),
        arguments: "{}".into(),
        display_as: None,
    });
    events.push(AgentEvent::TurnDiscarded { step, attempt: 1, scope: Discard::Attempt });
    let mut whole = Vec::new();
    replay::message(step, &Message::Assistant(Arc::new(answer.clone())), &mut whole);
    for event in whole {
        match event {
            AgentEvent::TextChunk { text } => {
                events.extend(pieces(&text).map(|text| AgentEvent::TextChunk { text }));
                events.push(note());
            }
            AgentEvent::ThinkingChunk { text } => {
                events.extend(pieces(&text).map(|text| AgentEvent::ThinkingChunk { text }));
            }
            other => events.push(other),
        }
    }
}

/// A text in pieces of a few characters.
fn pieces(text: &str) -> impl Iterator<Item = Text> {
    let characters: Vec<char> = text.chars().collect();
    let size = (characters.len() / 64).max(3);
    characters.chunks(size).map(|piece| piece.iter().collect::<String>().into()).collect::<Vec<Text>>().into_iter()
}
