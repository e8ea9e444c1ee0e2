//! The reference store: in memory, durable for as long as one of its clones lives.

/// Placeholder replaced by the reference implementation.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore;
