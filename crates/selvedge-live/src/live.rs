//! [`Live`]: the handle that an embedder makes once, and what all its feeds share.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use selvedge_event::ThreadId;

use crate::feed::Feed;
use crate::hub::{Hub, HubInner};
use crate::pump::Pump;
use crate::subscriber::Subscription;
use crate::{Attach, AttachError, LiveOptions, Subscribe, Subscriber};

/// Live fan-out for the threads of one process. Clones are the same.
///
/// Its [hubs](Self::hub) are fed by observers; [`subscribe`](Self::subscribe) attaches to a thread through whoever can
/// route a request to the thread's observer.
#[derive(Clone)]
pub struct Live {
    shared: Arc<Shared>,
}

/// How much a [`Live`] holds at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveStats {
    /// Feeds: threads that somebody watches, or has watched and may resume.
    pub feeds: usize,
    /// Subscribers that are attached.
    pub subscribers: usize,
    /// Bytes of all frames that are kept, as they are charged to the rings.
    pub bytes: u64,
}

impl Live {
    /// Live fan-out within some bounds. Subscribers are woken on the tokio runtime that this is called on.
    ///
    /// # Panics
    /// Outside a tokio runtime. The runtime must have its time driver enabled.
    pub fn new(options: LiveOptions) -> Self {
        let pump = Arc::new(Pump::default());
        let (pumping, pace) = (pump.clone(), options.pace);
        tokio::runtime::Handle::current().spawn(async move { pumping.run(pace).await });
        let shared = Shared {
            options,
            pump,
            held: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            subscriptions: AtomicU64::new(0),
            hubs: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A hub for one observer. When it is dropped, the subscribers of its threads end.
    pub fn hub(&self) -> Hub {
        let hub = Hub::new(self.shared.clone());
        let mut hubs = self.shared.hubs();
        hubs.retain(|hub| hub.strong_count() > 0);
        hubs.push(hub.downgrade());
        drop(hubs);
        hub
    }

    /// Attaches to a thread. Once it resolves, the subscriber sees whatever happens next.
    ///
    /// # Errors
    /// See [`AttachError`].
    ///
    /// # Cancel safety
    /// Dropping the future attaches nobody.
    pub async fn subscribe(
        &self,
        attach: Arc<dyn Attach>,
        thread: ThreadId,
        subscribe: Subscribe,
    ) -> Result<Subscriber, AttachError> {
        let number = self.shared.subscriptions.fetch_add(1, Ordering::Relaxed);
        let lag = subscribe.lag_bytes.unwrap_or(self.shared.options.lag_bytes) as u64;
        let subscription = Subscription { attach, thread, number, client: subscribe.client, lag };
        Subscriber::attach(subscription, subscribe.resume).await
    }

    /// How much it holds now.
    pub fn stats(&self) -> LiveStats {
        let feeds: Vec<Arc<Feed>> = self.shared.feeds().into_iter().map(|(_, _, feed)| feed).collect();
        LiveStats {
            feeds: feeds.len(),
            subscribers: feeds.iter().map(|feed| feed.subscribers()).sum(),
            bytes: self.shared.held.load(Ordering::Relaxed),
        }
    }
}

impl Default for Live {
    /// With the default bounds; see [`new`](Self::new).
    fn default() -> Self {
        Self::new(LiveOptions::default())
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("options", &self.shared.options).field("stats", &self.stats()).finish()
    }
}

/// What all feeds of a [`Live`] share.
pub(crate) struct Shared {
    pub(crate) options: LiveOptions,
    pub(crate) pump: Arc<Pump>,
    /// Bytes that all feeds hold.
    held: AtomicU64,
    /// Counts uses of feeds: which was used least recently is told by it.
    ticks: AtomicU64,
    subscriptions: AtomicU64,
    hubs: Mutex<Vec<Weak<HubInner>>>,
}

impl Shared {
    pub(crate) fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn hold(&self, bytes: u64) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A feed held so many bytes and now holds others.
    pub(crate) fn hold_instead(&self, before: u64, after: u64) {
        if after > before {
            self.hold(after - before);
        } else if before > after {
            self.release(before - after);
        }
    }

    /// Gives up feeds, those that were used least recently first, until the bound on all of them holds. Must be called
    /// without a lock.
    pub(crate) fn fit(&self) {
        let bound = self.options.total_bytes as u64;
        if self.held.load(Ordering::Relaxed) <= bound {
            return;
        }
        let mut feeds = self.feeds();
        feeds.sort_by_key(|(_, _, feed)| feed.used());
        // A little more than is needed, so that the next frame does not look through all feeds again.
        let enough = bound - bound / 8;
        for (hub, thread, feed) in feeds {
            if self.held.load(Ordering::Relaxed) <= enough {
                return;
            }
            // Somebody watches: who is up to date goes on, and who is not resyncs.
            if !hub.give_up_unwatched(&thread, &feed) {
                feed.clear();
            }
        }
    }

    fn feeds(&self) -> Vec<(Arc<HubInner>, ThreadId, Arc<Feed>)> {
        let hubs: Vec<Arc<HubInner>> = self.hubs().iter().filter_map(Weak::upgrade).collect();
        hubs.iter().flat_map(|hub| hub.feeds().into_iter().map(|(thread, feed)| (hub.clone(), thread, feed))).collect()
    }

    fn hubs(&self) -> MutexGuard<'_, Vec<Weak<HubInner>>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.pump.stop();
    }
}
