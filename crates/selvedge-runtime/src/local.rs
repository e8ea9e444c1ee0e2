//! Local mode: threads that stay resident, each with a driver, found by a router, on shards.

mod command;
mod driver;
mod intake;
mod lifecycle;
mod parts;
mod shard;
mod system;
mod wake;

pub use lifecycle::{Lifecycle, LifecycleKind};
pub use parts::{StartError, SystemParts};
pub use system::RunningSystem;
pub use wake::Wake;
