//! [`Hub`]: where an observer hands in what it is told, and where subscribers enter.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use selvedge_event::{AgentEvent, ChoiceId, Discard, ReplaySnapshot, ThreadId, Timestamp, UserChoice};
use selvedge_observer::{Follows, Steps};

use crate::attach::LiveRequest;
use crate::feed::{Closed, Feed};
use crate::live::Shared;
use crate::seat::{Cut, Seat};
use crate::{Frame, FrameKind, ResyncReason};

/// The live part of one observer. Its methods are those of the observer, and are called from there; see
/// [`LiveObserver`](crate::LiveObserver) for the whole of it.
///
/// A thread that nobody has subscribed to costs nothing: no feed is kept of it.
///
/// When it is dropped, the subscribers of its threads read what was published and end.
pub struct Hub {
    inner: Arc<HubInner>,
}

/// What a hub shares with the `Live` that made it.
pub(crate) struct HubInner {
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// How many threads the state knows: none is the common case, and is told without the lock.
    known: AtomicUsize,
}

#[derive(Default)]
struct State {
    feeds: HashMap<ThreadId, Followed>,
    uncommitted: HashMap<ThreadId, Uncommitted>,
}

/// A thread that has a feed.
struct Followed {
    feed: Arc<Feed>,
    steps: Steps,
    /// Tells the thread from others of its name.
    created_at: Timestamp,
}

/// What a step has said of choices and has not committed.
#[derive(Default)]
struct Uncommitted {
    /// To be shown when the step is committed.
    required: Vec<UserChoice>,
    /// Shown already; snapshots hold them until the step is synced.
    dismissed: Vec<ChoiceId>,
}

impl Hub {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { inner: Arc::new(HubInner { shared, state: Mutex::default(), known: AtomicUsize::new(0) }) }
    }

    pub(crate) fn downgrade(&self) -> Weak<HubInner> {
        Arc::downgrade(&self.inner)
    }

    /// The thread did something.
    pub fn event(&self, thread: &str, event: &AgentEvent) {
        let Some(mut state) = self.inner.known() else { return };
        if matches!(event, AgentEvent::TurnDiscarded { scope: Discard::Step, .. }) {
            // The step says it again when it is run again, or resumed.
            state.uncommitted.remove(thread);
        }
        let Some(followed) = state.feeds.get_mut(thread) else { return };
        let gap = matches!(followed.steps.event(event), Follows::Gap { .. });
        if gap {
            tracing::debug!(thread, "the steps of a thread do not follow on one another: its subscribers resync");
            state.give_up(thread, ResyncReason::Discontinued);
        } else {
            followed.feed.publish(FrameKind::Event(event.clone()));
        }
        self.inner.done(state);
    }

    /// A running call asks the user. It is shown when the step is [committed](Self::committed), to nobody before.
    pub fn choice_required(&self, thread: &str, choice: &UserChoice) {
        let mut state = self.inner.lock();
        let required = &mut state.uncommitted.entry(thread.into()).or_default().required;
        required.retain(|known| known.id != choice.id);
        required.push(choice.clone());
        self.inner.done(state);
    }

    /// A choice is moot. Shown at once.
    pub fn choice_dismissed(&self, thread: &str, choice: &str) {
        let choice = ChoiceId::from(choice);
        let mut state = self.inner.lock();
        if let Some(followed) = state.feeds.get(thread) {
            followed.feed.publish(FrameKind::ChoiceDismissed(choice.clone()));
        }
        state.uncommitted.entry(thread.into()).or_default().dismissed.push(choice);
        self.inner.done(state);
    }

    /// A step is committed.
    ///
    /// To be called last in the observer's `on_commit`, when everything else that it does has succeeded, with no await
    /// after it: whoever attaches finds the step committed, in the snapshot or in a frame.
    pub fn committed(&self, thread: &str) {
        let Some(mut state) = self.inner.known() else { return };
        let uncommitted = state.uncommitted.remove(thread);
        if let Some(followed) = state.feeds.get_mut(thread) {
            followed.feed.publish(FrameKind::Committed { step: followed.steps.commit() });
            for choice in uncommitted.into_iter().flat_map(|uncommitted| uncommitted.required) {
                followed.feed.publish(FrameKind::ChoiceRequired(choice));
            }
        }
        self.inner.done(state);
    }

    /// Somebody attaches: to the frames after its cursor if they are all there, with the snapshot otherwise.
    pub fn subscribe(&self, thread: &str, request: LiveRequest, mut snapshot: ReplaySnapshot) {
        let LiveRequest { seat, resume } = request;
        if seat.is_installed() {
            return;
        }
        let mut state = self.inner.lock();
        let follows = state.feeds.get_mut(thread).map(|followed| {
            let same = followed.created_at == snapshot.created_at;
            same && !matches!(followed.steps.snapshot(&snapshot), Follows::Gap { .. })
        });
        if follows == Some(false) {
            tracing::debug!(thread, "a thread is not where its feed is: its subscribers resync");
            state.give_up(thread, ResyncReason::Discontinued);
        }
        if let Some(uncommitted) = state.uncommitted.get(thread) {
            snapshot.choices.retain(|choice| !uncommitted.dismissed.contains(&choice.id));
        }
        let shared = &self.inner.shared;
        let followed = state.feeds.entry(thread.into()).or_insert_with(|| Followed {
            feed: Feed::new(shared.clone()),
            steps: Steps::from(&snapshot),
            created_at: snapshot.created_at,
        });
        install(&followed.feed, &seat, resume, snapshot);
        self.inner.done(state);
    }
}

