//! What is seen of one thread, and oracle F over it.

use std::sync::Arc;

use selvedge_event::{AgentEvent, History, Item, ReplaySnapshot, Step, Transcript, TurnRecord};

/// Everything that was shown of a thread since the last restart.
#[derive(Debug, Default)]
pub(super) struct Feed {
    /// What there was before the first event.
    base: Transcript,
    /// The first step of `base`, if that is only the latest page.
    base_since: Step,
    events: Vec<AgentEvent>,
    /// Each with how many events came before it.
    subscribers: Vec<(usize, ReplaySnapshot)>,
}

/// What an embedder keeps of a thread.
#[derive(Debug)]
pub(super) struct Kept {
    /// In memory: every event so far.
    pub(super) working: Transcript,
    /// On its disk: as of the last commit.
    pub(super) committed: Transcript,
}

impl Kept {
    pub(super) fn from_base(base: Transcript) -> Self {
        Self { working: base.clone(), committed: base }
    }
}

impl Feed {
    pub(super) fn from_snapshot(snapshot: &ReplaySnapshot) -> Self {
        let base_since = snapshot.older.unwrap_or_default();
        Self { base: Transcript::from_snapshot(snapshot), base_since, ..Self::default() }
    }

    pub(super) fn base(&self) -> &Transcript {
        &self.base
    }

    pub(super) fn events(&self) -> &[AgentEvent] {
        &self.events
    }

    pub(super) fn subscribers(&self) -> &[(usize, ReplaySnapshot)] {
        &self.subscribers
    }

    pub(super) fn push(&mut self, event: AgentEvent) {
        self.events.push(event);
    }

    pub(super) fn attach(&mut self, snapshot: ReplaySnapshot) {
        self.subscribers.push((self.events.len(), snapshot));
    }

    /// The transcript after all events.
    pub(super) fn whole(&self) -> Transcript {
        self.fold(self.events.len())
    }

    /// The transcript after the first `count` events.
    fn fold(&self, count: usize) -> Transcript {
        let mut transcript = self.base.clone();
        self.events[..count].iter().for_each(|event| transcript.apply(event));
        transcript
    }

    /// Oracle F, or the first difference.
    pub(super) fn verify(&self, history: &History) -> Result<(), String> {
        for (number, (at, snapshot)) in self.subscribers.iter().enumerate() {
            let since = snapshot.older.unwrap_or_default().max(self.base_since);
            let mut reference = self.fold(*at);
            let mut own = Transcript::from_snapshot(snapshot);
            if let (Some(first), Some(older)) = (own.items().first(), snapshot.older)
                && first.id.step < older
            {
                return Err(format!("subscriber {number} at event {at}: an item of an older page: {first:#?}"));
            }
            same(since, &own, &reference).map_err(|what| format!("subscriber {number} at event {at}: {what}"))?;
            for (place, event) in self.events.iter().enumerate().skip(*at) {
                own.apply(event);
                reference.apply(event);
                same(since, &own, &reference)
                    .map_err(|what| format!("subscriber {number} of event {at}, after event {place}: {what}"))?;
            }
        }
        let whole = self.whole();
        same_items(whole.items(), items_since(&transcript_of(history), self.base_since))
            .map_err(|what| format!("the feed against the history: {what}"))?;
        match whole.completion() {
            None => Ok(()),
            Some(completion) => Err(format!("it ends with a completion that runs: {completion:?}")),
        }
    }
}

/// The transcript of a whole history.
pub fn transcript_of(history: &History) -> Transcript {
    let mut transcript = Transcript::default();
    let events = history.iter().flat_map(|turn: &Arc<TurnRecord>| selvedge_event::replay::turn(turn));
    events.for_each(|event| transcript.apply(&event));
    transcript
}

/// The items of a step and those after it.
fn items_since(transcript: &Transcript, since: Step) -> &[Item] {
    let items = transcript.items();
    &items[items.partition_point(|item| item.id.step < since)..]
}

/// Whether two transcripts are the same: their items from a step on, and all the rest.
fn same(since: Step, own: &Transcript, reference: &Transcript) -> Result<(), String> {
    same_items(items_since(own, since), items_since(reference, since))?;
    same_part("completion", &own.completion(), &reference.completion())?;
    same_part("usage", &own.usage(), &reference.usage())?;
    same_part("sign-ins", &own.oauth(), &reference.oauth())?;
    same_part("views", &own.views(), &reference.views())
}

fn same_part<T: PartialEq + std::fmt::Debug>(part: &str, own: &T, reference: &T) -> Result<(), String> {
    if own == reference {
        return Ok(());
    }
    Err(format!("the {part} differ\n own: {own:#?}\n reference: {reference:#?}"))
}

/// The first item in which two transcripts differ.
pub(crate) fn same_items(own: &[Item], reference: &[Item]) -> Result<(), String> {
    if own == reference {
        return Ok(());
    }
    let place = own.iter().zip(reference).position(|(own, reference)| own != reference);
    let place = place.unwrap_or(own.len().min(reference.len()));
    let (own, reference) = (own.get(place), reference.get(place));
    Err(format!("item {place} differs\n own: {own:#?}\n reference: {reference:#?}"))
}
