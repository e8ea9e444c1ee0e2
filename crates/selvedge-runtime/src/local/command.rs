//! What a driver is asked.

use selvedge_event::{AgentEvent, ChoiceId, Step, ThreadId};
use selvedge_store::{Acceptance, NewInput};
use tokio::sync::oneshot;

use crate::{AnswerError, ForkError, SendError};

pub(super) type Reply<T, E = SendError> = oneshot::Sender<Result<T, E>>;

/// A request to the driver of a thread. Whoever waits for a reply that never comes takes it for a shutdown.
pub(super) enum Command<R> {
    /// Accept inputs; create the thread if `create`.
    Accept { inputs: Vec<NewInput>, create: bool, reply: Reply<Vec<Acceptance>> },
    /// Install a subscriber.
    Subscribe { request: R, reply: Reply<bool> },
    /// Stop what runs.
    Interrupt { reply: Reply<()> },
    /// Answer a choice.
    Answer { choice: ChoiceId, selected: usize, reply: Reply<(), AnswerError> },
    /// Show something for a moment.
    Show(AgentEvent),
    /// Fork the thread.
    Fork { at: Option<Step>, to: ThreadId, reply: Reply<Step, ForkError> },
    /// Be resident, and work off what is in the inbox.
    Wake { reply: Reply<()> },
    /// End at once, without loss, and give up the claim.
    Close { reply: Reply<()> },
    /// End in order.
    Stop,
}

impl<R> Command<R> {
    /// Tells whoever waits that the request cannot be served. A receiver that is gone does not want to know.
    pub(super) fn refuse(self, error: SendError) {
        match self {
            Self::Accept { reply, .. } => tell(reply, Err(error)),
            Self::Subscribe { reply, .. } => tell(reply, Err(error)),
            Self::Interrupt { reply } | Self::Wake { reply } => tell(reply, Err(error)),
            // What is nowhere resident needs no closing.
            Self::Close { reply } => tell(reply, Ok(())),
            Self::Answer { reply, .. } => tell(reply, Err(error.into())),
            Self::Fork { reply, .. } => tell(reply, Err(error.into())),
            Self::Show(_) | Self::Stop => {}
        }
    }
}

/// Answers whoever waits. Somebody who has given up waiting does not want to know.
pub(super) fn tell<T>(reply: oneshot::Sender<T>, value: T) {
    if reply.send(value).is_err() {
        tracing::trace!("a reply found nobody waiting");
    }
}
