//! The bounds of live fan-out.

use std::time::Duration;

/// The bounds of a [`Live`](crate::Live). Bytes are those of frames with their JSON, estimated.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LiveOptions {
    /// What is kept of one thread's frames, for subscribers that are behind and for resumes. The newest frame is kept
    /// whatever its size. 512 KiB: some thousand chunks of text, a minute of the fastest model.
    pub ring_bytes: usize,
    /// What is kept of all threads' frames. Beyond it, the feeds that were used least recently are given up. 64 MiB.
    pub total_bytes: usize,
    /// How far a subscriber may be behind before it is dropped and has to resync; [`ring_bytes`](Self::ring_bytes) is a
    /// bound in any case. 256 KiB.
    pub lag_bytes: usize,
    /// How far a subscriber may be behind before neighbouring chunks of text are given to it as one. 32 KiB.
    pub coalesce_bytes: usize,
    /// How long subscribers of a busy thread are left alone after they were woken, so that one wake-up brings them many
    /// frames. The first frame after a rest is not held up. 2 ms, which nobody sees.
    pub pace: Duration,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            ring_bytes: 512 * 1024,
            total_bytes: 64 * 1024 * 1024,
            lag_bytes: 256 * 1024,
            coalesce_bytes: 32 * 1024,
            pace: Duration::from_millis(2),
        }
    }
}
