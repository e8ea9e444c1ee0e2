//! The part of a history that a thread keeps in memory for viewers, and the way back to what is older.

use std::sync::Arc;

use selvedge_event::{History, Message, Step, ThreadId, TurnRecord};
use selvedge_store::{ConversationStore, HistoryPage, Quarantined, StoreError};

/// What a message takes beside its text, roughly.
const MESSAGE_BYTES: usize = 100;

/// The newest turns of a history, whole ones, and where older ones begin.
///
/// It holds at most twice its bound, or the newest turn where that alone is more: it is cut back to the bound when it
/// has grown to twice as much, so that an append costs what it appends, on the whole.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    turns: History,
    older: Option<Step>,
    bytes: usize,
    bound: usize,
}

impl Page {
    /// The page of a history that has not begun.
    pub(crate) fn new(bound: usize) -> Self {
        Self { turns: History::default(), older: None, bytes: 0, bound }
    }

    /// The newest page of a history, as the store gave it.
    pub(crate) fn found(page: HistoryPage, bound: usize) -> Self {
        let bytes = page.turns.iter().map(|turn| bytes_of(turn)).sum();
        Self { turns: page.turns.into_iter().collect(), older: page.older, bytes, bound }
    }

    /// Its turns.
    pub(crate) fn turns(&self) -> &History {
        &self.turns
    }

    /// Where older turns begin to be missing; `None` if it goes back to the beginning.
    pub(crate) fn older(&self) -> Option<Step> {
        self.older
    }

    /// Appends a turn.
    pub(crate) fn push(&mut self, turn: Arc<TurnRecord>) {
        self.bytes += bytes_of(&turn);
        self.turns.push(turn);
        if self.bytes > self.bound.saturating_mul(2) {
            self.cut_back();
        }
    }

    fn cut_back(&mut self) {
        let mut bytes = 0;
        let mut newest_first: Vec<Arc<TurnRecord>> = Vec::new();
        for turn in self.turns.iter_newest_first() {
            let with_it = bytes + bytes_of(turn);
            if with_it > self.bound && !newest_first.is_empty() {
                break;
            }
            bytes = with_it;
            newest_first.push(turn.clone());
        }
        if newest_first.len() < self.turns.len() {
            self.older = newest_first.last().map(|turn| turn.step);
            self.turns = newest_first.into_iter().rev().collect();
            self.bytes = bytes;
        }
    }
}

fn bytes_of(turn: &TurnRecord) -> usize {
    turn.messages.iter().map(|message| MESSAGE_BYTES + Message::text_bytes(message)).sum()
}

/// A thread's history, to be read backwards: first what its page holds, then what the store has.
pub(crate) struct Backwards<'a> {
    pub(crate) store: &'a dyn ConversationStore,
    pub(crate) thread: &'a ThreadId,
    pub(crate) page: &'a Page,
    /// How much is read from the store at once.
    pub(crate) bytes: u64,
}

/// Turns that were read backwards.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// Newest first.
    pub(crate) turns: Vec<Arc<TurnRecord>>,
    /// Records beyond the page that could not be read.
    pub(crate) quarantined: Vec<Quarantined>,
}

impl Backwards<'_> {
    /// Reads the turns from step `last` back to the first one, whichever it is, of which `is_enough` says that nothing
    /// before it is needed; or to the beginning.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn read(
        &self,
        last: Step,
        mut is_enough: impl FnMut(&TurnRecord) -> bool,
    ) -> Result<Read, StoreError> {
        let mut read = Read::default();
        for turn in self.page.turns.iter_newest_first().skip_while(|turn| turn.step > last) {
            read.turns.push(turn.clone());
            if is_enough(turn) {
                return Ok(read);
            }
        }
        let mut before = self.page.older.map(|older| older.min(last.saturating_add(1)));
        while before.is_some() {
            let page = self.store.history(self.thread, before, self.bytes).await?;
            before = page.older;
            read.quarantined.extend(page.quarantined);
            for turn in page.turns.into_iter().rev() {
                let enough = is_enough(&turn);
                read.turns.push(turn);
                if enough {
                    return Ok(read);
                }
            }
        }
        Ok(read)
    }

    /// Whether no call is open after `step`. The model is not asked while a call is open, so only calls of its newest
    /// answer can be.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn is_boundary(&self, step: Step) -> Result<bool, StoreError> {
        let asks = |message: &Message| matches!(message, Message::Assistant(_));
        let read = self.read(step, |turn| turn.messages.iter().any(asks)).await?;
        let mut results = Vec::new();
        for message in read.turns.iter().flat_map(|turn| turn.messages.iter().rev()) {
            match message {
                Message::ToolResult(result) => results.push(&result.call_id),
                Message::Assistant(assistant) => return Ok(assistant.calls().all(|call| results.contains(&&call.id))),
                _ => {}
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use selvedge_event::{Timestamp, UserMessage};

    use super::*;

    fn turn(step: Step, bytes: usize) -> Arc<TurnRecord> {
        let user = UserMessage { input_id: "i".into(), text: "x".repeat(bytes).into() };
        Arc::new(TurnRecord { step, at: Timestamp(0), messages: vec![Message::User(user.into())] })
    }

    fn steps(page: &Page) -> Vec<Step> {
        page.turns().iter().map(|turn| turn.step).collect()
    }

    #[test]
    fn a_page_stays_within_twice_its_bound_and_says_what_is_older() {
        let mut page = Page::new(1_000);
        for step in 1..=6 {
            page.push(turn(step, 200));
            assert_eq!((steps(&page), page.older()), ((1..=step).collect(), None));
        }
        page.push(turn(7, 200));
        assert_eq!((steps(&page), page.older()), (vec![5, 6, 7], Some(5)));
        for step in 8..1_000 {
            page.push(turn(step, 200));
            assert!(page.bytes <= 2_000 && page.bytes == 300 * page.turns().len());
            assert_eq!(page.older(), page.turns().iter().next().map(|turn| turn.step));
        }
    }

    #[test]
    fn the_newest_turn_is_always_there() {
        let mut page = Page::new(10);
        page.push(turn(1, 5_000));
        assert_eq!((steps(&page), page.older()), (vec![1], None));
        page.push(turn(4, 5_000));
        assert_eq!((steps(&page), page.older()), (vec![4], Some(4)));
        let snapshot = page.clone();
        page.push(turn(5, 1));
        assert_eq!((steps(&page), steps(&snapshot)), (vec![5], vec![4]), "whoever has a clone keeps it");
    }
}
