//! The suite that every [`ThreadObserver`] which keeps something, or shows something, must pass.
//!
//! Each case is a public async function that panics if the observer breaks a promise; the macro
//! [`observer_conformance!`](crate::observer_conformance!) makes each of them a test of its own:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::{Arc, Mutex};
//!
//! use async_trait::async_trait;
//! use selvedge_event::{AgentEvent, Discard, History, Message, ThreadId};
//! use selvedge_observer::{BoxError, ThreadObserver};
//! use selvedge_store::ConversationStore;
//! use selvedge_testkit::observer_conformance::{NoViewer, ObserverHarness};
//!
//! /// Tokens of each step: by thread and step, so that a step that is committed again is replaced.
//! type Ledger = BTreeMap<(String, u64), u64>;
//!
//! #[derive(Default)]
//! struct Tokens {
//!     staged: Mutex<Ledger>,
//!     kept: Arc<Mutex<Ledger>>, // A database, if this were more than an example.
//! }
//!
//! #[async_trait(?Send)]
//! impl ThreadObserver for Tokens {
//!     type SubscribeRequest = ();
//!
//!     fn on_event(&self, thread_id: &str, event: &AgentEvent) {
//!         let mut staged = self.staged.lock().unwrap();
//!         match event {
//!             AgentEvent::CompletionFinished { step, usage, .. } => {
//!                 staged.insert((thread_id.into(), *step), usage.input + usage.output);
//!             }
//!             AgentEvent::TurnDiscarded { step, scope: Discard::Step, .. } => {
//!                 staged.remove(&(thread_id.into(), *step));
//!             }
//!             _ => {}
//!         }
//!     }
//!
//!     async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
//!         let mut staged = self.staged.lock().unwrap();
//!         let steps: Vec<_> = staged.keys().filter(|(thread, _)| thread == thread_id).cloned().collect();
//!         for step in steps {
//!             let tokens = staged.remove(&step).unwrap_or_default();
//!             self.kept.lock().unwrap().insert(step, tokens);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! struct Harness(Arc<Mutex<Ledger>>);
//!
//! impl ObserverHarness for Harness {
//!     type Observer = Tokens;
//!     type Viewer = NoViewer;
//!
//!     async fn fresh(_: Arc<dyn ConversationStore>) -> Self {
//!         Self(Arc::default())
//!     }
//!
//!     fn observers(&self) -> impl Fn() -> Tokens + Send + Sync + 'static {
//!         let kept = self.0.clone();
//!         move || Tokens { kept: kept.clone(), ..Tokens::default() }
//!     }
//!
//!     async fn restart(&mut self) {}
//!
//!     async fn committed(&self, thread: &ThreadId) -> String {
//!         let kept = self.0.lock().unwrap();
//!         let steps = kept.iter().filter(|((of, _), _)| of == thread.as_str());
//!         steps.map(|((_, step), tokens)| format!("{step}:{tokens} ")).collect()
//!     }
//!
//!     fn derived(&self, _: &ThreadId, history: &History) -> String {
//!         let turns = history.iter().flat_map(|turn| turn.messages.iter().map(|message| (turn.step, message)));
//!         let tokens = turns.filter_map(|(step, message)| match message {
//!             Message::Assistant(answer) => Some((step, answer.usage.input + answer.usage.output)),
//!             _ => None,
//!         });
//!         tokens.map(|(step, tokens)| format!("{step}:{tokens} ")).collect()
//!     }
//! }
//!
//! selvedge_testkit::observer_conformance!(Harness);
//! # fn main() {}
//! ```
//!
//! The observer is led through steps by the real barrier over a [`MemoryStore`](selvedge_store::MemoryStore), and to its
//! subscribers by the real runtime. What it keeps is compared with what its history says, as text that the harness makes
//! of both.
//!
//! What it cannot see: whether what is committed survives a power cut.

pub mod again;
pub mod choices;
pub mod elsewhere;
pub mod feed;
mod scenes;
mod stage;
pub mod subscribers;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use selvedge_event::{AgentEvent, ChoiceId, History, ReplaySnapshot, ThreadId};
use selvedge_observer::{BoxError, ThreadObserver};
use selvedge_store::ConversationStore;

/// How the suite gets at a kind of observer. Its functions panic where they fail.
pub trait ObserverHarness: Sized {
    /// The observer.
    type Observer: ThreadObserver + 'static;

    /// What a subscriber of it reads; [`NoViewer`] if it serves none.
    type Viewer: Viewer;

    /// The place where an observer keeps its state, with nothing in it. `store` is where the threads are durable.
    fn fresh(store: Arc<dyn ConversationStore>) -> impl Future<Output = Self>;

    /// Makes observers on that place, as each shard of a process does.
    fn observers(&self) -> impl Fn() -> Self::Observer + Send + Sync + 'static;

