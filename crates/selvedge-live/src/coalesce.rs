//! Neighbouring chunks of text as one, for subscribers that are far behind.

use std::sync::Arc;

use selvedge_event::AgentEvent;

use crate::{Frame, FrameKind};

/// Replaces each run of chunks of one kind by one frame, which carries the last one's cursor. What a transcript makes of
/// the frames stays the same.
pub(crate) fn coalesce(frames: &mut Vec<Arc<Frame>>) {
    let mut merged: Vec<Arc<Frame>> = Vec::with_capacity(frames.len());
    let mut run: Vec<Arc<Frame>> = Vec::new();
    for frame in frames.drain(..) {
        if run.last().is_some_and(|last| kind_of_chunk(last) != kind_of_chunk(&frame)) {
            merged.extend(one_of(&mut run));
        }
        if kind_of_chunk(&frame).is_some() {
            run.push(frame);
        } else {
            merged.push(frame);
        }
    }
    merged.extend(one_of(&mut run));
    *frames = merged;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Text,
    Thinking,
}

fn kind_of_chunk(frame: &Frame) -> Option<Chunk> {
    match frame.event()? {
        AgentEvent::TextChunk { .. } => Some(Chunk::Text),
        AgentEvent::ThinkingChunk { .. } => Some(Chunk::Thinking),
        _ => None,
    }
}

/// Empties a run of chunks into one frame.
fn one_of(run: &mut Vec<Arc<Frame>>) -> Option<Arc<Frame>> {
    let last = run.last()?.clone();
    if run.len() == 1 {
        run.clear();
        return Some(last);
    }
    let kind = kind_of_chunk(&last)?;
    let texts = run.iter().filter_map(|frame| match frame.event()? {
        AgentEvent::TextChunk { text } | AgentEvent::ThinkingChunk { text } => Some(&**text),
        _ => None,
    });
    let text = texts.collect::<String>().into();
    run.clear();
    let event = match kind {
        Chunk::Text => AgentEvent::TextChunk { text },
        Chunk::Thinking => AgentEvent::ThinkingChunk { text },
    };
    Some(Arc::new(Frame::new(last.cursor, FrameKind::Event(event))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cursor, Epoch};

    #[test]
    fn runs_become_one_and_nothing_crosses_anything_else() {
        let text = |text: &str| FrameKind::Event(AgentEvent::TextChunk { text: text.into() });
        let thought = |text: &str| FrameKind::Event(AgentEvent::ThinkingChunk { text: text.into() });
        let kinds = [
            text("a"),
            text("b"),
            FrameKind::Committed { step: 1 },
            text("c"),
            thought("d"),
            thought("e"),
            FrameKind::Event(AgentEvent::ThinkingEnded),
            text("f"),
            text("g"),
        ];
        let epoch = Epoch::draw();
        let numbered = kinds.into_iter().zip(1..);
        let mut frames: Vec<_> =
            numbered.map(|(kind, seq)| Arc::new(Frame::new(Cursor { epoch, seq }, kind))).collect();
        coalesce(&mut frames);
        let merged: Vec<(u64, FrameKind)> = frames.iter().map(|frame| (frame.cursor.seq, frame.kind.clone())).collect();
        let expected = [
            (2, text("ab")),
            (3, FrameKind::Committed { step: 1 }),
            (4, text("c")),
            (6, thought("de")),
            (7, FrameKind::Event(AgentEvent::ThinkingEnded)),
            (9, text("fg")),
        ];
        assert_eq!(merged, expected);
    }
}
