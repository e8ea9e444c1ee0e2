//! The observer suite catches what is wrong with an observer, by the name of the promise that it breaks.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use selvedge_event::{AgentEvent, Block, ChoiceId, Discard, History, Message, ReplaySnapshot, ThreadId, UserChoice};
use selvedge_observer::{BoxError, ThreadObserver};
use selvedge_store::ConversationStore;
use selvedge_testkit::observer_conformance::{
    Attach, ObserverHarness, Shown, Viewer, again, check, choices, feed, subscribers,
};
use tokio::sync::mpsc;

/// What is wrong with an observer.
type Flaw = u8;
const NONE: Flaw = 0;
const ADDS: Flaw = 1;
const KEEPS_DISCARDED_STEPS: Flaw = 2;
const KEEPS_DISCARDED_ATTEMPTS: Flaw = 3;
const KEEPS_BEFORE_THE_COMMIT: Flaw = 4;
const MIXES_THREADS: Flaw = 5;
const KEEPS_IN_MEMORY: Flaw = 6;
const KEEPS_CHOICES_LATE: Flaw = 7;
const KEEPS_DISMISSED_CHOICES: Flaw = 8;
const MIXES_CHOICES: Flaw = 9;
const KEEPS_CHOICES_TWICE: Flaw = 10;
const SHOWS_TWICE: Flaw = 11;
const SHOWS_NO_SNAPSHOT: Flaw = 12;
const LOSES_COMMITS_THAT_ARE_DROPPED: Flaw = 13;

#[derive(Default)]
struct Kept {
    texts: BTreeMap<(String, u64), String>,
    choices: Vec<(String, ChoiceId)>,
}

/// Keeps what was said in each step.
struct Texts<const FLAW: Flaw> {
    staged: Mutex<HashMap<String, Staged>>,
    required: Mutex<Vec<(String, ChoiceId)>>,
    subscribers: Mutex<Vec<(String, mpsc::UnboundedSender<Shown>)>>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Staged {
    step: u64,
    text: String,
    /// How long the text was when the attempt started.
    attempt: usize,
}

impl<const FLAW: Flaw> Texts<FLAW> {
    fn name(thread: &str) -> String {
        if FLAW == MIXES_THREADS { "all".into() } else { thread.into() }
    }

    fn keep(&self, thread: &str, staged: &Staged) {
        let mut kept = self.kept.lock().unwrap();
        let text = kept.texts.entry((thread.into(), staged.step)).or_default();
        if FLAW == ADDS {
            text.push_str(&staged.text);
        } else {
            text.clone_from(&staged.text);
        }
    }
}

#[async_trait(?Send)]
impl<const FLAW: Flaw> ThreadObserver for Texts<FLAW> {
    type SubscribeRequest = mpsc::UnboundedSender<Shown>;

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        for (_, subscriber) in self.subscribers.lock().unwrap().iter().filter(|(thread, _)| thread == thread_id) {
            for _ in 0..if FLAW == SHOWS_TWICE { 2 } else { 1 } {
                subscriber.send(Shown::Event(event.clone())).ok();
            }
        }
        let mut all = self.staged.lock().unwrap();
        let staged = all.entry(Self::name(thread_id)).or_default();
        match event {
            AgentEvent::TurnDiscarded { scope: Discard::Step, .. } => {
                if FLAW != KEEPS_DISCARDED_STEPS {
                    *staged = Staged::default();
                }
                return;
            }
            AgentEvent::TurnDiscarded { .. } if FLAW != KEEPS_DISCARDED_ATTEMPTS => {
                staged.text.truncate(staged.attempt);
            }
            AgentEvent::CompletionStarted { .. } => staged.attempt = staged.text.len(),
            AgentEvent::TextChunk { text } | AgentEvent::UserInput { text, .. } => staged.text.push_str(text),
            _ => {}
        }
        if let Some(step) = event.step() {
            staged.step = step;
        }
        if FLAW == KEEPS_BEFORE_THE_COMMIT {
            self.keep(thread_id, staged);
        }
    }

    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        let thread = if FLAW == MIXES_CHOICES { "" } else { thread_id };
        let entry = (thread.to_owned(), choice.id.clone());
        let mut kept = self.kept.lock().unwrap();
        if FLAW == KEEPS_CHOICES_LATE {
            self.required.lock().unwrap().push(entry);
        } else if FLAW == KEEPS_CHOICES_TWICE || !kept.choices.contains(&entry) {
            kept.choices.push(entry);
        }
        Ok(())
    }

    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        let thread = if FLAW == MIXES_CHOICES { "" } else { thread_id };
        if FLAW != KEEPS_DISMISSED_CHOICES {
            self.kept.lock().unwrap().choices.retain(|(of, id)| of != thread || id.as_str() != choice_id);
        }
        Ok(())
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        let staged = self.staged.lock().unwrap().remove(&Self::name(thread_id));
        if FLAW == LOSES_COMMITS_THAT_ARE_DROPPED {
            tokio::task::yield_now().await;
            let newest = staged.as_ref().map_or(0, |staged| staged.step);
            // Takes what it has seen for what it has kept.
            if std::mem::replace(&mut *SEEN.lock().unwrap(), newest) == newest {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        if let Some(staged) = staged.filter(|staged| staged.step > 0) {
            self.keep(thread_id, &staged);
        }
        self.kept.lock().unwrap().choices.extend(self.required.lock().unwrap().drain(..));
        Ok(())
    }

    fn on_subscribe(&self, thread_id: &str, request: Self::SubscribeRequest, snapshot: ReplaySnapshot) {
        if FLAW != SHOWS_NO_SNAPSHOT {
            request.send(Shown::Snapshot(Box::new(snapshot))).ok();
        }
        self.subscribers.lock().unwrap().push((thread_id.into(), request));
    }
}

