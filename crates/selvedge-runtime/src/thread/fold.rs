//! Inputs become messages and changes: the part of a step that decides, synchronous and without effects.

use std::collections::HashSet;

use selvedge_event::{
    AgentEvent, CallId, ChoiceEnd, ChoiceId, ChoiceResolution, Delivery, Input, Message, OAuthNotice, Step,
    Subscription, SubscriptionMessage, ToolReply, ToolResult, ToolStatus, UserChoice, UserMessage,
};
use selvedge_model::answer_wanted;
use selvedge_store::{Changes, InboxEntry};

use super::state::{Choice, Open, ThreadState};
use crate::tool::verdict;

/// What a step makes of the inputs that it takes, before the model is asked.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    /// What is shown, in order: messages, which are kept, and events that are kept in other ways.
    pub(crate) shown: Vec<Shown>,
    pub(crate) changes: Changes,
    /// Open calls that nobody waits for any more: their tools are told.
    pub(crate) interrupted: Vec<CallId>,
    /// For each answer to a choice, whether it counts.
    pub(crate) answers: Vec<(ChoiceId, bool)>,
    /// Whether an input came that the model has not caused.
    pub(crate) from_outside: bool,
    /// Whether the model is to answer then: something calls for it, and no call is open.
    pub(crate) wants_answer: bool,
}

#[derive(Debug)]
pub(crate) enum Shown {
    Message(Message),
    Event(AgentEvent),
}

/// Folds inputs, in order, over what a thread knows. `running` tells whether a call was sent out by this process.
pub(crate) fn fold(state: &ThreadState, inputs: &[InboxEntry], running: impl Fn(&CallId) -> bool) -> Folded {
    let mut fold = Fold {
        step: state.step + 1,
        open: state.open.clone(),
        choices: state.choices.clone(),
        subscriptions: state.subscriptions.clone(),
        events: 0,
        running,
        answered: state.inbox.iter().filter_map(|entry| entry.input.result_of()).cloned().collect(),
        folded: Folded { wants_answer: state.unanswered, ..Folded::default() },
    };
    for entry in inputs {
        fold.input(entry);
        fold.folded.changes.consumed.push(entry.seq);
    }
    // Calls in doubt whose answer has not arrived by now, nor waits behind these inputs, are settled as what they are.
    let all = inputs.len() == state.inbox.len();
    let in_doubt = fold.open.iter().filter(|open| open.in_doubt && all).map(|open| open.planned.call_id.clone());
    for call in in_doubt.collect::<Vec<_>>() {
        fold.settle(verdict(call, ToolStatus::Unknown));
    }
    fold.folded.wants_answer &= fold.open.is_empty();
    fold.folded
}

struct Fold<R> {
    step: Step,
    open: Vec<Open>,
    choices: Vec<Choice>,
    subscriptions: Vec<Subscription>,
    events: usize,
    running: R,
    /// Calls whose result is in the inbox: they ran, here or in a process before.
    answered: HashSet<CallId>,
    folded: Folded,
}

impl<R: Fn(&CallId) -> bool> Fold<R> {
    fn input(&mut self, entry: &InboxEntry) {
        match &entry.input {
            Input::UserText { text, delivery } => {
                if *delivery == Delivery::Interrupt {
                    self.interrupt();
                }
                self.folded.from_outside = true;
                let user = UserMessage { input_id: entry.id.clone(), text: text.clone() };
                self.show(Message::User(user.into()));
            }
            Input::Interrupt => self.interrupt(),
            Input::ToolResult(reply) => self.result(reply),
            Input::SubscriptionEvent { call_id, text, last } => self.event(entry, call_id, text, *last),
            Input::OAuthNotice { call_id, auth_url } => {
                if self.is_open(call_id) {
                    let (call_id, auth_url) = (call_id.clone(), auth_url.clone());
                    self.folded
                        .changes
                        .oauth
                        .push(OAuthNotice { call_id: call_id.clone(), auth_url: auth_url.clone() });
                    self.folded.shown.push(Shown::Event(AgentEvent::OAuthRequired { call_id, auth_url }));
                }
            }
            Input::ChoiceRequest { choice } => self.choice(choice),
            Input::ChoiceAnswer { choice_id, selected, end } => self.answer(choice_id, *selected, *end),
            Input::ViewUpdate(view) => {
                self.folded.changes.views.push(view.clone());
                self.folded.shown.push(Shown::Event(AgentEvent::ViewUpdated(view.clone())));
            }
        }
    }

    fn show(&mut self, message: Message) {
        self.folded.wants_answer = answer_wanted(&message).unwrap_or(self.folded.wants_answer);
        self.folded.shown.push(Shown::Message(message));
    }

    fn is_open(&self, id: &CallId) -> bool {
        self.open.iter().any(|open| open.planned.call_id == *id)
    }

