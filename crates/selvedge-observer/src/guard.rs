//! Calls of an observer that may panic: a panic becomes an error, with its message.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::BoxError;

/// A panic of an observer, as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserverPanic {
    message: String,
}

impl std::fmt::Display for ObserverPanic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the observer panicked: {}", self.message)
    }
}

impl std::error::Error for ObserverPanic {}

/// Runs a synchronous call of an observer.
///
/// # Errors
/// When it panics.
pub fn guard<T>(call: impl FnOnce() -> T) -> Result<T, ObserverPanic> {
    // What the observer leaves half done is its own; nothing of the runtime is reached by the closure after a panic.
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| ObserverPanic { message: message_of(&*payload) })
}

/// Awaits a hook of an observer.
///
/// # Errors
/// The hook's own, or its panic as an [`ObserverPanic`].
///
/// # Cancel safety
/// Dropping the future drops the hook's.
pub fn guard_hook<'a>(
    hook: impl FnOnce() -> Pin<Box<dyn Future<Output = Result<(), BoxError>> + 'a>>,
) -> impl Future<Output = Result<(), BoxError>> {
    // A hook may panic before it has made its future.
    let hook = guard(hook);
    async move { Guarded(hook?).await }
}

struct Guarded<'a>(Pin<Box<dyn Future<Output = Result<(), BoxError>> + 'a>>);

impl Future for Guarded<'_> {
    type Output = Result<(), BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match guard(|| self.0.as_mut().poll(cx)) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Err(panic.into())),
        }
    }
}

/// What a panic said.
fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        let error = guard(|| panic!("out of {}", "paper")).unwrap_err();
        assert_eq!(error.to_string(), "the observer panicked: out of paper");
        let hook = guard_hook(|| Box::pin(async { panic!("on fire") }));
        let error = hook.now_or_never().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the observer panicked: on fire");
    }
}
