//! The signal that cuts off a running completion.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Raised when an accepted input interrupts; lowered when a step takes the inbox. Raising it twice is raising it once.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    raised: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Interrupt {
    pub(crate) fn raise(&self) {
        self.raised.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(crate) fn lower(&self) {
        self.raised.set(false);
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised.get()
    }

    /// Ready when it is raised; otherwise the task is woken when it is.
    pub(crate) fn poll_raised(&self, cx: &Context<'_>) -> Poll<()> {
        if self.raised.get() {
            return Poll::Ready(());
        }
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Waits until it is raised.
    pub(crate) async fn raised(&self) {
        poll_fn(|cx| self.poll_raised(cx)).await;
    }
}
