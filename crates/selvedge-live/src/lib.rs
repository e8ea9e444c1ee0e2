//! Live fan-out for observers: every subscriber of a thread sees each event exactly once, at its own pace.
//!
//! ```
//! use std::sync::Arc;
//! use selvedge_event::{AgentEvent, ReplaySnapshot, ThreadId};
//! use selvedge_live::{FrameKind, Live, LiveObserver, LiveRequest, Subscribe};
//! use selvedge_observer::ThreadObserver;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let live = Live::default();
//! // A running system makes it, feeds it and routes requests to it; here it is played by hand.
//! let observer = Arc::new(LiveObserver::new(&live));
//! let system = {
//!     let observer = observer.clone();
//!     move |thread: ThreadId, request: LiveRequest| {
//!         observer.on_subscribe(thread.as_str(), request, snapshot(&thread));
//!         async { Ok(()) }
//!     }
//! };
//! let mut subscriber = live.subscribe(Arc::new(system), "t".into(), Subscribe::default()).await.unwrap();
//! observer.on_event("t", &AgentEvent::ThinkingStarted);
//!
//! assert!(matches!(subscriber.next().await.unwrap().kind, FrameKind::Snapshot(_)));
//! assert_eq!(subscriber.next().await.unwrap().event(), Some(&AgentEvent::ThinkingStarted));
//! # }
//! # fn snapshot(thread: &ThreadId) -> ReplaySnapshot {
//! #     ReplaySnapshot {
//! #         thread_id: thread.clone(), created_at: selvedge_event::Timestamp(0), step: 0, committed: 0,
//! #         history: selvedge_event::History::default(), older: None, partial: None, open_calls: vec![],
//! #         choices: vec![], oauth: vec![], views: vec![], usage: selvedge_event::Usage::default(),
//! #     }
//! # }
//! ```
//!
//! What it is: a [`Live`] that an embedder makes once; a [`Hub`] per observer, which is fed by the observer's methods;
//! [`Frame`]s with a [`Cursor`] each; [`Subscriber`]s that read them. [`LiveObserver`] is an observer made of nothing but
//! a hub.
//! What it is not: it keeps nothing durable, opens no connection, and knows no transport; a server writes
//! [`Frame::json`] to its clients.
//!
//! What it promises:
//! - A subscriber's snapshot, folded with the frames after it, is the thread at every moment: nothing twice, nothing
//!   missing. Cursors of frames grow strictly within an epoch.
//! - Resuming after a cursor gives exactly the frames after it, or a [`Resync`](FrameKind::Resync) and a snapshot: after
//!   a restart, in another thread of the same name, when the frames are kept no more. Never a wrong rest.
//! - Whoever publishes waits for nobody: the cost of an event does not grow with the subscribers, slow or many.
//! - A frame is made and its JSON is written once, however many read it. What is kept is bounded by [`LiveOptions`],
//!   whether anybody reads or not.
//! - A subscriber that is too far behind is told so, and gets a snapshot by itself when it reads on.
//! - A choice is shown only when its step is committed.
//! - A thread that nobody has subscribed to costs nothing.

mod attach;
mod coalesce;
mod cursor;
mod feed;
mod frame;
mod hub;
mod live;
mod observer;
mod options;
mod pump;
mod ring;
mod seat;
mod subscriber;

pub use attach::{Attach, AttachError, Attaching, ClientId, LiveRequest, Subscribe};
pub use cursor::{Cursor, CursorError, Epoch};
pub use frame::{Frame, FrameKind, ResyncReason};
pub use hub::Hub;
pub use live::{Live, LiveStats};
pub use observer::LiveObserver;
pub use options::LiveOptions;
pub use subscriber::{Ended, Subscriber};