/// Seats a subscriber: after its cursor, or with a snapshot, and in the place of its client's older ones.
fn install(feed: &Arc<Feed>, seat: &Arc<Seat>, resume: Option<crate::Cursor>, snapshot: ReplaySnapshot) {
    if let Some(client) = &seat.client {
        let of_client = feed.seats().into_iter().filter(|other| other.client.as_ref() == Some(client));
        let (newer, older): (Vec<_>, Vec<_>) = of_client.partition(|other| other.subscription > seat.subscription);
        older.iter().for_each(|older| older.cut(Cut::Replaced));
        if !newer.is_empty() {
            return seat.cut(Cut::Replaced);
        }
    }
    let here = feed.cursor();
    let resumed = resume.map(|cursor| (cursor, feed.resume(cursor)));
    let (next, opening) = match resumed {
        Some((_, Ok(next))) => (next, Vec::new()),
        refused => {
            let refused = refused.and_then(|(cursor, result)| Some((cursor, result.err()?)));
            let resync = refused.map(|(cursor, reason)| Frame::new(cursor, FrameKind::Resync { reason }));
            let snapshot = Frame::new(here, FrameKind::Snapshot(Box::new(snapshot)));
            (here.seq + 1, resync.into_iter().chain([snapshot]).map(Arc::new).collect())
        }
    };
    // ORDER: known to the feed before it can leave it.
    feed.enter(seat.clone());
    if !seat.install(feed.clone(), next, opening) {
        feed.leave(seat.subscription);
    }
}

impl HubInner {
    /// The state, if it knows any thread.
    fn known(&self) -> Option<MutexGuard<'_, State>> {
        (self.known.load(Ordering::Relaxed) > 0).then(|| self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in between leaves a thread with a feed too few at worst.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the state after a change, and sees to the bound on all feeds.
    fn done(&self, state: MutexGuard<'_, State>) {
        self.known.store(state.feeds.len() + state.uncommitted.len(), Ordering::Relaxed);
        drop(state);
        self.shared.fit();
    }

    /// All feeds.
    pub(crate) fn feeds(&self) -> Vec<(ThreadId, Arc<Feed>)> {
        let state = self.lock();
        state.feeds.iter().map(|(thread, followed)| (thread.clone(), followed.feed.clone())).collect()
    }

    /// Gives up the feed of a thread, if it is still this one and nobody watches it. Whether it did.
    pub(crate) fn give_up_unwatched(&self, thread: &ThreadId, feed: &Arc<Feed>) -> bool {
        let mut state = self.lock();
        let is_it = state.feeds.get(thread).is_some_and(|followed| Arc::ptr_eq(&followed.feed, feed));
        if !is_it || feed.subscribers() > 0 {
            return false;
        }
        state.give_up(thread.as_str(), ResyncReason::OtherEpoch);
        self.known.store(state.feeds.len() + state.uncommitted.len(), Ordering::Relaxed);
        true
    }
}

impl State {
    fn give_up(&mut self, thread: &str, reason: ResyncReason) {
        if let Some(followed) = self.feeds.remove(thread) {
            followed.feed.close(Closed::GivenUp(reason));
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        for (_, followed) in state.feeds.drain() {
            followed.feed.close(Closed::HubGone);
        }
        state.uncommitted.clear();
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("feeds", &self.inner.lock().feeds.len()).finish_non_exhaustive()
    }
}
