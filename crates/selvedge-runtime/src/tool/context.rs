//! What a running call is told, and what it can say before it ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use selvedge_barrier::DispatchPermit;
use selvedge_event::{
    AgentEvent, CallId, ChoiceEnd, ChoiceId, ChoiceResolution, Input, InputId, Text, ThreadId, UserChoice, View,
};
use selvedge_store::NewInput;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

use super::running::Asked;
use crate::sink::InputSink;
use crate::{Clock, SendError};

/// One running call. It is made from a permit of the barrier and from nothing else.
pub struct ToolContext {
    permit: DispatchPermit,
    arguments: Value,
    choices: AtomicU32,
    pub(super) cancelled: watch::Receiver<bool>,
    pub(super) answers: watch::Receiver<HashMap<ChoiceId, ChoiceResolution>>,
    pub(super) asked: watch::Sender<Asked>,
    pub(super) sink: Arc<dyn InputSink>,
    pub(super) clock: Arc<dyn Clock>,
}

/// What became of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The place in the options that counts.
    pub selected: usize,
    /// Whether somebody chose it, or it is the default.
    pub end: ChoiceEnd,
}

impl ToolContext {
    pub(super) fn new(
        permit: DispatchPermit,
        cancelled: watch::Receiver<bool>,
        answers: watch::Receiver<HashMap<ChoiceId, ChoiceResolution>>,
        asked: watch::Sender<Asked>,
        (sink, clock): (Arc<dyn InputSink>, Arc<dyn Clock>),
    ) -> Self {
        // A call with broken arguments is never planned, so never permitted.
        let arguments = serde_json::from_str(permit.call().arguments.raw()).unwrap_or_default();
        Self { permit, arguments, choices: AtomicU32::new(0), cancelled, answers, asked, sink, clock }
    }

