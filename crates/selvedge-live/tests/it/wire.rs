//! The serde form of frames: what clients read.

use selvedge_event::{AgentEvent, History, ReplaySnapshot, Timestamp, Usage};
use selvedge_live::{Cursor, Frame, FrameKind, ResyncReason};

use crate::stage::choice;

#[test]
fn frames() {
    let cursor: Cursor = "0123456789abcdef.7".parse().unwrap();
    let snapshot = ReplaySnapshot {
        thread_id: "support/42".into(),
        created_at: Timestamp(1_764_500_000_000),
        step: 1,
        committed: 1,
        history: History::default(),
        older: None,
        partial: None,
        open_calls: Vec::new(),
        choices: Vec::new(),
        oauth: Vec::new(),
        views: Vec::new(),
        usage: Usage::default(),
    };
    let resyncs = [
        ResyncReason::Lagging,
        ResyncReason::Overrun,
        ResyncReason::Discontinued,
        ResyncReason::OtherEpoch,
        ResyncReason::Ahead,
    ];
    let kinds = [
        FrameKind::Snapshot(Box::new(snapshot)),
        FrameKind::Event(AgentEvent::TextChunk { text: "hi".into() }),
        FrameKind::ChoiceRequired(choice(1)),
        FrameKind::ChoiceDismissed("call_1_0:1".into()),
        FrameKind::Committed { step: 2 },
    ];
    let kinds = kinds.into_iter().chain(resyncs.map(|reason| FrameKind::Resync { reason }));
    let lines = kinds.map(|kind| {
        let frame = Frame::new(cursor, kind);
        assert_eq!(serde_json::from_str::<Frame>(frame.json()).unwrap(), frame);
        frame.json().to_owned()
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}
