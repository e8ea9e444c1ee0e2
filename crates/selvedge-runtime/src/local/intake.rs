//! The way in: inputs wait for the store one batch at a time, and whoever sent them is told.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use selvedge_event::{ChoiceId, Input, ThreadId};
use selvedge_store::{
    AcceptReply, AcceptRequest, Acceptance, ConversationStore, Create, InboxEntry, NewInput, StoreError,
};

use super::command::{Reply, tell};
use crate::{AnswerError, SendError};

/// Inputs on their way into the store, in the order in which they came. Bounded by the inbox's bound.
#[derive(Default)]
pub(super) struct Intake {
    waiting: VecDeque<Arrival>,
    accepting: Option<Accepting>,
}

type Accepting = (Vec<Arrival>, Pin<Box<dyn Future<Output = Result<AcceptReply, StoreError>>>>);

/// Inputs that came together, and what to do once they are accepted.
struct Arrival {
    inputs: Vec<NewInput>,
    then: Then,
}

/// Whom to tell.
pub(super) enum Then {
    Reply(Reply<Vec<Acceptance>>),
    Interrupted(Reply<()>),
    Answered(ChoiceId, Reply<(), AnswerError>),
    Nobody,
}

/// What a batch has come to.
#[derive(Default)]
pub(super) struct Taken {
    /// What is now in the inbox, in order.
    pub(super) entries: Vec<InboxEntry>,
    /// Answers to choices that are accepted and not yet dealt with.
    pub(super) answers: Vec<(ChoiceId, Reply<(), AnswerError>)>,
    /// Whether an input that interrupts was accepted before.
    pub(super) interrupts_again: bool,
    pub(super) claimed: Option<selvedge_store::Epoch>,
    /// Whether the thread existed though it was to be created: somebody else was first.
    pub(super) failed: Option<StoreError>,
}

impl Intake {
    pub(super) fn push(&mut self, inputs: Vec<NewInput>, then: Then) {
        self.waiting.push_back(Arrival { inputs, then });
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.accepting.is_none()
    }

    /// Whether a batch is under way.
    pub(super) fn is_accepting(&self) -> bool {
        self.accepting.is_some()
    }

    /// How many inputs are on their way.
    pub(super) fn len(&self) -> usize {
        self.inputs().count()
    }

    /// The inputs on their way.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Input> {
        let accepting = self.accepting.iter().flat_map(|(arrivals, _)| arrivals);
        accepting.chain(&self.waiting).flat_map(|arrival| &arrival.inputs).map(|input| &input.input)
    }

    /// Hands everything that waits to the store, unless a batch is under way.
    pub(super) fn start(
        &mut self,
        store: &Arc<dyn ConversationStore>,
        thread: &ThreadId,
        create: impl FnOnce() -> Create,
    ) {
        if self.accepting.is_some() || self.waiting.is_empty() {
            return;
        }
        // A thread that waits keeps no room for inputs.
        let arrivals = Vec::from(std::mem::take(&mut self.waiting));
        let inputs = arrivals.iter().flat_map(|arrival| arrival.inputs.iter().cloned()).collect();
        let request = AcceptRequest { thread: thread.clone(), inputs, create: create() };
        let store = store.clone();
        self.accepting = Some((arrivals, Box::pin(async move { store.accept(request).await })));
    }

    /// Waits for the batch under way; for ever, if there is none.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the batch under way.
    pub(super) async fn accepted(&mut self) -> Result<AcceptReply, StoreError> {
        match &mut self.accepting {
            Some((_, accepting)) => accepting.await,
            None => std::future::pending().await,
        }
    }

    /// Tells everybody of a batch what came of it.
    pub(super) fn settle(&mut self, thread: &ThreadId, result: Result<AcceptReply, StoreError>) -> Taken {
        let Some((arrivals, _)) = self.accepting.take() else { return Taken::default() };
        let reply = match result {
            Ok(reply) => reply,
            Err(error) => {
                let kind = error.kind();
                for arrival in arrivals {
                    let error = StoreError::new(kind, error.to_string());
                    arrival.then.refuse(SendError::from_store(thread, error));
                }
                return Taken { failed: Some(error), ..Taken::default() };
            }
        };
        let entries = Vec::with_capacity(reply.acceptances.len());
        let mut taken = Taken { entries, claimed: reply.claimed, ..Taken::default() };
        let mut acceptances = reply.acceptances.into_iter();
        for arrival in arrivals {
            let own: Vec<Acceptance> = acceptances.by_ref().take(arrival.inputs.len()).collect();
            for (input, acceptance) in arrival.inputs.into_iter().zip(&own) {
                let NewInput { id, input, at } = input;
                match *acceptance {
                    Acceptance::Accepted(seq) => taken.entries.push(InboxEntry { seq, id, input, at }),
                    Acceptance::Duplicate => taken.interrupts_again |= input.interrupts(),
                }
            }
            match arrival.then {
                Then::Reply(reply) => tell(reply, Ok(own)),
                Then::Interrupted(reply) => tell(reply, Ok(())),
                Then::Answered(choice, reply) if own == [Acceptance::Duplicate] => {
                    tell(reply, Err(AnswerError::AlreadyAnswered(choice)));
                }
                Then::Answered(choice, reply) => taken.answers.push((choice, reply)),
                Then::Nobody => {}
            }
        }
        taken
    }

    /// Refuses everything that is not with the store yet.
    pub(super) fn refuse(&mut self, error: impl Fn() -> SendError) {
        self.waiting.drain(..).for_each(|arrival| arrival.then.refuse(error()));
    }
}

impl Then {
    fn refuse(self, error: SendError) {
        match self {
            Self::Reply(reply) => tell(reply, Err(error)),
            Self::Interrupted(reply) => tell(reply, Err(error)),
            Self::Answered(_, reply) => tell(reply, Err(error.into())),
            Self::Nobody => {}
        }
    }
}
