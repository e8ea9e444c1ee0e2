//! One conversation: what is asked of the thread, and what is seen of it.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use selvedge::attach_to;
use selvedge::event::{Delivery, FailureKind, Outcome};
use selvedge::live::{AttachError, Ended, Frame, FrameKind, LiveRequest, Subscribe, Subscriber};
use selvedge::prelude::{AgentEvent, ChoiceId, Input, InputId, ItemKind, ReplaySnapshot, RunningSystem, ThreadId};
use selvedge::runtime::{AnswerError, Clock, SendError, SystemClock};
use selvedge::store::StoreErrorKind;

use super::model::Chosen;
use crate::database::Database;
use crate::failure::{Failure, with_sources};
use crate::render::{Live, Page, Style};

/// Frames that are shown at once.
const FRAMES: usize = 256;

/// A thread that the chat is attached to.
pub(super) struct Session {
    system: RunningSystem<LiveRequest>,
    fanout: selvedge::live::Live,
    database: Database,
    thread: ThreadId,
    model: Chosen,
    /// Who is attached to the thread; `None` until there is one.
    subscriber: Option<Subscriber>,
    /// Frames that were read and are not shown yet.
    frames: Vec<Arc<Frame>>,
    live: Live,
    /// What is asked of the thread and not yet answered.
    requests: FuturesUnordered<LocalBoxFuture<'static, Done>>,
    /// Inputs that were sent and not yet seen in the feed.
    unseen: HashSet<InputId>,
    sent: u64,
    failed: Option<FailureKind>,
}

/// What has come of a request.
enum Done {
    Attached(Result<Subscriber, AttachError>),
    Sent(InputId, Result<(), SendError>),
    Answered(ChoiceId, Result<(), AnswerError>),
    Interrupted(Result<(), SendError>),
}

/// What a line that was typed has come to.
pub(super) enum Submitted {
    /// Something to show; often nothing.
    Page(Page),
    /// The user wants to leave.
    End,
}

/// Whether the thread has anything to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// It works.
    Busy,
    /// All that is open waits for the user; for ever, or until the question expires.
    Asking { expires: bool },
    /// It may get news by itself.
    Subscribed,
    /// It does nothing until it is spoken to.
    Quiet,
}

const HELP: &str = "  Any text goes to the thread; if something runs, it is interrupted and the text answered.\n  \
    NUMBER answers an open question.\n  \
    /queue TEXT waits in line instead of interrupting.\n  \
    /quit or Ctrl-D ends in order; Ctrl-C interrupts what runs.";

impl Session {
    pub(super) fn new(
        system: RunningSystem<LiveRequest>,
        fanout: selvedge::live::Live,
        database: Database,
        thread: ThreadId,
        model: Chosen,
    ) -> Self {
        Self {
            system,
            fanout,
            database,
            thread,
            model,
            subscriber: None,
            frames: Vec::new(),
            live: Live::default(),
            requests: FuturesUnordered::new(),
            unseen: HashSet::new(),
            sent: 0,
            failed: None,
        }
    }

    /// Attaches to the thread; what it shows so far. A thread that is not there yet shows nothing, and is attached to when
    /// it is.
    pub(super) async fn attach(&mut self) -> Result<Page, Failure> {
        let attached = self.attaching().await;
        match self.attached(attached) {
            Ok(()) => self.next().await,
            Err(Some(failure)) => Err(failure),
            Err(None) => Ok(Page::default()),
        }
    }