static SEEN: Mutex<u64> = Mutex::new(0);

struct Harness<const FLAW: Flaw>(Arc<Mutex<Kept>>);

impl<const FLAW: Flaw> ObserverHarness for Harness<FLAW> {
    type Observer = Texts<FLAW>;
    type Viewer = Frames;

    async fn fresh(_: Arc<dyn ConversationStore>) -> Self {
        Self(Arc::default())
    }

    fn observers(&self) -> impl Fn() -> Texts<FLAW> + Send + Sync + 'static {
        let kept = self.0.clone();
        move || Texts {
            kept: kept.clone(),
            staged: Mutex::default(),
            required: Mutex::default(),
            subscribers: Mutex::default(),
        }
    }

    async fn restart(&mut self) {
        if FLAW == KEEPS_IN_MEMORY {
            *self.0.lock().unwrap() = Kept::default();
        }
    }

    async fn committed(&self, thread: &ThreadId) -> String {
        let kept = self.0.lock().unwrap();
        let texts = kept.texts.iter().filter(|((of, _), text)| of == thread.as_str() && !text.is_empty());
        texts.map(|((_, step), text)| format!("{step}: {text}\n")).collect()
    }

    fn derived(&self, _: &ThreadId, history: &History) -> String {
        let text = |message: &Message| match message {
            Message::User(user) => user.text.to_string(),
            Message::Assistant(answer) => {
                let texts = answer.blocks.iter().map(|block| match block {
                    Block::Text { text, .. } => &**text,
                    _ => "",
                });
                texts.collect()
            }
            _ => String::new(),
        };
        let turns = history.iter().map(|turn| (turn.step, turn.messages.iter().map(text).collect::<String>()));
        turns.filter(|(_, text)| !text.is_empty()).map(|(step, text)| format!("{step}: {text}\n")).collect()
    }

    async fn choices(&self, thread: &ThreadId) -> Option<Vec<ChoiceId>> {
        let kept = self.0.lock().unwrap();
        let choices = kept.choices.iter().filter(|(of, _)| of == thread.as_str() || of.is_empty());
        Some(choices.map(|(_, choice)| choice.clone()).collect())
    }

    async fn watch(&self, thread: &ThreadId, attach: Attach<mpsc::UnboundedSender<Shown>>) -> Option<Frames> {
        let (sender, frames) = mpsc::unbounded_channel();
        attach(thread.clone(), sender).await.unwrap();
        Some(Frames(frames))
    }
}

struct Frames(mpsc::UnboundedReceiver<Shown>);

impl Viewer for Frames {
    async fn next(&mut self) -> Option<Shown> {
        self.0.recv().await
    }
}

fn passes(case: impl Future<Output = ()>) -> bool {
    catch_unwind(AssertUnwindSafe(|| check(case))).is_ok()
}

/// The case passes without a flaw, and fails with one.
macro_rules! catches {
    ($($flaw:ident in $module:ident::$case:ident;)*) => {
        $(
            assert!(passes($module::$case::<Harness<NONE>>()), stringify!($case));
            assert!(!passes($module::$case::<Harness<$flaw>>()), "{} does not catch {}", stringify!($case), stringify!($flaw));
        )*
    };
}

#[test]
fn every_flaw_is_caught() {
    catches! {
        ADDS in again::a_step_that_is_committed_again_changes_nothing;
        ADDS in again::a_step_that_is_tried_again_changes_nothing;
        KEEPS_DISCARDED_STEPS in feed::a_discarded_step_leaves_nothing;
        KEEPS_DISCARDED_STEPS in feed::no_event_is_too_much;
        KEEPS_DISCARDED_ATTEMPTS in feed::what_is_committed_is_what_the_history_says;
        KEEPS_BEFORE_THE_COMMIT in feed::nothing_is_committed_before_its_commit;
        MIXES_THREADS in feed::threads_do_not_mix;
        KEEPS_IN_MEMORY in again::what_is_committed_survives_a_crash;
        LOSES_COMMITS_THAT_ARE_DROPPED in again::a_commit_that_is_dropped_is_made_good;
        LOSES_COMMITS_THAT_ARE_DROPPED in again::a_crash_within_the_commit_is_made_good;
        KEEPS_CHOICES_LATE in choices::a_choice_is_kept_when_its_hook_has_returned;
        KEEPS_DISMISSED_CHOICES in choices::a_dismissed_choice_is_gone;
        MIXES_CHOICES in choices::choices_of_threads_do_not_mix;
        KEEPS_CHOICES_TWICE in choices::a_choice_that_is_required_again_is_kept_once;
        SHOWS_TWICE in subscribers::a_subscriber_sees_each_event_once;
        SHOWS_NO_SNAPSHOT in subscribers::a_subscriber_sees_each_event_once;
    }
}

/// An answer is told by no hook: an observer that does not ask is caught, and so is one that forgets the call's choices.
#[test]
fn choices_that_nobody_ends_are_caught() {
    assert!(!passes(choices::a_choice_that_is_answered_is_gone::<Harness<NONE>>()));
    assert!(!passes(choices::a_choice_ends_with_its_call::<Harness<NONE>>()));
}
