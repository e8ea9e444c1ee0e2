//! A feed's newest frames, bounded in bytes. Plain data, without locks.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Cursor, Epoch, Frame, FrameKind, ResyncReason};

/// The newest frames of a feed, as many as fit its bound.
#[derive(Debug)]
pub(crate) struct Ring {
    epoch: Epoch,
    bound: usize,
    frames: VecDeque<Kept>,
    /// The number of the next frame.
    next: u64,
    /// Bytes of all frames that ever were.
    published: u64,
    /// Bytes of all frames that are kept no more.
    dropped: u64,
}

#[derive(Debug)]
struct Kept {
    frame: Arc<Frame>,
    /// Bytes of all frames up to this one.
    end: u64,
}

/// What a ring can give to somebody at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// Everything from the place on; so many bytes of it.
    Bytes(u64),
    /// Not what comes next.
    Nothing(ResyncReason),
}

impl Ring {
    pub(crate) fn new(bound: usize) -> Self {
        Self { epoch: Epoch::draw(), bound, frames: VecDeque::new(), next: 1, published: 0, dropped: 0 }
    }

    /// The place of the newest frame.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch, seq: self.next - 1 }
    }

    /// Bytes of the frames that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.published - self.dropped
    }

    /// Bytes of all frames that ever were.
    pub(crate) fn published(&self) -> u64 {
        self.published
    }

    /// Adds a frame; the oldest make room for it.
    pub(crate) fn push(&mut self, kind: FrameKind) {
        self.published += kind.weight() as u64;
        let cursor = Cursor { epoch: self.epoch, seq: self.next };
        self.next += 1;
        self.frames.push_back(Kept { frame: Arc::new(Frame::new(cursor, kind)), end: self.published });
        while self.bytes() > self.bound as u64 && self.frames.len() > 1 {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.frames.pop_front() {
            self.dropped = oldest.end;
        }
    }

    /// Keeps none.
    pub(crate) fn clear(&mut self) {
        self.frames = VecDeque::new();
        self.dropped = self.published;
    }

    /// The number of the oldest frame that is kept, or of the next one.
    fn first(&self) -> u64 {
        self.next - self.frames.len() as u64
    }

    /// What there is for somebody who has seen everything before the frame `next`.
    pub(crate) fn ahead(&self, next: u64) -> Ahead {
        if next > self.next {
            return Ahead::Nothing(ResyncReason::Ahead);
        }
        let Some(place) = next.checked_sub(self.first()) else {
            return Ahead::Nothing(ResyncReason::Overrun);
        };
        let seen = match usize::try_from(place).ok().and_then(|place| place.checked_sub(1)) {
            Some(before) => self.frames[before].end,
            None => self.dropped,
        };
        Ahead::Bytes(self.published - seen)
    }

    /// Where a cursor resumes: the number of the frame after it.
    pub(crate) fn resume(&self, cursor: Cursor) -> Result<u64, ResyncReason> {
        if cursor.epoch != self.epoch {
            return Err(ResyncReason::OtherEpoch);
        }
        // A cursor may be any number that somebody made up.
        let next = cursor.seq.checked_add(1).ok_or(ResyncReason::Ahead)?;
        match self.ahead(next) {
            Ahead::Bytes(_) => Ok(next),
            Ahead::Nothing(reason) => Err(reason),
        }
    }

    /// Appends frames from `next` on, at least one and until there are `count` or `bytes` of them. Returns how many.
    /// They must be [ahead](Self::ahead).
    pub(crate) fn read(&self, next: u64, count: usize, bytes: u64, into: &mut Vec<Arc<Frame>>) -> usize {
        let place = usize::try_from(next - self.first()).expect("bug: read past the end of a ring");
        let start = if place == 0 { self.dropped } else { self.frames[place - 1].end };
        let before = into.len();
        for kept in self.frames.range(place..).take(count) {
            into.push(kept.frame.clone());
            if kept.end - start >= bytes {
                break;
            }
        }
        into.len() - before
    }
}

