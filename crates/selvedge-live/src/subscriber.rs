//! [`Subscriber`]: the frames of one thread, one after the other.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use selvedge_event::ThreadId;

use crate::attach::{Attaching, LiveRequest};
use crate::coalesce::coalesce;
use crate::seat::{Cut, Seat};
use crate::{Attach, AttachError, ClientId, Cursor, Frame, FrameKind};

/// The frames of one thread, as they come: first a snapshot, or what follows on the cursor that was resumed.
///
/// It reads at its own pace and holds up nobody. When it falls behind by more than its budget, or its feed begins anew,
/// it gets a [`Resync`](FrameKind::Resync), and at its next read, by itself, a fresh snapshot. Dropping it ends it.
pub struct Subscriber {
    subscription: Subscription,
    seat: Arc<Seat>,
    /// Read and not yet given out.
    ready: VecDeque<Arc<Frame>>,
    /// Where reads leave frames; empty between them.
    batch: Vec<Arc<Frame>>,
    attachment: Attachment,
    /// The cursor of the last frame that was given out.
    cursor: Option<Cursor>,
    ended: Option<Ended>,
}

/// What stays the same however often a subscriber is attached.
pub(crate) struct Subscription {
    pub(crate) attach: Arc<dyn Attach>,
    pub(crate) thread: ThreadId,
    pub(crate) number: u64,
    pub(crate) client: Option<ClientId>,
    /// How many bytes it may be behind.
    pub(crate) lag: u64,
}

enum Attachment {
    Attached,
    /// Dropped from its feed: it attaches again at its next read.
    Detached,
    /// Under way.
    Attaching(Attaching),
}

/// Why a subscriber gets no more frames.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// A later subscription of the same client took its place.
    Replaced,
    /// The observer is gone: its system was shut down. Everything published was read.
    Closed,
    /// It had to resync and could not be attached again, such as to a thread that was deleted.
    Refused(AttachError),
}

impl Subscriber {
    /// Attaches for the first time.
    pub(crate) async fn attach(subscription: Subscription, resume: Option<Cursor>) -> Result<Self, AttachError> {
        let (seat, attaching) = subscription.request(resume);
        let mut subscriber = Self {
            subscription,
            seat,
            ready: VecDeque::new(),
            batch: Vec::new(),
            attachment: Attachment::Attaching(attaching),
            cursor: resume,
            ended: None,
        };
        subscriber.attached().await?;
        Ok(subscriber)
    }

    /// The next frame; `None` when there will be no more, for the reason that [`ended`](Self::ended) tells.
    ///
    /// # Cancel safety
    /// Dropping the future loses no frame.
    pub async fn next(&mut self) -> Option<Arc<Frame>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.cursor = Some(frame.cursor);
                return Some(frame);
            }
            if self.ended.is_some() {
                return None;
            }
            self.fill().await;
        }
    }

    /// Appends the next frames, at least one and `limit` at most, and returns how many; 0 when there will be no more, or
    /// for a limit of 0. Waits only for the first one.
    ///
    /// # Cancel safety
    /// Dropping the future loses no frame.
    pub async fn next_many(&mut self, frames: &mut Vec<Arc<Frame>>, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        while self.ready.is_empty() {
            if self.ended.is_some() {
                return 0;
            }
            self.fill().await;
        }
        let count = limit.min(self.ready.len());
        frames.extend(self.ready.drain(..count));
        self.cursor = frames.last().map(|frame| frame.cursor);
        count
    }

    /// The cursor of the last frame that was given out: where to resume. `None` before the first.
    pub fn cursor(&self) -> Option<Cursor> {
        self.cursor
    }

    /// The thread.
    pub fn thread(&self) -> &ThreadId {
        &self.subscription.thread
    }

    /// Why there are no more frames, once there are none.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// Waits for frames, or for the end.
    async fn fill(&mut self) {
        if !matches!(self.attachment, Attachment::Attached)
            && let Err(error) = self.attached().await
        {
            self.ended = Some(Ended::Refused(error));
            return;
        }
        // Frames may always be ready: others on this task's worker get their turn.
        tokio::task::consume_budget().await;
        let (seat, batch) = (&self.seat, &mut self.batch);
        match poll_fn(|cx| seat.poll_read(cx, batch)).await {
            Ok(lagging) => {
                if lagging {
                    coalesce(&mut self.batch);
                }
                self.ready.extend(self.batch.drain(..));
            }
            Err(Cut::Resync(cursor, reason)) => {
                self.attachment = Attachment::Detached;
                self.ready.push_back(Arc::new(Frame::new(cursor, FrameKind::Resync { reason })));
            }
            Err(Cut::Replaced) => self.ended = Some(Ended::Replaced),
            Err(Cut::Closed) => self.ended = Some(Ended::Closed),
        }
    }

    /// Waits until it is attached.
    async fn attached(&mut self) -> Result<(), AttachError> {
        if matches!(self.attachment, Attachment::Detached) {
            self.seat.leave();
            let (seat, attaching) = self.subscription.request(None);
            self.seat = seat;
            self.attachment = Attachment::Attaching(attaching);
        }
        if let Attachment::Attaching(attaching) = &mut self.attachment {
            let refused = attaching.await;
            self.attachment = Attachment::Attached;
            refused.map_err(AttachError::Refused)?;
        }
        if self.seat.is_installed() { Ok(()) } else { Err(AttachError::NotTaken) }
    }
}

impl Subscription {
    /// Asks to be attached.
    fn request(&self, resume: Option<Cursor>) -> (Arc<Seat>, Attaching) {
        let seat = Seat::new(self.number, self.client.clone(), self.lag);
        let request = LiveRequest { seat: seat.clone(), resume };
        (seat, self.attach.attach(self.thread.clone(), request))
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.seat.leave();
    }
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber")
            .field("thread", &self.subscription.thread)
            .field("client", &self.subscription.client)
            .field("cursor", &self.cursor)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
