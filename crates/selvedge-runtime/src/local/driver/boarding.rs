//! How a driver comes by its thread: the first load, and the reload after another writer or a failed store.

use std::rc::Rc;
use std::sync::Arc;

use selvedge_event::{Step, TurnRecord};
use selvedge_observer::ThreadObserver;
use selvedge_store::{StoreError, StoreErrorKind};
use tokio::time::Instant;

use super::Driver;
use crate::SendError;
use crate::limits::backoff;
use crate::local::lifecycle::LifecycleKind;
use crate::thread::{Thread, load};

/// Tries to load a thread before those who ask for it are told of the store's error.
const LOAD_TRIES: u32 = 3;

impl<O: ThreadObserver + 'static> Driver<O> {
    /// Claims and loads the thread. One that does not exist is no error: it may be about to be created.
    ///
    /// # Errors
    /// The store's: the thread is driven elsewhere, or the store is out of reach.
    pub(super) async fn board(&mut self) -> Result<(), StoreError> {
        for failures in 1.. {
            match self.load().await {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == StoreErrorKind::NotFound => return Ok(()),
                Err(error) if !error.is_transient() || failures >= LOAD_TRIES => return Err(error),
                Err(error) => {
                    tracing::warn!(thread = %self.thread.id, %error, "a thread could not be loaded; trying again");
                    tokio::time::sleep(backoff(self.shard.env.limits.retry_backoff, failures)).await;
                }
            }
        }
        Ok(())
    }

    async fn load(&mut self) -> Result<(), StoreError> {
        let thread = Box::pin(self.find()).await?;
        self.take_over(thread);
        Ok(())
    }

    async fn find(&self) -> Result<Thread<O>, StoreError> {
        let running = self.thread.running.clone();
        let committed = self.thread.state.borrow().committed;
        let (env, id) = (&self.shard.env, &self.thread.id);
        let loaded = load(&*env.store, id, &self.shard.owner, &running, committed, env.limits.page).await?;
        Ok(Thread::from_loaded(loaded, env.clone(), running))
    }

    fn take_over(&mut self, thread: Thread<O>) {
        self.thread = Rc::new(thread);
        self.report_damaged();
        self.shard.notify(&self.thread.id, LifecycleKind::Resident);
    }

    /// Tells whoever is to know of records that could not be read.
    pub(super) fn report_damaged(&self) {
        for record in self.thread.report_damaged() {
            self.shard.notify(&self.thread.id, LifecycleKind::Quarantined(record.into()));
        }
    }

    /// Loads the thread anew, and emits what others appended meanwhile. Whether it is loaded.
    pub(super) async fn reload(&mut self) -> bool {
        let (seen, oauth, views) = {
            let state = self.thread.state.borrow();
            (state.step, state.oauth.clone(), state.views.clone())
        };
        match Box::pin(self.find_with_news(seen)).await {
            Ok((thread, news)) => {
                self.stale = false;
                self.take_over(thread);
                self.thread.emit_turns(&news);
                self.thread.catch_up_on_shown(seen, oauth, views);
                true
            }
            Err(error) => {
                self.failures += 1;
                let wait = backoff(self.shard.env.limits.retry_backoff, self.failures);
                tracing::warn!(thread = %self.thread.id, %error, "a thread could not be loaded again");
                self.retry_at = Some(Instant::now() + wait);
                false
            }
        }
    }

    /// The thread, loaded anew, and what others have appended after step `seen`.
    async fn find_with_news(&self, seen: Step) -> Result<(Thread<O>, Vec<Arc<TurnRecord>>), StoreError> {
        let thread = self.find().await?;
        let news = thread.turns_since(seen).await?;
        Ok((thread, news))
    }

    /// Tells everybody who asks that the thread cannot be had here.
    pub(super) async fn turn_away(&mut self, error: &StoreError) {
        self.shard.forget(&self.thread.id);
        self.mailbox.close();
        while let Some(command) = self.mailbox.recv().await {
            let error = StoreError::new(error.kind(), error.to_string());
            command.refuse(SendError::from_store(&self.thread.id, error));
        }
    }
}