    /// The thread that calls.
    pub fn thread_id(&self) -> &ThreadId {
        self.permit.thread()
    }

    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.permit.call().id
    }

    /// The idempotency key: the same for every try of this call, and no other call's.
    pub fn key(&self) -> String {
        self.permit.key()
    }

    /// Which try this is: 1 if the call has certainly not reached the tool before, more if it may have.
    pub fn attempt(&self) -> u32 {
        self.permit.attempt()
    }

    /// The arguments: an object that fits the tool's schema.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The arguments as a type of the tool's own.
    ///
    /// # Errors
    /// When they do not fit the type, though they fit the schema.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.arguments)
    }

    /// Whether the thread was interrupted: nobody waits for the result any more.
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Waits until the thread is interrupted; for ever, if it never is.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn cancelled(&self) {
        let mut cancelled = self.cancelled.clone();
        if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Shows how far the call has come. May be lost when the thread is busy.
    pub fn progress(&self, text: impl Into<Text>) {
        let event = AgentEvent::Info { text: text.into(), call_id: Some(self.call_id().clone()) };
        self.sink.show(self.thread_id(), event);
    }

    /// Asks the user, and waits for the answer, for as long as it takes or until `expires_in` has passed.
    ///
    /// The question is durable before it is shown. The nth question of a call has the same id in every try of the call:
    /// a call that is dispatched again after a crash finds the answer that was given to its earlier try.
    ///
    /// # Errors
    /// When the question cannot be accepted, or the thread is gone.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the question open until the call ends.
    pub async fn choose(
        &self,
        prompt: impl Into<Text>,
        options: Vec<Text>,
        default: usize,
        expires_in: Option<Duration>,
    ) -> Result<Chosen, SendError> {
        if default >= options.len() {
            return Err(SendError::Refused(format!("the default {default} is none of {} options", options.len())));
        }
        let id = ChoiceId::of(self.call_id(), self.choices.fetch_add(1, Ordering::Relaxed) + 1);
        let wait = expires_in.map(|wait| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let choice = UserChoice {
            id: id.clone(),
            call_id: self.call_id().clone(),
            prompt: prompt.into(),
            options,
            default,
            expires_at: wait.map(|wait| self.clock.now().plus_millis(wait)),
        };
        self.deliver(format!("choice:{id}").into(), Input::ChoiceRequest { choice }).await?;
        self.asked.send_modify(|asked| {
            asked.choices.insert(id.clone());
        });
        self.answer(&id).await
    }

    async fn answer(&self, id: &ChoiceId) -> Result<Chosen, SendError> {
        let mut answers = self.answers.clone();
        let answers = answers.wait_for(|answers| answers.contains_key(id)).await.map_err(|_| SendError::ShutDown)?;
        let resolution = answers.get(id).ok_or(SendError::ShutDown)?;
        Ok(Chosen { selected: resolution.selected, end: resolution.end })
    }

    /// Tells the user where to sign in. The call stays open; the tool goes on by itself once the user has.
    ///
    /// # Errors
    /// When the notice cannot be accepted.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the notice sent or not.
    pub async fn require_oauth(&self, auth_url: impl Into<Text>) -> Result<(), SendError> {
        let input = Input::OAuthNotice { call_id: self.call_id().clone(), auth_url: auth_url.into() };
        self.deliver(fresh_id(), input).await?;
        self.asked.send_modify(|asked| asked.sign_ins += 1);
        Ok(())
    }

    /// Shows or replaces a view beside the conversation.
    ///
    /// # Errors
    /// When the view cannot be accepted.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the view sent or not.
    pub async fn update_view(&self, view_type: impl Into<Text>, content: impl Into<Text>) -> Result<(), SendError> {
        let view = View { view_type: view_type.into(), content: content.into() };
        self.deliver(fresh_id(), Input::ViewUpdate(view)).await
    }

    /// A handle that outlives the call, through which it sends news once its result has said that it subscribes.
    pub fn subscription(&self) -> SubscriptionHandle {
        SubscriptionHandle {
            thread: self.thread_id().clone(),
            call_id: self.call_id().clone(),
            sink: self.sink.clone(),
            clock: self.clock.clone(),
        }
    }

    async fn deliver(&self, id: InputId, input: Input) -> Result<(), SendError> {
        let at = self.clock.now();
        self.sink.deliver(self.thread_id(), NewInput { id, input, at }).await.map(drop)
    }
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext").field("permit", &self.permit).finish_non_exhaustive()
    }
}

/// Sends news of a subscribed call to its thread.
#[derive(Clone)]
pub struct SubscriptionHandle {
    thread: ThreadId,
    call_id: CallId,
    sink: Arc<dyn InputSink>,
    clock: Arc<dyn Clock>,
}

impl SubscriptionHandle {
    /// Sends news; the model reads it. `last` ends the subscription.
    ///
    /// # Errors
    /// When it cannot be accepted.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the news sent or not; use [`send_once`](Self::send_once) to repeat it harmlessly.
    pub async fn send(&self, text: impl Into<Text>, last: bool) -> Result<(), SendError> {
        self.send_once(fresh_id(), text, last).await
    }

    /// Sends news under an id: the same id again changes nothing, for as long as the thread lives.
    ///
    /// # Errors
    /// When it cannot be accepted.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the news sent or not.
    pub async fn send_once(&self, id: InputId, text: impl Into<Text>, last: bool) -> Result<(), SendError> {
        let input = Input::SubscriptionEvent { call_id: self.call_id.clone(), text: text.into(), last };
        self.sink.deliver(&self.thread, NewInput { id, input, at: self.clock.now() }).await.map(drop)
    }
}

impl std::fmt::Debug for SubscriptionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubscriptionHandle").field("thread", &self.thread).field("call_id", &self.call_id).finish()
    }
}

/// An id for an input that nobody will send again.
pub(crate) fn fresh_id() -> InputId {
    uuid::Uuid::now_v7().to_string().into()
}