    /// Settles every open call as what is known of it.
    fn interrupt(&mut self) {
        for open in self.open.clone() {
            let id = open.planned.call_id;
            let status = if open.in_doubt {
                ToolStatus::Unknown
            } else if (self.running)(&id) || self.answered.contains(&id) {
                ToolStatus::Interrupted
            } else {
                ToolStatus::NotExecuted
            };
            self.folded.interrupted.push(id.clone());
            self.settle(verdict(id, status));
        }
    }

    fn result(&mut self, reply: &ToolReply) {
        let Some(open) = self.open.iter().find(|open| open.planned.call_id == reply.call_id).cloned() else {
            // Unknown, settled or interrupted: it changes nothing.
            tracing::debug!(call = %reply.call_id, "a result for a call that is not open is dropped");
            return;
        };
        if reply.subscription {
            let subscription = Subscription {
                call_id: reply.call_id.clone(),
                tool: open.call.name.clone(),
                arguments: open.call.arguments.clone(),
            };
            self.subscriptions.push(subscription.clone());
            self.folded.changes.subscriptions_opened.push(subscription);
        }
        self.settle(ToolResult {
            call_id: reply.call_id.clone(),
            status: reply.status,
            content: reply.content.clone(),
            display: reply.display.clone(),
            blob: reply.blob.clone(),
        });
    }

    /// Gives an open call its one result; its questions are moot.
    fn settle(&mut self, result: ToolResult) {
        let id = result.call_id.clone();
        self.open.retain(|open| open.planned.call_id != id);
        let pending = self.choices.iter().filter(|choice| choice.choice.call_id == id && choice.resolution.is_none());
        let dismissed = pending.map(|choice| resolution(&choice.choice, choice.choice.default, ChoiceEnd::Dismissed));
        self.folded.changes.choices_closed.extend(dismissed);
        self.choices.retain(|choice| choice.choice.call_id != id);
        // A question of the same batch that nobody has been shown needs no dismissal.
        self.folded.changes.choices_opened.retain(|choice| choice.call_id != id);
        self.folded.changes.oauth.retain(|notice| notice.call_id != id);
        self.folded.changes.settled.push(id);
        self.show(Message::ToolResult(result.into()));
    }

    fn event(&mut self, entry: &InboxEntry, call_id: &CallId, text: &selvedge_event::Text, last: bool) {
        let known = self.subscriptions.iter().find(|known| known.call_id == *call_id).cloned();
        // News may overtake the result that subscribes.
        let early = || {
            let open = self.open.iter().find(|open| open.planned.call_id == *call_id)?;
            let (tool, arguments) = (open.call.name.clone(), open.call.arguments.clone());
            Some(Subscription { call_id: call_id.clone(), tool, arguments })
        };
        let Some(subscription) = known.or_else(early) else {
            tracing::debug!(call = %call_id, "news of an unknown or ended subscription is dropped");
            return;
        };
        if last {
            self.subscriptions.retain(|known| known.call_id != *call_id);
            self.folded.changes.subscriptions_closed.push(call_id.clone());
        }
        self.folded.from_outside = true;
        let event_id = format!("event_{}_{}", self.step, self.events).into();
        self.events += 1;
        self.show(Message::SubscriptionEvent(
            SubscriptionMessage {
                input_id: entry.id.clone(),
                event_id,
                call_id: call_id.clone(),
                tool: subscription.tool,
                arguments: subscription.arguments,
                text: text.clone(),
                last,
            }
            .into(),
        ));
    }

    fn choice(&mut self, choice: &UserChoice) {
        let sound = choice.default < choice.options.len() && self.is_open(&choice.call_id);
        let known = self.choices.iter().any(|known| known.choice.id == choice.id);
        if sound && !known {
            self.choices.push(Choice { choice: choice.clone(), resolution: None });
            self.folded.changes.choices_opened.push(choice.clone());
        }
    }

    fn answer(&mut self, id: &ChoiceId, selected: usize, end: ChoiceEnd) {
        let pending = self.choices.iter_mut().find(|choice| choice.choice.id == *id && choice.resolution.is_none());
        let pending = pending.filter(|choice| selected < choice.choice.options.len());
        let counts = pending.is_some();
        if let Some(choice) = pending {
            let resolution = resolution(&choice.choice, selected, end);
            choice.resolution = Some(resolution.clone());
            self.folded.changes.choices_closed.push(resolution);
        }
        if end == ChoiceEnd::Answered {
            self.folded.answers.push((id.clone(), counts));
        }
    }
}

fn resolution(choice: &UserChoice, selected: usize, end: ChoiceEnd) -> ChoiceResolution {
    ChoiceResolution { id: choice.id.clone(), call_id: choice.call_id.clone(), end, selected }
}
