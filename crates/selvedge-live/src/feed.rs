//! A feed: the frames of one thread since somebody first watched it, and those who watch it.
//!
//! Publishing costs the same however many watch: a frame goes into the ring, and the pump is told to wake those who wait.
//! Lock order: a hub's state, then a ring; a seat, then a ring or the lists of a feed. Nobody who holds a ring or a list
//! takes another lock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::live::Shared;
use crate::ring::{Ahead, Ring};
use crate::seat::{Cut, Seat};
use crate::{Cursor, Frame, FrameKind, ResyncReason};

/// What a feed costs beside its frames.
const FEED_BYTES: usize = 1024;

/// Frames that are given to a subscriber at once.
const BATCH: usize = 256;
/// Bytes that are given to a subscriber at once, and which it holds while it works them off.
const BATCH_BYTES: u64 = 64 * 1024;
/// Frames that are looked at at once for one who lags: neighbours among them become one.
const LAGGING_BATCH: usize = 4096;

/// The frames of one thread and those who watch it. Ends when the thread's steps do not follow on one another any more:
/// what comes then is another feed.
pub(crate) struct Feed {
    pub(crate) shared: Arc<Shared>,
    inner: RwLock<Inner>,
    /// Who wants to be woken at the next frame.
    parked: Mutex<Vec<Arc<Seat>>>,
    /// Whether anybody does: read by the publisher without the lock.
    has_parked: AtomicBool,
    /// Whether the pump has been told.
    dirty: AtomicBool,
    /// Whether the pump is to look for laggards.
    sweep: AtomicBool,
    seats: Mutex<HashMap<u64, Arc<Seat>>>,
    /// When it was last of use, in ticks of the `Shared`.
    used: AtomicU64,
}

struct Inner {
    ring: Ring,
    closed: Option<Closed>,
    /// How much had been published when seats were last looked through for laggards.
    swept: u64,
}

/// Why a feed has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Its hub is gone. What was published is still read.
    HubGone,
    /// The thread's steps do not follow on one another, or memory was needed.
    GivenUp(ResyncReason),
}

/// What a feed has for a subscriber.
pub(crate) enum Read {
    /// So many frames. `lagging` says that the subscriber is far behind.
    Frames { count: usize, lagging: bool },
    /// None yet.
    Nothing,
    /// None any more.
    Cut(Cut),
}

impl Feed {
    pub(crate) fn new(shared: Arc<Shared>) -> Arc<Self> {
        shared.hold(FEED_BYTES as u64);
        let ring = Ring::new(shared.options.ring_bytes);
        let used = AtomicU64::new(shared.tick());
        Arc::new(Self {
            shared,
            inner: RwLock::new(Inner { ring, closed: None, swept: 0 }),
            parked: Mutex::default(),
            has_parked: AtomicBool::new(false),
            dirty: AtomicBool::new(false),
            sweep: AtomicBool::new(false),
            seats: Mutex::default(),
            used,
        })
    }

    /// Adds a frame.
    pub(crate) fn publish(self: &Arc<Self>, kind: FrameKind) {
        let (before, after, sweep) = {
            let mut inner = self.write();
            let before = inner.ring.bytes();
            inner.ring.push(kind);
            let sweep = inner.ring.published() - inner.swept >= self.shared.options.lag_bytes as u64 / 4;
            if sweep {
                inner.swept = inner.ring.published();
            }
            (before, inner.ring.bytes(), sweep)
        };
        self.shared.hold_instead(before, after);
        self.used.store(self.shared.tick(), Ordering::Relaxed);
        if sweep {
            self.sweep.store(true, Ordering::Release);
        }
        if sweep || self.has_parked.load(Ordering::Relaxed) {
            self.ring_the_pump();
        }
        if sweep {
            self.shared.pump.hurry();
        }
    }

