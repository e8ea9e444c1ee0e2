//! A thread as it goes on: each event as the lines that it adds.

use selvedge::event::{CallId, Discard, OAuthNotice, Step, Usage};
use selvedge::prelude::{AgentEvent, ChoiceId, ItemKind, ReplaySnapshot, Transcript, UserChoice};

use super::clean::clean_line;
use super::items;
use super::page::{Page, Style};

/// What is on show of a thread, and what stands on the line that is being written.
#[derive(Debug, Default)]
pub(crate) struct Live {
    transcript: Transcript,
    open: Line,
    /// Whether something was shown that is not known to be durable.
    staged: bool,
    /// Whether the running attempt has shown anything.
    attempt_shown: bool,
    /// Tokens of the step that is being written.
    usage: Usage,
    /// The newest step that the snapshot had as durable, until something else is shown.
    attached: Option<Step>,
    /// Whether what is emitted is on show already: that step, on its way to its commit.
    again: bool,
}

/// What the line that is being written belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Nothing,
    Text,
    Thinking,
}

impl Live {
    /// A thread as a snapshot has it, and how that looks.
    pub(crate) fn attach(snapshot: &ReplaySnapshot) -> (Self, Page) {
        let transcript = Transcript::from_snapshot(snapshot);
        let mut page = match snapshot.older {
            Some(_) => Page::of_line(Style::Dim, &format!("… what is older: selvedge show {}", snapshot.thread_id)),
            None => Page::default(),
        };
        page.append(items::transcript(&transcript));
        let open = match transcript.items().last().map(|item| &item.kind) {
            _ if transcript.completion().is_none() => Line::Nothing,
            Some(ItemKind::Text { .. }) => Line::Text,
            Some(ItemKind::Thinking { done: false, .. }) => Line::Thinking,
            _ => Line::Nothing,
        };
        let (staged, attempt_shown) = (snapshot.partial.is_some(), open != Line::Nothing);
        let attached = snapshot.history.last().map(|turn| turn.step);
        (Self { transcript, open, staged, attempt_shown, attached, ..Self::default() }, page)
    }

    /// The transcript so far.
    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Whether a step is under way: what it has shown may yet become void.
    pub(crate) fn is_staged(&self) -> bool {
        self.staged || self.transcript.completion().is_some()
    }

