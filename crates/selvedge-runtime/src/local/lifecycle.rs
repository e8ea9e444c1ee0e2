//! Notices about drivers: for logs, metrics and tests.

use std::sync::Arc;

use selvedge_event::ThreadId;

/// Something that happened to a thread's driver.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    /// The thread.
    pub thread: ThreadId,
    /// What happened.
    pub kind: LifecycleKind,
}

/// What happens to drivers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LifecycleKind {
    /// The thread is resident.
    Resident,
    /// The thread's driver has ended: idle, closed or shut down.
    Gone,
    /// A step did not go through; it is tried again.
    StepFailed(Arc<str>),
    /// A record of the thread could not be read, and is left as it is.
    Quarantined(Arc<str>),
}
