//! `selvedge chat`: a conversation with one thread, on a terminal or as a pipe.

mod editor;
mod model;
mod pipe;
mod screen;
mod session;
mod signal;
mod terminal;
mod wrap;

use std::io::IsTerminal;
use std::time::Duration;

use selvedge::System;
use selvedge::durable::DurableObserver;
use selvedge::live::Live;
use selvedge::runtime::{Limits, Wake};

use crate::args::ChatArgs;
use crate::database::{Database, thread_id};
use crate::failure::Failure;
use crate::render::{Page, Printer, Style};
use session::Session;

/// The rehearsal's pause before each word on a terminal.
const PACE: Duration = Duration::from_millis(25);
/// How long what runs may go on when the user wants to leave: what is cut off goes on at the next start.
const GRACE: Duration = Duration::from_secs(2);

/// Talks to a thread. Runs on a `LocalSet`: the thread's steps and the display take turns on one OS thread.
pub(crate) async fn run(args: ChatArgs, database: &Database) -> Result<(), Failure> {
    let thread = thread_id(&args.thread)?;
    let on_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let pace = args.pace.map(Duration::from_millis);
    let model = model::choose(&args, pace.unwrap_or(if on_terminal { PACE } else { Duration::ZERO }))?;

    let mut limits = Limits::default();
    limits.shutdown_grace = GRACE;
    let live = Live::default();
    let (sessions, store, shown) = (database.sessions().await?, database.shared(), live.clone());
    let started = System::builder()
        .shared_store(database.shared())
        // Other threads are left to whoever opens them, with a model of their own.
        .wake(Wake::only([thread.clone()]))
        .configure(model.config.clone())
        .observer(move || DurableObserver::new(sessions.clone(), store.clone(), &shown))
        .limits(limits)
        .label(format!("selvedge chat (process {})", std::process::id()))
        .start_local()
        .await;
    let system = started.map_err(|error| Failure::of_build(&error, database.path()))?;

    let mut page = Page::of_line(Style::Dim, &format!("thread {thread}: {}", model.says));
    let mut session = Session::new(system, live, database.clone(), thread, model);
    page.append(session.attach().await?);
    let result = if on_terminal {
        terminal::talk(&mut session, &page).await
    } else {
        let mut printer = Printer::stdout();
        printer.print(&page)?;
        let talked = pipe::talk(&mut session, &mut printer).await;
        session.system().shutdown().await;
        talked
    };
    result.and_then(|()| match session.failed() {
        Some(_) if !on_terminal => Err(Failure::new("the last answer failed")),
        _ => Ok(()),
    })
}
