//! What must hold of every run, wherever it was struck.

use std::collections::HashMap;

use selvedge_event::{CallId, InputId, Message, ToolStatus};
use selvedge_store::ToolDelivery;

use super::{Broken, CallSeen, Ended, Line, Same, Story, Violation};

/// Everything that is wrong with a run. `calm` are the undisturbed runs, `died` says whether a process was to die.
pub fn judge(same: Same, calm: &[Ended], ended: &Ended, died: bool) -> Vec<Violation> {
    let mut judge = Judge { ended, died, found: ended.violations.clone() };
    if ended.spared > 0 {
        judge.found(
            Broken::Stuck,
            format!("{} strikes were not needed: the run is another than was counted", ended.spared),
        );
    }
    for story in &ended.stories {
        judge.inputs(story);
        judge.calls(story);
    }
    judge.keys();
    judge.transcripts(same, calm);
    judge.found
}

struct Judge<'a> {
    ended: &'a Ended,
    died: bool,
    found: Vec<Violation>,
}

impl Judge<'_> {
    fn found(&mut self, broken: Broken, what: impl Into<String>) {
        self.found.push(Violation::new(broken, what));
    }

    /// No accepted input is lost, none is processed twice, and their order is that of their acceptance.
    fn inputs(&mut self, story: &Story) {
        let processed: Vec<&InputId> = story.inputs().collect();
        for id in &story.accepted {
            match processed.iter().filter(|known| **known == id).count() {
                0 => self
                    .found(Broken::InputLost, format!("{}: {id} was accepted and is not in the history", story.thread)),
                1 => {}
                n => self.found(Broken::InputDoubled, format!("{}: {id} is in the history {n} times", story.thread)),
            }
        }
        let in_order: Vec<&InputId> = processed.into_iter().filter(|id| story.accepted.contains(id)).collect();
        let lost_or_doubled = in_order.len() != story.accepted.len();
        if !lost_or_doubled && in_order.iter().zip(&story.accepted).any(|(processed, accepted)| *processed != accepted)
        {
            self.found(Broken::InputOrder, format!("{}: {in_order:?}, accepted: {:?}", story.thread, story.accepted));
        }
    }

    /// One result per call, and each call reached its tool as often as it may and must.
    fn calls(&mut self, story: &Story) {
        let mut statuses: HashMap<&CallId, Vec<ToolStatus>> = HashMap::new();
        for (call, status) in story.results() {
            statuses.entry(call).or_default().push(status);
        }
        let answers = story.own_messages().filter_map(|message| match message {
            Message::Assistant(answer) => Some(answer),
            _ => None,
        });
        for call in answers.flat_map(|answer| answer.calls()) {
            let key = format!("{}/{}", story.thread, call.id);
            match statuses.get(&call.id).map_or(&[][..], Vec::as_slice) {
                [status] => self.call(&key, self.ended.deliveries.get(&*call.name).copied(), *status),
                others => self.found(Broken::ResultCount, format!("{key} has the results {others:?}")),
            }
        }
    }

    /// A call with its one result. `delivery` is `None` for a tool that does not exist.
    fn call(&mut self, key: &str, delivery: Option<ToolDelivery>, status: ToolStatus) {
        let tries: Vec<&CallSeen> = self.ended.calls.iter().filter(|seen| seen.key == key).collect();
        let at_most_once = delivery == Some(ToolDelivery::AtMostOnce);
        if at_most_once && tries.len() > 1 || !self.died && tries.len() > 1 {
            self.found(Broken::CallDoubled, format!("{key} reached its tool {} times", tries.len()));
        }
        if tries.iter().skip(1).any(|seen| seen.attempt == 1) {
            self.found(Broken::CallDoubled, format!("{key} reached its tool again as its first try: {tries:?}"));
        }
        let sound = match status {
            ToolStatus::Ok => !tries.is_empty(),
            ToolStatus::Error => !tries.is_empty() || delivery.is_none(),
            ToolStatus::NotExecuted => tries.is_empty(),
            ToolStatus::Interrupted => delivery.is_some(),
            ToolStatus::Unknown => at_most_once && self.died,
        };
        if !sound {
            self.found(
                Broken::CallLost,
                format!("{key} ({delivery:?}) is {status:?} and reached its tool {} times", tries.len()),
            );
        }
    }

    /// Every key that reached a tool is that of a call in the history.
    fn keys(&mut self) {
        let known = |key: &str| {
            self.ended.stories.iter().any(|story| {
                let call = key.strip_prefix(story.thread.as_str()).and_then(|rest| rest.strip_prefix('/'));
                call.is_some_and(|call| story.results().any(|(id, _)| id.as_str() == call))
            })
        };
        let unknown: Vec<&String> = self.ended.calls.iter().map(|seen| &seen.key).filter(|key| !known(key)).collect();
        if !unknown.is_empty() {
            self.found(Broken::CallUnrecorded, format!("no history has the calls {unknown:?}"));
        }
    }

    /// The transcript is that of an undisturbed run, the outcome of calls that may not be repeated apart.
    fn transcripts(&mut self, same: Same, calm: &[Ended]) {
        // A call that speaks to its thread is told when the store fails, and ends as it sees fit.
        let told = |line: &Line| matches!(&line.call, Some((_, Some((ToolStatus::Error, text)))) if text.contains("fault on demand"));
        if same == Same::Nothing || self.ended.stories.iter().flat_map(Story::lines).any(|line| told(&line)) {
            return;
        }
        let differences: Vec<String> = calm.iter().filter_map(|calm| self.differs(same, calm).err()).collect();
        if differences.len() == calm.len() {
            self.found(Broken::Transcript, differences.join("\nand from another undisturbed run: "));
        }
    }

    fn differs(&self, same: Same, calm: &Ended) -> Result<(), String> {
        let (own, reference) = (&self.ended.stories, &calm.stories);
        if own.len() != reference.len() {
            return Err(format!("{} threads instead of {}", own.len(), reference.len()));
        }
        for (own, reference) in own.iter().zip(reference) {
            self.alike(&own.lines(), &reference.lines()).map_err(|what| format!("{}: {what}", own.thread))?;
            let ids = |story: &Story| story.transcript().items().iter().map(|item| item.id).collect::<Vec<_>>();
            if same == Same::Items && ids(own) != ids(reference) {
                return Err(format!("{}: the ids are {:?} instead of {:?}", own.thread, ids(own), ids(reference)));
            }
        }
        Ok(())
    }

    fn alike(&self, own: &[Line], reference: &[Line]) -> Result<(), String> {
        let place = own.iter().zip(reference).position(|(own, reference)| !self.is_alike(own, reference));
        match place.or((own.len() != reference.len()).then_some(own.len().min(reference.len()))) {
            None => Ok(()),
            Some(place) => Err(format!("line {place} is {:?} instead of {:?}", own.get(place), reference.get(place))),
        }
    }

    fn is_alike(&self, own: &Line, reference: &Line) -> bool {
        if own.text != reference.text {
            return false;
        }
        let (Some((tool, Some((status, text)))), Some((_, Some((expected, expected_text))))) =
            (&own.call, &reference.call)
        else {
            return own.call == reference.call;
        };
        let same = status == expected && text == expected_text;
        // How far a call had come when it was interrupted depends on when that was.
        let cut_off = !matches!(expected, ToolStatus::Ok | ToolStatus::Error)
            && !matches!(status, ToolStatus::Ok | ToolStatus::Error);
        let at_most_once = self.ended.deliveries.get(tool) == Some(&ToolDelivery::AtMostOnce);
        same || cut_off || self.died && at_most_once && *status == ToolStatus::Unknown
    }
}
