//! How a subscriber gets to the observer of its thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use selvedge_event::ThreadId;
use selvedge_observer::BoxError;

use crate::Cursor;
use crate::seat::Seat;

/// Who subscribes: a browser tab, a terminal. Of two subscriptions of one client to one thread, the later one counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientId(Arc<str>);

impl<T: Into<Arc<str>>> From<T> for ClientId {
    fn from(name: T) -> Self {
        Self(name.into())
    }
}

/// How somebody subscribes.
///
/// ```
/// # use selvedge_live::Subscribe;
/// let again = Subscribe { client: Some("tab-7".into()), ..Subscribe::default() };
/// # assert!(again.resume.is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Subscribe {
    /// Who it is, if it may come back: a later subscription of the same client replaces this one.
    pub client: Option<ClientId>,
    /// The cursor of the last frame that it has seen: it gets exactly those after it, or a resync and a snapshot.
    pub resume: Option<Cursor>,
    /// How far it may be behind, if not as [`LiveOptions::lag_bytes`](crate::LiveOptions::lag_bytes) says.
    pub lag_bytes: Option<usize>,
}

/// What an observer is handed to attach a subscriber: the `SubscribeRequest` of a [`LiveObserver`](crate::LiveObserver).
/// Clones are the same: the first that is installed counts. Dropping all of them refuses the subscriber.
#[derive(Debug, Clone)]
pub struct LiveRequest {
    pub(crate) seat: Arc<Seat>,
    pub(crate) resume: Option<Cursor>,
}

/// The end of an attempt to attach.
pub type Attaching = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// Gets a request to the observer of a thread: a running system, or whatever stands before one.
///
/// Any function of a thread and a request that returns a future is one:
///
/// ```
/// # use selvedge_live::{Attach, LiveRequest};
/// # use selvedge_event::ThreadId;
/// fn attach(attach: &dyn Attach) {}
/// attach(&|thread: ThreadId, request: LiveRequest| async move {
///     // system.subscribe(&thread, request).await?;
///     # drop((thread, request));
///     Ok(())
/// });
/// ```
pub trait Attach: Send + Sync {
    /// Gets the request to the thread's observer. Resolves when the observer has had it.
    ///
    /// # Errors
    /// Whatever keeps it from getting there, such as a thread that does not exist.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the request where it got to; the observer then finds nobody behind it.
    fn attach(&self, thread: ThreadId, request: LiveRequest) -> Attaching;
}

impl<F, Fut> Attach for F
where
    F: Fn(ThreadId, LiveRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    fn attach(&self, thread: ThreadId, request: LiveRequest) -> Attaching {
        Box::pin(self(thread, request))
    }
}

/// Why nobody could be attached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The request did not get to the thread's observer.
    #[error("the thread cannot be attached to")]
    Refused(#[source] BoxError),
    /// The observer did not take the request.
    #[error("the thread's observer did not take the subscriber")]
    NotTaken,
}
