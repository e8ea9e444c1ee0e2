//! The pump: the task on the embedder's runtime that wakes subscribers, so that whoever publishes need not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::feed::Feed;
use crate::seat::Seat;

/// How many subscribers are woken before others on the runtime get their turn: the tools of the thread that they watch
/// may be among those.
const WOKEN_AT_ONCE: usize = 8;

/// Feeds with news. Each is in the queue once at most: the queue is bounded by the feeds that there are.
#[derive(Default)]
pub(crate) struct Pump {
    queue: Mutex<Vec<Weak<Feed>>>,
    news: Notify,
    /// Cuts a rest short: so much is new that who waits for it would be too late.
    hurry: Notify,
    stopped: AtomicBool,
}

impl Pump {
    pub(crate) fn enqueue(&self, feed: Weak<Feed>) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push(feed);
        self.news.notify_one();
    }

    pub(crate) fn hurry(&self) {
        self.hurry.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.news.notify_one();
    }

    /// Serves feeds until it is stopped, and rests after each round, as long as nothing is in a hurry.
    pub(crate) async fn run(&self, pace: Duration) {
        while !self.stopped.load(Ordering::Acquire) {
            self.news.notified().await;
            let feeds = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
            let waiting: Vec<Arc<Seat>> =
                feeds.iter().filter_map(Weak::upgrade).flat_map(|feed| feed.serve()).collect();
            for few in waiting.chunks(WOKEN_AT_ONCE) {
                few.iter().for_each(|seat| seat.wake());
                tokio::task::yield_now().await;
            }
            if !pace.is_zero() {
                // Either way the rest is over.
                drop(tokio::time::timeout(pace, self.hurry.notified()).await);
            }
        }
    }
}
