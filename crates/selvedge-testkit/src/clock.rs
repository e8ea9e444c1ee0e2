//! Clocks for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use selvedge_event::Timestamp;
use selvedge_runtime::Clock;

/// A clock that is moved by hand. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that stands at a moment, in milliseconds since 1970.
    pub fn at(millis: i64) -> Self {
        Self(Arc::new(AtomicI64::new(millis)))
    }

    /// Moves it, forwards or backwards.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A clock that follows tokio's: under paused time, it stands still until a test, or the runtime, lets time pass.
#[derive(Debug, Clone)]
pub struct TokioClock {
    base: i64,
    start: tokio::time::Instant,
}

impl TokioClock {
    /// A clock that begins at a moment, in milliseconds since 1970. Must be made on the runtime whose time it follows.
    pub fn starting_at(millis: i64) -> Self {
        Self { base: millis, start: tokio::time::Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let since = self.start.elapsed().as_millis();
        Timestamp(self.base.saturating_add(i64::try_from(since).unwrap_or(i64::MAX)))
    }
}
