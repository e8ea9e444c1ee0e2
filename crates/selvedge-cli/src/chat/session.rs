//! One conversation: what is asked of the thread, and what is seen of it.

use std::collections::HashSet;

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use selvedge::event::{Delivery, FailureKind, Outcome};
use selvedge::prelude::{AgentEvent, ChoiceId, Input, InputId, RunningSystem, ThreadId};
use selvedge::runtime::{AnswerError, Clock, SendError, SystemClock};
use selvedge::store::StoreErrorKind;
use tokio::sync::mpsc::UnboundedReceiver;

use super::feed::Feed;
use super::model::Chosen;
use crate::database::Database;
use crate::failure::Failure;
use crate::render::{Live, Page, Style};

/// A thread that the chat is attached to.
pub(super) struct Session {
    system: RunningSystem<()>,
    database: Database,
    thread: ThreadId,
    model: Chosen,
    feed: UnboundedReceiver<Feed>,
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
        system: RunningSystem<()>,
        database: Database,
        thread: ThreadId,
        model: Chosen,
        feed: UnboundedReceiver<Feed>,
    ) -> Self {
        Self {
            system,
            database,
            thread,
            model,
            feed,
            live: Live::default(),
            requests: FuturesUnordered::new(),
            unseen: HashSet::new(),
            sent: 0,
            failed: None,
        }
    }

    /// Attaches to the thread; what it shows so far. A thread that is not there yet shows nothing.
    pub(super) async fn attach(&mut self) -> Result<Page, Failure> {
        match self.system.subscribe(&self.thread, ()).await {
            Ok(_) => {}
            Err(SendError::NoSuchThread(_)) => return Ok(Page::default()),
            Err(error) => return Err(Failure::of_send(error, self.database.path())),
        }
        loop {
            match self.feed.recv().await {
                Some(Feed::Snapshot(snapshot)) => {
                    let (live, page) = Live::attach(&snapshot);
                    self.live = live;
                    return Ok(page);
                }
                // It is in the snapshot.
                Some(_) => {}
                None => return Err(Failure::new("the thread cannot be shown")),
            }
        }
    }

    /// What happens next, as lines. Ends with an error if the thread is lost to this process.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Page, Failure> {
        tokio::select! {
            biased;
            feed = self.feed.recv() => match feed {
                Some(feed) => {
                    let mut page = self.take(feed);
                    // What has come meanwhile is printed at once.
                    while let Ok(feed) = self.feed.try_recv() {
                        page.append(self.take(feed));
                    }
                    Ok(page)
                }
                None => Err(Failure::new("the system has stopped")),
            },
            Some(done) = self.requests.next(), if !self.requests.is_empty() => self.done(done),
        }
    }

    fn take(&mut self, feed: Feed) -> Page {
        match feed {
            Feed::Snapshot(snapshot) => {
                let (live, page) = Live::attach(&snapshot);
                self.live = live;
                page
            }
            Feed::Event(event) => self.event(&event),
            Feed::Asked(choice) => self.live.choice(&choice),
            Feed::Dismissed(id) => self.live.dismissed(&id),
            Feed::Committed => self.live.committed(),
        }
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
    pub(super) async fn rest(&self) -> Result<Rest, Failure> {
        if self.is_stepping() || !self.feed.is_empty() {
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

    /// The system, to be shut down.
    pub(super) fn system(&self) -> RunningSystem<()> {
        self.system.clone()
    }

    /// The thread.
    pub(super) fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Earlier texts of the user, oldest first.
    pub(super) fn said(&self) -> impl Iterator<Item = &str> {
        self.live.transcript().items().iter().filter_map(|item| match &item.kind {
            selvedge::prelude::ItemKind::User { text, .. } => Some(&**text),
            _ => None,
        })
    }
}