    fn ring_the_pump(self: &Arc<Self>) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            self.shared.pump.enqueue(Arc::downgrade(self));
        }
    }

    /// The pump's part: drops who is too far behind, and gives out who waits, to be woken.
    pub(crate) fn serve(&self) -> Vec<Arc<Seat>> {
        self.dirty.store(false, Ordering::Release);
        let parked = {
            let mut parked = lock(&self.parked);
            self.has_parked.store(false, Ordering::Release);
            std::mem::take(&mut *parked)
        };
        if self.sweep.swap(false, Ordering::AcqRel) {
            self.seats().iter().for_each(|seat| seat.sweep(self));
        }
        parked
    }

    /// Asks for a wake-up at the next frame. The caller looks for frames once more afterwards.
    pub(crate) fn park(&self, seat: Arc<Seat>) {
        let mut parked = lock(&self.parked);
        parked.push(seat);
        // ORDER: set before the caller's second look: a publisher that this look misses sees it.
        self.has_parked.store(true, Ordering::Release);
    }

    /// Frames from the number `next` on for somebody who may be behind by `lag` bytes.
    pub(crate) fn read(&self, next: u64, lag: u64, into: &mut Vec<Arc<Frame>>) -> Read {
        let inner = self.read_lock();
        if let Some(Closed::GivenUp(reason)) = inner.closed {
            return Read::Cut(inner.resync(next, reason));
        }
        let behind = match inner.ring.ahead(next) {
            Ahead::Nothing(reason) => return Read::Cut(inner.resync(next, reason)),
            Ahead::Bytes(behind) => behind,
        };
        if behind == 0 {
            return match inner.closed {
                Some(_) => Read::Cut(Cut::Closed),
                None => Read::Nothing,
            };
        }
        let lagging = behind > self.shared.options.coalesce_bytes as u64;
        let (count, bytes) = if lagging { (LAGGING_BATCH, 4 * BATCH_BYTES) } else { (BATCH, BATCH_BYTES) };
        let before = into.len();
        let count = inner.ring.read(next, count, bytes, into);
        // One frame is never too much to be behind, whatever its size.
        if behind > lag && !(count == 1 && inner.ring.cursor().seq == next) {
            into.truncate(before);
            return Read::Cut(inner.resync(next, ResyncReason::Lagging));
        }
        Read::Frames { count, lagging }
    }

    /// Why somebody at the number `next`, who may be behind by `lag` bytes, is to be dropped.
    pub(crate) fn drops(&self, next: u64, lag: u64) -> Option<Cut> {
        let inner = self.read_lock();
        let reason = match inner.ring.ahead(next) {
            Ahead::Nothing(reason) => reason,
            Ahead::Bytes(behind) if behind > lag && inner.ring.cursor().seq != next => ResyncReason::Lagging,
            Ahead::Bytes(_) => return None,
        };
        Some(inner.resync(next, reason))
    }

    /// The place of the newest frame.
    pub(crate) fn cursor(&self) -> Cursor {
        self.read_lock().ring.cursor()
    }

    /// Where a cursor resumes.
    pub(crate) fn resume(&self, cursor: Cursor) -> Result<u64, ResyncReason> {
        self.read_lock().ring.resume(cursor)
    }

    /// Takes in a subscriber.
    pub(crate) fn enter(&self, seat: Arc<Seat>) {
        lock(&self.seats).insert(seat.subscription, seat);
        self.used.store(self.shared.tick(), Ordering::Relaxed);
    }

    /// Forgets a subscriber.
    pub(crate) fn leave(&self, subscription: u64) {
        lock(&self.seats).remove(&subscription);
        self.used.store(self.shared.tick(), Ordering::Relaxed);
    }

    /// The subscribers.
    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        lock(&self.seats).values().cloned().collect()
    }

    /// How many subscribers it has.
    pub(crate) fn subscribers(&self) -> usize {
        lock(&self.seats).len()
    }

    /// When it was last of use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Ends it; its subscribers hear of that. Ending it again changes nothing.
    pub(crate) fn close(self: &Arc<Self>, why: Closed) {
        {
            let mut inner = self.write();
            if inner.closed.is_some() {
                return;
            }
            inner.closed = Some(why);
        }
        if matches!(why, Closed::GivenUp(_)) {
            self.clear();
        }
        self.ring_the_pump();
    }

    /// Keeps none of its frames. Who is up to date does not notice.
    pub(crate) fn clear(&self) {
        let before = {
            let mut inner = self.write();
            let before = inner.ring.bytes();
            inner.ring.clear();
            before
        };
        self.shared.hold_instead(before, 0);
    }

    // A panic elsewhere cannot leave a ring half changed: nothing in it calls anybody.
    fn read_lock(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn resync(&self, next: u64, reason: ResyncReason) -> Cut {
        Cut::Resync(Cursor { seq: next - 1, ..self.ring.cursor() }, reason)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.release(FEED_BYTES as u64 + self.read_lock().ring.bytes());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The lists are changed in single operations.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
