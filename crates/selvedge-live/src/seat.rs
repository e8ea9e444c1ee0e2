//! A seat: one attachment of a subscriber, shared by the subscriber, who reads, and the feed, which wakes and drops it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::feed::{Feed, Read};
use crate::{ClientId, Cursor, Frame, ResyncReason};

/// One attachment.
pub(crate) struct Seat {
    /// Which subscription it belongs to; later ones have greater numbers.
    pub(crate) subscription: u64,
    pub(crate) client: Option<ClientId>,
    /// How many bytes it may be behind.
    lag: u64,
    inner: Mutex<Inner>,
}

struct Inner {
    stage: Stage,
    /// What comes before the frames of the feed: a snapshot, perhaps the reason for it.
    opening: VecDeque<Arc<Frame>>,
    /// Wakes the subscriber's task, if it waits.
    waker: Option<Waker>,
    /// Whether the feed has it in its list of those who wait.
    parked: bool,
}

enum Stage {
    /// Nobody has installed it yet.
    New,
    /// It reads a feed, next the frame of this number.
    Reading { feed: Arc<Feed>, next: u64 },
    /// It reads nothing any more, and its subscriber has not heard of it.
    Cut(Cut),
    /// Its subscriber is gone.
    Left,
}

/// Why a seat reads nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It has to begin again with a snapshot; it had seen everything up to the cursor.
    Resync(Cursor, ResyncReason),
    /// A later subscription of its client took its place.
    Replaced,
    /// The hub is gone.
    Closed,
}

impl Seat {
    pub(crate) fn new(subscription: u64, client: Option<ClientId>, lag: u64) -> Arc<Self> {
        let inner = Inner { stage: Stage::New, opening: VecDeque::new(), waker: None, parked: false };
        Arc::new(Self { subscription, client, lag, inner: Mutex::new(inner) })
    }

    /// Begins to read a feed after some opening frames. Whether there is anybody to read.
    pub(crate) fn install(&self, feed: Arc<Feed>, next: u64, opening: Vec<Arc<Frame>>) -> bool {
        let mut inner = self.lock();
        if !matches!(inner.stage, Stage::New) {
            return false;
        }
        inner.stage = Stage::Reading { feed, next };
        inner.opening = opening.into();
        true
    }

    /// Whether anybody has installed it.
    pub(crate) fn is_installed(&self) -> bool {
        !matches!(self.lock().stage, Stage::New)
    }

    /// Stops reading; the subscriber is told at its next read.
    pub(crate) fn cut(&self, cut: Cut) {
        let (feed, waker) = {
            let mut inner = self.lock();
            if matches!(inner.stage, Stage::Cut(_) | Stage::Left) {
                return;
            }
            inner.opening = VecDeque::new();
            (std::mem::replace(&mut inner.stage, Stage::Cut(cut)), inner.waker.take())
        };
        if let Stage::Reading { feed, .. } = feed {
            feed.leave(self.subscription);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The subscriber is gone.
    pub(crate) fn leave(&self) {
        let stage = {
            let mut inner = self.lock();
            inner.opening = VecDeque::new();
            inner.waker = None;
            std::mem::replace(&mut inner.stage, Stage::Left)
        };
        if let Stage::Reading { feed, .. } = stage {
            feed.leave(self.subscription);
        }
    }

    /// Wakes the subscriber, if it waits.
    pub(crate) fn wake(&self) {
        let waker = {
            let mut inner = self.lock();
            inner.parked = false;
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Drops the subscriber from the feed if it is too far behind: what it holds on to is freed.
    pub(crate) fn sweep(&self, feed: &Feed) {
        let next = match &self.lock().stage {
            Stage::Reading { next, .. } => *next,
            _ => return,
        };
        if let Some(cut) = feed.drops(next, self.lag) {
            self.cut(cut);
        }
    }

    /// Appends the next frames; whether the subscriber is far behind, or why there are none any more.
    pub(crate) fn poll_read(self: &Arc<Self>, cx: &Context<'_>, into: &mut Vec<Arc<Frame>>) -> Poll<Result<bool, Cut>> {
        let mut inner = self.lock();
        if !inner.opening.is_empty() {
            into.extend(inner.opening.drain(..));
            return Poll::Ready(Ok(false));
        }
        loop {
            let (feed, next) = match &mut inner.stage {
                Stage::Cut(cut) => return Poll::Ready(Err(*cut)),
                Stage::New | Stage::Left => return Poll::Pending,
                Stage::Reading { feed, next } => (feed.clone(), next),
            };
            match feed.read(*next, self.lag, into) {
                Read::Frames { count, lagging } => {
                    *next += count as u64;
                    return Poll::Ready(Ok(lagging));
                }
                Read::Cut(cut) => {
                    inner.stage = Stage::Cut(cut);
                    drop(inner);
                    feed.leave(self.subscription);
                    return Poll::Ready(Err(cut));
                }
                Read::Nothing if inner.parked && inner.waits(cx) => return Poll::Pending,
                Read::Nothing => {
                    inner.waker = Some(cx.waker().clone());
                    if !inner.parked {
                        inner.parked = true;
                        feed.park(self.clone());
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Whatever panicked elsewhere, the fields are changed together or not at all.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Whether the task of a context is woken already when something comes.
    fn waits(&self, cx: &Context<'_>) -> bool {
        self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()))
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("subscription", &self.subscription).field("client", &self.client).finish()
    }
}
