//! Owners: who may drive a thread.

use std::any::Any;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of an owner: unique, and readable enough to tell a person who has the thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnerId(String);

impl OwnerId {
    /// An owner's name from text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Somebody who drives threads of a store: a running system, or a runner of single steps.
///
/// It lives as long as this value: when it is dropped, or its process dies, its claims fall to whoever asks next.
pub struct Owner {
    id: OwnerId,
    /// What proves that the owner is alive: a lock of the operating system, a reference count.
    _alive: Box<dyn Any + Send + Sync>,
}

impl Owner {
    /// An owner that is alive for as long as `alive` is not dropped. For implementors of stores.
    pub fn new(id: OwnerId, alive: impl Any + Send + Sync) -> Self {
        Self { id, _alive: Box::new(alive) }
    }

    /// Its name.
    pub fn id(&self) -> &OwnerId {
        &self.id
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.id).finish()
    }
}

/// How often a thread has been claimed. Every sync carries the epoch of its claim; one of an older claim is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);