#[cfg(test)]
mod tests {
    use selvedge_event::AgentEvent;

    use super::*;

    fn chunk(bytes: usize) -> FrameKind {
        FrameKind::Event(AgentEvent::TextChunk { text: "x".repeat(bytes).into() })
    }

    fn numbers(ring: &Ring, next: u64) -> Vec<u64> {
        let mut frames = Vec::new();
        ring.read(next, usize::MAX, u64::MAX, &mut frames);
        frames.iter().map(|frame| frame.cursor.seq).collect()
    }

    #[test]
    fn keeps_what_fits_and_knows_what_it_has_not() {
        let one = chunk(10).weight();
        let mut ring = Ring::new(3 * one);
        assert_eq!(ring.ahead(1), Ahead::Bytes(0));
        (0..5).for_each(|_| ring.push(chunk(10)));
        assert_eq!(ring.bytes(), 3 * one as u64);
        assert_eq!(ring.ahead(2), Ahead::Nothing(ResyncReason::Overrun));
        assert_eq!(ring.ahead(3), Ahead::Bytes(3 * one as u64));
        assert_eq!(ring.ahead(6), Ahead::Bytes(0));
        assert_eq!(ring.ahead(7), Ahead::Nothing(ResyncReason::Ahead));
        assert_eq!(numbers(&ring, 3), [3, 4, 5]);
        assert_eq!(numbers(&ring, 5), [5]);
        assert_eq!(numbers(&ring, 6), [] as [u64; 0]);
    }

    #[test]
    fn the_newest_frame_is_kept_whatever_its_size() {
        let mut ring = Ring::new(1000);
        ring.push(chunk(1));
        ring.push(chunk(100_000));
        assert_eq!(numbers(&ring, 2), [2]);
        ring.push(chunk(1));
        assert_eq!(numbers(&ring, 3), [3]);
        assert_eq!(ring.ahead(2), Ahead::Nothing(ResyncReason::Overrun));
    }

    #[test]
    fn resumes_only_where_it_has_everything_after_the_cursor() {
        let mut ring = Ring::new(chunk(0).weight() * 2);
        let beginning = ring.cursor();
        assert_eq!(ring.resume(beginning), Ok(1));
        (0..4).for_each(|_| ring.push(chunk(0)));
        let at = |seq| Cursor { seq, ..beginning };
        assert_eq!(ring.resume(beginning), Err(ResyncReason::Overrun));
        assert_eq!(ring.resume(at(1)), Err(ResyncReason::Overrun));
        assert_eq!(ring.resume(at(2)), Ok(3));
        assert_eq!(ring.resume(at(4)), Ok(5));
        assert_eq!(ring.resume(at(5)), Err(ResyncReason::Ahead));
        assert_eq!(ring.resume(at(u64::MAX)), Err(ResyncReason::Ahead));
        assert_eq!(Ring::new(1).resume(beginning), Err(ResyncReason::OtherEpoch));
    }

    #[test]
    fn a_cleared_ring_goes_on_where_it_was() {
        let mut ring = Ring::new(10_000);
        (0..3).for_each(|_| ring.push(chunk(0)));
        ring.clear();
        assert_eq!(ring.bytes(), 0);
        assert_eq!(ring.ahead(3), Ahead::Nothing(ResyncReason::Overrun));
        assert_eq!(ring.ahead(4), Ahead::Bytes(0));
        ring.push(chunk(0));
        assert_eq!(numbers(&ring, 4), [4]);
    }

    #[test]
    fn a_read_ends_at_its_bounds() {
        let mut ring = Ring::new(100_000);
        (0..9).for_each(|_| ring.push(chunk(100)));
        let one = chunk(100).weight() as u64;
        let mut frames = Vec::new();
        assert_eq!(ring.read(1, 4, u64::MAX, &mut frames), 4);
        assert_eq!(ring.read(5, 9, 1, &mut frames), 1, "at least one");
        assert_eq!(ring.read(6, 9, 2 * one, &mut frames), 2);
    }
}
