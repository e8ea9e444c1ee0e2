//! [`Chance`]: a seeded order of things.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest pause, in milliseconds.
const LONGEST: u64 = 12;

/// Draws from a seed when things happen. Clones draw from one sequence.
///
/// On a runtime of one thread whose time is paused, nothing but tasks that wait decides what comes next. Who pauses by
/// chance before and after each of its operations (see [`FaultStore::shuffle`](crate::FaultStore::shuffle) and
/// [`Watcher::shuffle`](crate::Watcher::shuffle)) therefore leaves the interleaving to the seed: the same one gives the
/// same run, and many of them give many.
#[derive(Debug, Clone)]
pub struct Chance(Arc<AtomicU64>);

impl Chance {
    /// The chance of a seed.
    pub fn of_seed(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// A number below a bound; 0 for 0.
    pub fn below(&self, bound: u64) -> u64 {
        // SplitMix64, by Guy Steele, Doug Lea and Christine Flood.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(bound).unwrap_or(0)
    }

    /// Goes on at once, lets others go first, or waits for some milliseconds. Needs a runtime with time, paused or not.
    pub async fn pause(&self) {
        match self.below(4) {
            0 => {}
            1 => {
                for _ in 0..=self.below(3) {
                    tokio::task::yield_now().await;
                }
            }
            _ => tokio::time::sleep(Duration::from_millis(self.below(LONGEST + 1))).await,
        }
    }
}
