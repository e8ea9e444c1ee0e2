//! A fault store without faults keeps every promise of the store behind it, and dies as a process does.

use std::sync::Arc;

use selvedge_store::{ConversationStore, MemoryStore};
use selvedge_testkit::{FaultStore, store_conformance::StoreHarness};

#[derive(Debug)]
struct Mortal(FaultStore);

impl StoreHarness for Mortal {
    async fn fresh() -> Self {
        Self(FaultStore::new(Arc::new(MemoryStore::default())))
    }

    fn store(&self) -> Arc<dyn ConversationStore> {
        Arc::new(self.0.clone())
    }

    async fn reopen(&mut self) {
        self.0.die();
        self.0 = FaultStore::new(self.0.inner().clone());
    }
}

selvedge_testkit::store_conformance!(Mortal);
