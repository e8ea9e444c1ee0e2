//! [`ThreadObserver`]: the event feed and the awaited hooks through which a thread is watched and kept.
//!
//! ```
//! use selvedge_event::AgentEvent;
//! use selvedge_observer::ThreadObserver;
//!
//! struct Print;
//!
//! impl ThreadObserver for Print {
//!     type SubscribeRequest = ();
//!
//!     fn on_event(&self, thread_id: &str, event: &AgentEvent) {
//!         println!("{thread_id}: {event:?}");
//!     }
//! }
//! # Print.on_event("t", &AgentEvent::ThinkingStarted);
//! ```
//!
//! What it is: the one border between a thread and the program that embeds it. Events are for showing: synchronous,
//! emitted in the poll that produced them. Hooks are for keeping: awaited at their transition, and an error of one
//! stops the step there.
//! What it is not: it holds no subscribers, no queues and no runtime; an implementation brings its own.
//!
//! With it come [`NullObserver`], [`EventCollector`], [`Tee`], and [`Steps`], which tells what step an event or a commit
//! belongs to.

mod collector;
mod factory;
mod guard;
mod null;
mod observer;
mod steps;
mod tee;

pub use collector::{Collected, EventCollector};
pub use factory::ObserverFactory;
pub use guard::{ObserverPanic, guard, guard_hook};
pub use null::NullObserver;
pub use observer::{BoxError, ThreadObserver};
pub use steps::{Follows, Steps};
pub use tee::{Tee, TeeRequest};
