//! The observers of the examples, and such as are put together, are what every observer is.

#[path = "../../../../crates/selvedge/examples/custom_observer/costs.rs"]
mod costs;
#[path = "../../../../crates/selvedge/examples/live_attach/fan_out.rs"]
mod fan_out;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use selvedge::event::{History, Message};
use selvedge::observer::TeeRequest;
use selvedge::prelude::*;
use selvedge_testkit::observer_conformance::{Attach, NoViewer, ObserverHarness, Shown, Viewer};
use tokio::sync::mpsc;

use costs::Costs;
use fan_out::{FanOut, Frame};

/// The file of `Costs`, removed at the end.
struct Ledger(PathBuf);

impl Ledger {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("costs-{}-{number}.txt", std::process::id());
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn of(&self, thread: &ThreadId) -> String {
        format!("{:?}", costs::read(&self.0).remove(thread.as_str()).unwrap_or_default())
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// What `Costs` should keep of a history.
fn costs_of(history: &History) -> String {
    let turns = history.iter().flat_map(|turn| turn.messages.iter().map(|message| (turn.step, message)));
    let tokens = turns.filter_map(|(step, message)| match message {
        Message::Assistant(answer) => Some((step, answer.usage.input + answer.usage.output)),
        _ => None,
    });
    format!("{:?}", tokens.collect::<std::collections::BTreeMap<u64, u64>>())
}

mod custom_observer {
    use super::*;

    impl ObserverHarness for Ledger {
        type Observer = Costs;
        type Viewer = NoViewer;

        async fn fresh(_: Arc<dyn ConversationStore>) -> Self {
            Self::new()
        }

        fn observers(&self) -> impl Fn() -> Costs + Send + Sync + 'static {
            let file = self.0.clone();
            move || Costs::open(file.clone())
        }

        async fn restart(&mut self) {}

        async fn committed(&self, thread: &ThreadId) -> String {
            self.of(thread)
        }

        fn derived(&self, _: &ThreadId, history: &History) -> String {
            costs_of(history)
        }
    }

    selvedge_testkit::observer_conformance!(Ledger);
}

/// One that shows, one that keeps, and one that collects, as one.
mod tee {
    use super::*;

    struct Both(Ledger);

    impl ObserverHarness for Both {
        type Observer = Tee<EventCollector, Tee<FanOut, Costs>>;
        type Viewer = Frames;

        async fn fresh(_: Arc<dyn ConversationStore>) -> Self {
            Self(Ledger::new())
        }

        fn observers(&self) -> impl Fn() -> Self::Observer + Send + Sync + 'static {
            let file = self.0.0.clone();
            move || Tee::new(EventCollector::new(), Tee::new(FanOut::default(), Costs::open(file.clone())))
        }

        async fn restart(&mut self) {}

        async fn committed(&self, thread: &ThreadId) -> String {
            self.0.of(thread)
        }

        fn derived(&self, _: &ThreadId, history: &History) -> String {
            costs_of(history)
        }

        async fn watch(&self, thread: &ThreadId, attach: Attach<Request>) -> Option<Frames> {
            let (viewer, frames) = mpsc::channel(1024);
            attach(thread.clone(), TeeRequest::Second(TeeRequest::First(viewer))).await.unwrap();
            Some(Frames(frames))
        }
    }

    type Request = TeeRequest<(), TeeRequest<mpsc::Sender<Frame>, ()>>;

    struct Frames(mpsc::Receiver<Frame>);

    impl Viewer for Frames {
        async fn next(&mut self) -> Option<Shown> {
            Some(match self.0.recv().await? {
                Frame::Snapshot(snapshot) => Shown::Snapshot(snapshot),
                Frame::Event(event) => Shown::Event(event),
            })
        }
    }

    selvedge_testkit::observer_conformance!(Both);
}
