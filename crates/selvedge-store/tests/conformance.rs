//! The reference store keeps every promise of the trait.

use std::sync::Arc;

use selvedge_store::{ConversationStore, MemoryStore};
use selvedge_testkit::store_conformance::StoreHarness;

#[derive(Debug)]
struct Memory(MemoryStore);

impl StoreHarness for Memory {
    async fn fresh() -> Self {
        Self(MemoryStore::default())
    }

    fn store(&self) -> Arc<dyn ConversationStore> {
        Arc::new(self.0.clone())
    }

    /// The clone that is kept here is the disk of this store.
    async fn reopen(&mut self) {}
}

selvedge_testkit::store_conformance!(Memory);
