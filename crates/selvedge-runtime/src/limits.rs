//! Bounds and patience: every queue, retry and wait of the runtime, in one place.

use std::time::Duration;

/// The runtime's bounds. The defaults suit a server with thousands of threads.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Attempts at one completion before it fails for good.
    pub attempts: u32,
    /// The wait before the second attempt; doubles with each further one, up to a minute.
    pub attempt_backoff: Duration,
    /// Completions that may follow one another on tool results alone, before the thread stops with
    /// [`LoopLimit`](selvedge_event::FailureKind::LoopLimit).
    pub completions_in_a_row: u32,
    /// Inputs that one step takes.
    pub inputs_per_step: usize,
    /// Inputs that may wait in a thread's inbox; beyond it `send` says so.
    pub inbox: usize,
    /// Commands that may wait for a driver, and for a shard; beyond it the caller is told.
    pub mailbox: usize,
    /// Events that a completion may emit before subscribers and inputs get their turn.
    pub events_between_yields: u32,
    /// How long a driver with nothing to wait for stays.
    pub idle: Duration,
    /// The wait before something that failed (a store, a hook, a configuration) is tried again; doubles up to a minute.
    pub retry_backoff: Duration,
    /// Tries to sync one turn before it is discarded and its step run again.
    pub sync_tries: u32,
    /// Failures of one step, other than of its sync or commit, before the thread waits for its next input.
    pub step_failures: u32,
    /// How long a call of a tool may run, unless the tool says otherwise or is long-running.
    pub tool_timeout: Duration,
    /// How long a cancelled call may take to end by itself.
    pub cancel_grace: Duration,
    /// Bytes of a tool's text that the model reads; the whole of a longer one is kept as a blob.
    pub tool_text: usize,
    /// Bytes of history that a resident thread keeps for viewers, and that a snapshot carries: whole turns, the newest at
    /// least; it may grow to twice as much. Viewers ask the store for what is older. What the model is asked is kept apart
    /// from it, while the thread asks.
    pub page: usize,
    /// How long an orderly shutdown waits for completions and calls that run.
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempts: 4,
            attempt_backoff: Duration::from_millis(500),
            completions_in_a_row: 100,
            inputs_per_step: 256,
            inbox: 10_000,
            mailbox: 1024,
            events_between_yields: 64,
            idle: Duration::from_secs(30),
            retry_backoff: Duration::from_millis(200),
            sync_tries: 6,
            step_failures: 5,
            tool_timeout: Duration::from_secs(600),
            cancel_grace: Duration::from_secs(5),
            tool_text: 64 * 1024,
            page: 256 * 1024,
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// The longest wait between two tries of anything.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// The wait before try `failures + 1`, which doubles from `first`.
pub(crate) fn backoff(first: Duration, failures: u32) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_BACKOFF)
}