    /// What the death of the process and a new start would do: forgets all that is not durable, and opens the place
    /// again. The suite has dropped all observers before.
    fn restart(&mut self) -> impl Future<Output = ()>;

    /// What is committed of a thread, as text that can be compared.
    fn committed(&self, thread: &ThreadId) -> impl Future<Output = String>;

    /// What should be committed of a thread of this history, as the same text.
    fn derived(&self, thread: &ThreadId, history: &History) -> String;

    /// Whether the observer finds out about steps that it has not been shown: those of a fork's parent, or such as
    /// others ran.
    fn derives(&self) -> bool {
        false
    }

    /// The choices that it keeps of a thread, oldest first; `None` if it keeps no choices.
    fn choices(&self, thread: &ThreadId) -> impl Future<Output = Option<Vec<ChoiceId>>> {
        let _ = thread;
        async { None }
    }

    /// Attaches somebody to a thread: `attach` takes a request to its observer. `None` if the observer serves nobody.
    fn watch(
        &self,
        thread: &ThreadId,
        attach: Attach<<Self::Observer as ThreadObserver>::SubscribeRequest>,
    ) -> impl Future<Output = Option<Self::Viewer>> {
        let (_, _) = (thread, attach);
        async { None }
    }
}

/// Takes a request to the observer of a thread, as `RunningSystem::subscribe` does.
pub type Attach<R> =
    Arc<dyn Fn(ThreadId, R) -> Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>> + Send + Sync>;

/// The reading end of a subscriber.
pub trait Viewer {
    /// What is shown next; `None` when the subscription has ended.
    fn next(&mut self) -> impl Future<Output = Option<Shown>>;
}

/// Something that a subscriber is shown.
#[derive(Debug, Clone)]
pub enum Shown {
    /// The thread as it is: what was shown before is replaced.
    Snapshot(Box<ReplaySnapshot>),
    /// The thread did something.
    Event(AgentEvent),
    /// Anything that is not part of a transcript.
    Other,
}

/// What subscribers of an observer read that serves none.
#[derive(Debug, Clone, Copy)]
pub enum NoViewer {}

impl Viewer for NoViewer {
    async fn next(&mut self) -> Option<Shown> {
        None
    }
}

/// How long a case may take. They take seconds at most: whoever needs longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a case to its end as a shard would, on one thread.
///
/// # Panics
/// If the case does, or does not end within two minutes.
pub fn check(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the machine has threads to spare");
    let case = async { tokio::time::timeout(LIMIT, case).await.expect("the observer hangs") };
    tokio::task::LocalSet::new().block_on(&runtime, case);
}

/// Makes one test of each case of the [suite](mod@crate::observer_conformance), for the [`ObserverHarness`] that it is
/// given.
///
/// The tests run under the runtime that this crate brings along and are named `module::case`. Cases about what an
/// observer does not do (deriving, choices, subscribers) pass at once.
#[macro_export]
macro_rules! observer_conformance {
    ($harness:ty) => {
        $crate::observer_conformance! { @tests $harness;
            feed {
                what_is_committed_is_what_the_history_says
                no_event_is_too_much
                a_discarded_step_leaves_nothing
                nothing_is_committed_before_its_commit
                threads_do_not_mix
                a_step_may_show_nothing
                any_text_is_kept
                a_thread_may_be_unknown
            }
            again {
                a_step_that_is_committed_again_changes_nothing
                a_crash_before_the_commit_is_made_good
                a_crash_before_the_sync_is_made_good
                a_crash_within_the_commit_is_made_good
                a_commit_that_is_dropped_is_made_good
                a_step_that_is_tried_again_changes_nothing
                what_is_committed_survives_a_crash
            }
            elsewhere {
                steps_that_others_ran_are_made_good
                steps_that_nobody_saw_are_made_good
                a_fork_has_what_it_shares
                a_thread_that_is_made_anew_has_nothing_of_the_old_one
            }
            choices {
                a_choice_is_kept_when_its_hook_has_returned
                a_choice_that_is_required_again_is_kept_once
                a_choice_whose_hook_was_cut_off_is_kept_in_the_end
                a_choice_that_is_answered_is_gone
                a_dismissed_choice_is_gone
                a_choice_ends_with_its_call
                choices_of_threads_do_not_mix
            }
            subscribers {
                a_subscriber_sees_each_event_once
            }
        }
    };
    (@tests $harness:ty; $($module:ident { $($case:ident)* })*) => {
        $(mod $module {
            #[allow(unused_imports, reason = "the harness may be named by a full path")]
            use super::*;

            $(#[test]
            fn $case() {
                $crate::observer_conformance::check($crate::observer_conformance::$module::$case::<$harness>());
            })*
        })*
    };
}