    /// Calls that are shown without a result.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &CallId> {
        self.transcript.items().iter().filter_map(|item| match &item.kind {
            ItemKind::ToolCall { call_id, result: None, .. } => Some(call_id),
            _ => None,
        })
    }

    /// What an event adds.
    pub(crate) fn event(&mut self, event: &AgentEvent) -> Page {
        let mut page = Page::default();
        self.note(event);
        self.transcript.apply(event);
        if self.is_again(event, &mut page) {
            return page;
        }
        match event {
            AgentEvent::TextChunk { text } => {
                self.enter(Line::Text, &mut page);
                page.text(Style::Plain, text);
            }
            AgentEvent::ThinkingStarted => self.enter(Line::Thinking, &mut page),
            AgentEvent::ThinkingChunk { text } => {
                self.enter(Line::Thinking, &mut page);
                page.text(Style::Dim, text);
            }
            AgentEvent::CompletionStarted { attempt, .. } => {
                if *attempt > 1 {
                    page.line(Style::Dim, &format!("↻ attempt {attempt}"));
                }
            }
            AgentEvent::TurnDiscarded { step, attempt, scope } => self.void(*step, *attempt, *scope, &mut page),
            _ => {
                self.open = Line::Nothing;
                self.whole(event, &mut page);
            }
        }
        page
    }

    /// Events that make lines of their own.
    fn whole(&self, event: &AgentEvent, page: &mut Page) {
        match event {
            AgentEvent::UserInput { text, .. } => items::user(text, page),
            AgentEvent::ThinkingEnded => page.fresh(),
            AgentEvent::ToolCall { name, arguments, display_as, .. } => {
                items::call(name, arguments, display_as.as_deref(), page);
            }
            AgentEvent::ToolResult { result, .. } => items::result(self.tool_of(&result.call_id), result, page),
            AgentEvent::SubscriptionEvent { text, last, .. } => items::news(text, *last, page),
            AgentEvent::OAuthRequired { call_id, auth_url } => {
                let notice = OAuthNotice { call_id: call_id.clone(), auth_url: auth_url.clone() };
                items::sign_in(&notice, page);
            }
            AgentEvent::CompactionApplied { summary, .. } => items::compaction(summary, page),
            AgentEvent::CompletionFinished { outcome, .. } => items::ended(outcome, page),
            AgentEvent::Info { text, call_id } => {
                let about = call_id.as_ref().map(|call| format!("{}: ", self.tool_of(call))).unwrap_or_default();
                page.line(Style::Dim, &format!("· {about}{}", clean_line(text, 1000)));
            }
            AgentEvent::ViewUpdated(view) => items::view(view, page),
            _ => {}
        }
    }

    /// A call asks the user.
    pub(crate) fn choice(&mut self, choice: &UserChoice) -> Page {
        self.transcript.choice_required(choice);
        let mut page = Page::default();
        self.open = Line::Nothing;
        items::choice(choice, &mut page);
        page
    }

    /// A choice has been answered by the user.
    pub(crate) fn answered(&mut self, id: &ChoiceId) {
        self.transcript.choice_dismissed(id);
    }

    /// A choice is moot.
    pub(crate) fn dismissed(&mut self, id: &ChoiceId) -> Page {
        let known = self.transcript.choices().iter().find(|choice| choice.id == *id);
        let default = known.and_then(|choice| choice.options.get(choice.default)).cloned();
        self.transcript.choice_dismissed(id);
        self.open = Line::Nothing;
        let counts = default.map(|default| format!(": {:?} counts", clean_line(&default, 200))).unwrap_or_default();
        Page::of_line(Style::Warn, &format!("? the question is closed without an answer{counts}"))
    }

    /// A step is durable.
    pub(crate) fn committed(&mut self, step: Step) -> Page {
        (self.staged, self.again) = (false, false);
        self.open = Line::Nothing;
        let usage = std::mem::take(&mut self.usage);
        Page::of_line(Style::Dim, &format!("✓ step {step} durable{}", tokens(usage)))
    }

    /// Keeps what an event says of its step, before the transcript changes.
    fn note(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::CompletionStarted { .. } => self.attempt_shown = false,
            AgentEvent::CompletionFinished { usage, .. } => self.usage = *usage,
            AgentEvent::TextChunk { .. } | AgentEvent::ThinkingStarted | AgentEvent::ToolCall { .. } => {
                self.attempt_shown = true;
            }
            // Neither begins a step: the one is shown between steps too, the other in steps without a number.
            AgentEvent::Info { .. } | AgentEvent::ViewUpdated(_) | AgentEvent::OAuthRequired { .. } => return,
            _ => {}
        }
        self.staged = true;
    }

    /// Whether an event belongs to a step that the snapshot had, and that is emitted again because nobody knows whether
    /// it was committed: it is on show, and stays as it is.
    fn is_again(&mut self, event: &AgentEvent, page: &mut Page) -> bool {
        if let AgentEvent::TurnDiscarded { step, scope: Discard::Step, .. } = event
            && self.attached == Some(*step)
        {
            self.again = true;
            page.line(Style::Dim, &format!("· step {step} may not have been committed; it is committed again"));
        }
        self.attached = None;
        self.again && !matches!(event, AgentEvent::Info { .. })
    }

    /// Begins a line for what is streamed, unless it goes on.
    fn enter(&mut self, line: Line, page: &mut Page) {
        if self.open != line {
            page.fresh();
            if line == Line::Thinking {
                page.text(Style::Dim, "∴ ");
            }
            self.open = line;
        }
    }

    fn void(&mut self, step: Step, attempt: u32, scope: Discard, page: &mut Page) {
        self.open = Line::Nothing;
        self.usage = Usage::default();
        let text = match scope {
            Discard::Attempt if !self.attempt_shown => return page.fresh(),
            Discard::Attempt => format!("⨯ void: attempt {attempt} failed; what it said above does not count"),
            Discard::Step => format!("⨯ void: what step {step} has shown above does not count; it is shown again"),
        };
        self.attempt_shown = false;
        page.line(Style::Warn, &text);
    }

    fn tool_of(&self, call: &CallId) -> &str {
        let name = self.transcript.items().iter().rev().find_map(|item| match &item.kind {
            ItemKind::ToolCall { call_id, name, .. } if call_id == call => Some(&**name),
            _ => None,
        });
        name.unwrap_or("a tool")
    }
}

fn tokens(usage: Usage) -> String {
    if usage == Usage::default() {
        return String::new();
    }
    format!(" · {} tokens in, {} out", usage.input, usage.output)
}

#[cfg(test)]
mod tests {
    use selvedge::event::{
        Block, FailureKind, History, Message, ModelRef, Outcome, PartialTurn, Timestamp, TurnRecord, UserMessage,
    };

    use super::*;

    fn shown(live: &mut Live, events: &[AgentEvent]) -> String {
        let mut page = Page::default();
        events.iter().for_each(|event| page.append(live.event(event)));
        page.plain()
    }

    fn started(attempt: u32) -> AgentEvent {
        AgentEvent::CompletionStarted { step: 1, attempt }
    }

