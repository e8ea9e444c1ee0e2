//! A point in a reply where the stream waits until a test lets it go on.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A closed door in a stream. Clones are the same door.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    open: bool,
    reached: bool,
    wakers: Vec<Waker>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        let mut state = self.lock();
        state.open = true;
        wake(&mut state);
    }

    /// Waits until somebody stands at the gate, or has passed it.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub fn reached(&self) -> impl Future<Output = ()> + Send + 'static {
        let gate = self.clone();
        std::future::poll_fn(move |cx| gate.poll(cx, |state| state.reached))
    }

    /// Waits until the gate is open, and lets [`reached`](Self::reached) know: for tools and hooks of tests.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub fn pass(&self) -> impl Future<Output = ()> + Send + 'static {
        let gate = self.clone();
        std::future::poll_fn(move |cx| if gate.poll_open(cx) { Poll::Ready(()) } else { Poll::Pending })
    }

    /// Marks the gate as reached; whether it is open. If not, the task is woken when it is.
    pub(super) fn poll_open(&self, cx: &mut Context<'_>) -> bool {
        let mut state = self.lock();
        if !state.reached {
            state.reached = true;
            wake(&mut state);
        }
        if !state.open {
            state.wakers.push(cx.waker().clone());
        }
        state.open
    }

    fn poll(&self, cx: &mut Context<'_>, ready: impl Fn(&State) -> bool) -> Poll<()> {
        let mut state = self.lock();
        if ready(&state) {
            return Poll::Ready(());
        }
        state.wakers.push(cx.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(state: &mut State) {
    state.wakers.drain(..).for_each(Waker::wake);
}