    fn attaching(&self) -> LocalBoxFuture<'static, Result<Subscriber, AttachError>> {
        let (fanout, attach, thread) = (self.fanout.clone(), attach_to(&self.system), self.thread.clone());
        Box::pin(async move { fanout.subscribe(attach, thread, Subscribe::default()).await })
    }

    /// Takes a subscriber that is attached. The error is `None` if there is no thread yet.
    fn attached(&mut self, attached: Result<Subscriber, AttachError>) -> Result<(), Option<Failure>> {
        let refused = match attached {
            Ok(subscriber) => {
                self.subscriber = Some(subscriber);
                return Ok(());
            }
            Err(AttachError::Refused(refused)) => refused,
            Err(error) => return Err(Some(Failure::new(with_sources(&error)))),
        };
        match refused.downcast::<SendError>() {
            Ok(error) if matches!(*error, SendError::NoSuchThread(_)) => Err(None),
            Ok(error) => Err(Some(Failure::of_send(*error, self.database.path()))),
            Err(error) => Err(Some(Failure::new(error.to_string()))),
        }
    }

    /// What happens next, as lines. Ends with an error if the thread is lost to this process.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Page, Failure> {
        if self.frames.is_empty() {
            tokio::select! {
                biased;
                count = read(&mut self.subscriber, &mut self.frames) => if count == 0 { return Err(self.lost()) },
                Some(done) = self.requests.next(), if !self.requests.is_empty() => return self.done(done),
            }
        }
        let frames = std::mem::take(&mut self.frames);
        let mut page = Page::default();
        frames.iter().for_each(|frame| page.append(self.take(frame)));
        Ok(page)
    }

    /// Why there are no more frames.
    fn lost(&self) -> Failure {
        match self.subscriber.as_ref().and_then(Subscriber::ended) {
            Some(Ended::Refused(error)) => Failure::new(with_sources(error)),
            _ => Failure::new("the system has stopped"),
        }
    }

    fn take(&mut self, frame: &Frame) -> Page {
        match &frame.kind {
            FrameKind::Snapshot(snapshot) => self.snapshot(snapshot),
            FrameKind::Event(event) => self.event(event),
            FrameKind::ChoiceRequired(choice) => self.live.choice(choice),
            FrameKind::ChoiceDismissed(id) => self.live.dismissed(id),
            FrameKind::Committed { step } => self.live.committed(*step),
            FrameKind::Resync { .. } => Page::of_line(Style::Warn, "· some of it was not shown; from the beginning:"),
            _ => Page::default(),
        }
    }

    fn snapshot(&mut self, snapshot: &ReplaySnapshot) -> Page {
        let (live, page) = Live::attach(snapshot);
        self.live = live;
        for item in self.live.transcript().items() {
            if let ItemKind::User { input_id, .. } = &item.kind {
                self.unseen.remove(input_id);
            }
        }
        page
    }

    fn event(&mut self, event: &AgentEvent) -> Page {
        let mut page = self.live.event(event);
        match event {
            AgentEvent::UserInput { input_id, .. } => {
                self.unseen.remove(input_id);
            }
            AgentEvent::CompletionFinished { outcome: Outcome::Failed { failure, .. }, .. } => {
                self.failed = Some(*failure);
                if let Some(advice) = self.model.advice(*failure) {
                    page.line(Style::Plain, &format!("  {advice}"));
                }
            }
            AgentEvent::CompletionFinished { .. } => self.failed = None,
            _ => {}
        }
        page
    }

    fn done(&mut self, done: Done) -> Result<Page, Failure> {
        let error = match done {
            Done::Attached(attached) => {
                let attached = self.attached(attached);
                return attached.map(|()| Page::default()).map_err(|failure| {
                    failure.unwrap_or_else(|| Failure::no_such_thread(self.thread.as_str(), self.database.path()))
                });
            }
            Done::Sent(_, Ok(())) if self.subscriber.is_none() => {
                // The thread is there now.
                let attaching = self.attaching();
                self.requests.push(Box::pin(async move { Done::Attached(attaching.await) }));
                return Ok(Page::default());
            }
            Done::Sent(_, Ok(())) | Done::Interrupted(Ok(())) => return Ok(Page::default()),
            Done::Answered(id, Ok(())) => {
                self.live.answered(&id);
                return Ok(Page::default());
            }
            Done::Sent(id, Err(error)) => {
                self.unseen.remove(&id);
                error
            }
            Done::Interrupted(Err(error)) | Done::Answered(_, Err(AnswerError::Send(error))) => error,
            Done::Answered(_, Err(error)) => return Ok(Page::of_line(Style::Warn, &format!("? {error}"))),
        };
        match error {
            SendError::Owned { .. } | SendError::ShutDown => Err(Failure::of_send(error, self.database.path())),
            // The thread is as it was; the user may try again.
            error => Ok(Page::of_line(Style::Bad, &Failure::of_send(error, self.database.path()).to_string())),
        }
    }

    /// A line from the user: an answer, a command, or something to say.
    pub(super) fn submit(&mut self, line: &str) -> Submitted {
        let line = line.trim();
        if line.is_empty() {
            return Submitted::Page(Page::default());
        }
        match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
            ("/quit", "") => Submitted::End,
            ("/help", "") => Submitted::Page(Page::of_line(Style::Dim, HELP)),
            ("/queue", text) if !text.trim().is_empty() => {
                self.say(text.trim(), Delivery::Queued);
                Submitted::Page(Page::default())
            }
            _ => Submitted::Page(self.answer(line).unwrap_or_else(|| {
                self.say(line, Delivery::Interrupt);
                Page::default()
            })),
        }
    }

    /// Takes a number for the answer to the oldest open question, if there is one.
    fn answer(&mut self, line: &str) -> Option<Page> {
        let choice = self.live.transcript().choices().first()?;
        let number: usize = line.parse().ok()?;
        let Some(option) = number.checked_sub(1).and_then(|place| choice.options.get(place)) else {
            let text = format!("? the answers are 1 to {}; any other text interrupts", choice.options.len());
            return Some(Page::of_line(Style::Warn, &text));
        };
        let page = Page::of_line(Style::User, &format!("› {number} {option}"));
        let (system, thread, id) = (self.system.clone(), self.thread.clone(), choice.id.clone());
        self.requests.push(Box::pin(async move {
            let answered = system.answer(&thread, id.clone(), number - 1).await;
            Done::Answered(id, answered)
        }));
        Some(page)
    }

    fn say(&mut self, text: &str, delivery: Delivery) {
        self.sent += 1;
        // Unlike any other on this machine, so that no text is taken for a redelivery of another.
        let id = InputId::from(format!("cli-{}-{}-{}", SystemClock.now().0, std::process::id(), self.sent));
        self.unseen.insert(id.clone());
        let input = Input::UserText { text: text.into(), delivery };
        let (system, thread) = (self.system.clone(), self.thread.clone());
        self.requests.push(Box::pin(async move {
            let sent = system.send(&thread, id.clone(), input).await;
            Done::Sent(id, sent.map(drop))
        }));
    }

    /// Stops what runs.
    pub(super) fn interrupt(&mut self) {
        let (system, thread) = (self.system.clone(), self.thread.clone());
        self.requests.push(Box::pin(async move { Done::Interrupted(system.interrupt(&thread).await) }));
    }

    /// Whether anything runs that an interruption would stop.
    pub(super) fn is_busy(&self) -> bool {
        self.is_stepping() || self.live.open_calls().next().is_some()
    }

    fn is_stepping(&self) -> bool {
        !self.unseen.is_empty() || !self.requests.is_empty() || self.live.is_staged()
    }

    /// How many answers the oldest open question has, if there is one.
    pub(super) fn asks(&self) -> Option<usize> {
        self.live.transcript().choices().first().map(|choice| choice.options.len())
    }

    /// How the newest completion failed, if it did.
    pub(super) fn failed(&self) -> Option<FailureKind> {
        self.failed
    }

    /// Whether the thread has anything to do. Asks the store only if nothing is seen to run.
    pub(super) async fn rest(&mut self) -> Result<Rest, Failure> {
        if self.is_stepping() || self.has_news() {
            return Ok(Rest::Busy);
        }
        let record = match self.database.store_of(&self.thread).await {
            Ok(record) => record,
            Err(error) if error.kind() == StoreErrorKind::NotFound => return Ok(Rest::Quiet),
            Err(error) => return Err(self.database.failure(&error, &self.thread)),
        };
        let pending: Vec<_> = record.choices.iter().filter(|(_, resolution)| resolution.is_none()).collect();
        let asks = |call| pending.iter().any(|(choice, _)| choice.call_id == call);
        if !record.inbox.is_empty() || record.open_calls.iter().any(|open| !asks(open.call_id.clone())) {
            return Ok(Rest::Busy);
        }
        Ok(match pending.iter().any(|(choice, _)| choice.expires_at.is_none()) {
            true => Rest::Asking { expires: false },
            false if !pending.is_empty() => Rest::Asking { expires: true },
            false if !record.subscriptions.is_empty() => Rest::Subscribed,
            false => Rest::Quiet,
        })
    }

    /// Whether there is something to show.
    fn has_news(&mut self) -> bool {
        // What is ready is read; that nothing more will come is for `next` to say.
        !self.frames.is_empty()
            || read(&mut self.subscriber, &mut self.frames).now_or_never().is_some_and(|count| count > 0)
    }

    /// The system, to be shut down.
    pub(super) fn system(&self) -> RunningSystem<LiveRequest> {
        self.system.clone()
    }

    /// The thread.
    pub(super) fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Earlier texts of the user, oldest first.
    pub(super) fn said(&self) -> impl Iterator<Item = &str> {
        self.live.transcript().items().iter().filter_map(|item| match &item.kind {
            ItemKind::User { text, .. } => Some(&**text),
            _ => None,
        })
    }
}

/// Waits for frames, some of which may come at once; how many, or 0 when there will be no more. For ever, as long as
/// nobody is attached.
async fn read(subscriber: &mut Option<Subscriber>, frames: &mut Vec<Arc<Frame>>) -> usize {
    match subscriber {
        Some(subscriber) => subscriber.next_many(frames, FRAMES).await,
        None => std::future::pending().await,
    }
}