    fn text(text: &str) -> AgentEvent {
        AgentEvent::TextChunk { text: text.into() }
    }

    fn call() -> AgentEvent {
        AgentEvent::ToolCall {
            call_id: "call_1_0".into(),
            name: "weather".into(),
            arguments: r#"{"city":"Oslo"}"#.into(),
            display_as: None,
        }
    }

    #[test]
    fn reasoning_text_and_calls_stand_on_lines_of_their_own() {
        let mut live = Live::default();
        let user = AgentEvent::UserInput { step: 1, input_id: "a".into(), text: "hi".into() };
        let thinking = [AgentEvent::ThinkingStarted, AgentEvent::ThinkingChunk { text: "hm".into() }];
        assert_eq!(shown(&mut live, &[user, started(1)]), "› hi\n");
        assert_eq!(shown(&mut live, &thinking), "∴ hm");
        assert_eq!(
            shown(&mut live, &[AgentEvent::ThinkingEnded, text("I look"), text(" it up."), call()]),
            "I look it up.\n→ weather {\"city\":\"Oslo\"}\n"
        );
        assert_eq!(live.open_calls().count(), 1);
        assert!(live.is_staged());
    }

    #[test]
    fn a_failed_attempt_is_said_to_be_void_only_if_it_has_shown_something() {
        let void = AgentEvent::TurnDiscarded { step: 1, attempt: 1, scope: Discard::Attempt };
        let mut live = Live::default();
        let page = shown(&mut live, &[started(1), text("Forget"), void.clone(), started(2), text("Right")]);
        assert_eq!(page, "Forget\n⨯ void: attempt 1 failed; what it said above does not count\n↻ attempt 2\nRight");
        assert_eq!(live.transcript().items().len(), 1);
        assert_eq!(shown(&mut Live::default(), &[started(1), void]), "");
    }

    #[test]
    fn a_commit_names_its_step_and_its_tokens() {
        let mut live = Live::default();
        let usage = Usage { input: 7, output: 3, ..Usage::default() };
        let model = ModelRef { api: "a".into(), provider: "p".into(), model: "m".into() };
        let outcome = Outcome::Failed { failure: FailureKind::Network, message: "refused".into() };
        let finished = AgentEvent::CompletionFinished { step: 1, attempt: 1, outcome, model: model.into(), usage };
        assert!(shown(&mut live, &[started(1), finished]).contains("cannot be reached: refused"));
        assert_eq!(live.committed(1).plain(), "✓ step 1 durable · 7 tokens in, 3 out\n");
        assert_eq!(live.committed(2).plain(), "✓ step 2 durable\n");
        assert!(!live.is_staged());
    }

    fn snapshot(history: History, partial: Option<PartialTurn>) -> ReplaySnapshot {
        ReplaySnapshot {
            thread_id: "t".into(),
            created_at: Timestamp(0),
            step: history.last().map_or(0, |turn| turn.step),
            committed: history.last().map_or(0, |turn| turn.step),
            history,
            older: None,
            partial,
            open_calls: Vec::new(),
            choices: Vec::new(),
            oauth: Vec::new(),
            views: Vec::new(),
            usage: Usage::default(),
        }
    }

    #[test]
    fn what_was_streamed_before_the_attach_goes_on_on_its_line() {
        let blocks = vec![Block::Text { text: "Hel".into(), native: None }];
        let partial = PartialTurn { step: 1, attempt: Some(1), blocks, ..PartialTurn::default() };
        let (mut live, page) = Live::attach(&snapshot(History::default(), Some(partial)));
        assert_eq!(page.plain(), "Hel");
        assert_eq!(shown(&mut live, &[text("lo")]), "lo");
    }

    #[test]
    fn a_step_that_is_committed_again_is_not_shown_twice() {
        let user = UserMessage { input_id: "a".into(), text: "hi".into() };
        let turn = TurnRecord { step: 4, at: Timestamp(0), messages: vec![Message::User(user.into())] };
        let (mut live, page) = Live::attach(&snapshot([turn.clone().into()].into_iter().collect(), None));
        assert_eq!(page.plain(), "› hi\n");
        let mut again = vec![AgentEvent::TurnDiscarded { step: 4, attempt: 0, scope: Discard::Step }];
        again.extend(selvedge::event::replay::turn(&turn));
        assert_eq!(shown(&mut live, &again), "· step 4 may not have been committed; it is committed again\n");
        assert_eq!(live.committed(4).plain(), "✓ step 4 durable\n");
        assert_eq!(live.transcript().items().len(), 1);
        assert!(shown(&mut live, &again).starts_with("⨯ void"), "later, it is what it says");
    }
}
