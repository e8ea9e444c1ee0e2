//! Gates, at which operations are held.

use tokio::sync::watch;

/// Holds operations until it is opened, or dropped: a test that fails leaves nobody waiting.
#[derive(Debug)]
#[must_use = "a gate that is dropped is open"]
pub struct Gate {
    open: watch::Sender<bool>,
    arrived: watch::Receiver<u64>,
}

/// The operations' side of a gate.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    open: watch::Receiver<bool>,
    arrived: watch::Sender<u64>,
}

pub(super) fn gate() -> (Gate, Passage) {
    let (open, is_open) = watch::channel(false);
    let (arrived, has_arrived) = watch::channel(0);
    (Gate { open, arrived: has_arrived }, Passage { open: is_open, arrived })
}

impl Gate {
    /// Waits until `n` operations have come to the gate, those counted whose callers have given up since.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Panics
    /// If no operation can come any more, because the store is gone or was told to forget its gates.
    pub async fn reached(&self, n: u64) {
        let mut arrived = self.arrived.clone();
        arrived.wait_for(|arrived| *arrived >= n).await.expect("operations can still come to the gate");
    }

    /// Lets all operations through, those that wait and those to come.
    pub fn open(self) {
        self.open.send_replace(true);
    }
}

impl Passage {
    /// Waits until the gate is open.
    pub(super) async fn pass(mut self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        // The other way to open a gate is to drop it.
        while !*self.open.borrow_and_update() {
            if self.open.changed().await.is_err() {
                break;
            }
        }
    }
}
