//! The suite that every store passes, on a file. A crash is played by opening the file a second time, while the first
//! store still has it, so that nothing is written that was not written before.

use std::sync::Arc;

use selvedge_sqlite::SqliteStore;
use selvedge_store::ConversationStore;
use selvedge_testkit::store_conformance::StoreHarness;

use crate::folder::Folder;

struct Sqlite {
    store: SqliteStore,
    /// Stores that a "crash" has left behind; they are closed at the end.
    _crashed: Vec<SqliteStore>,
    folder: Folder,
}

impl StoreHarness for Sqlite {
    async fn fresh() -> Self {
        let folder = Folder::new();
        let store = SqliteStore::open(folder.database()).await.unwrap();
        Self { store, _crashed: Vec::new(), folder }
    }

    fn store(&self) -> Arc<dyn ConversationStore> {
        Arc::new(self.store.clone())
    }

    async fn reopen(&mut self) {
        let reopened = SqliteStore::open(self.folder.database()).await.unwrap();
        self._crashed.push(std::mem::replace(&mut self.store, reopened));
    }
}

selvedge_testkit::store_conformance!(Sqlite);
