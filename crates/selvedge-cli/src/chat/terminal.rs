//! The conversation on a terminal.

use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};
use tokio::sync::mpsc;

use super::editor::{Edit, Editor};
use super::screen::{Prompt, Screen};
use super::session::{Session, Submitted};
use super::signal::{Signal, Signals};
use crate::failure::Failure;
use crate::render::{Page, Style};

/// Keys that are read ahead: a paste without brackets, at most.
const KEYS: usize = 1024;
/// How often the prompt is looked after when nothing happens.
const TICK: Duration = Duration::from_millis(250);

/// Talks until the user leaves, and sees to it that what runs ends in order.
pub(super) async fn talk(session: &mut Session, beginning: &Page) -> Result<(), Failure> {
    let mut terminal = Terminal {
        screen: Screen::new()?,
        keys: keys(),
        signals: Signals::new()?,
        editor: Editor::new(session.said()),
        warned: false,
    };
    terminal.screen.print(beginning)?;
    terminal.screen.print(&Page::of_line(Style::Dim, "Ctrl-C interrupts, Ctrl-D ends, /help tells more"))?;
    terminal.converse(session).await?;
    terminal.leave(session).await
}

struct Terminal {
    screen: Screen,
    keys: mpsc::Receiver<Event>,
    signals: Signals,
    editor: Editor,
    /// Whether the newest key was a Ctrl-C with nothing to interrupt.
    warned: bool,
}

impl Terminal {
    async fn converse(&mut self, session: &mut Session) -> Result<(), Failure> {
        loop {
            self.draw_prompt(session)?;
            tokio::select! {
                biased;
                event = self.keys.recv() => match event {
                    Some(event) => if self.event(event, session)? { return Ok(()) },
                    None => return Ok(()),
                },
                signal = self.signals.next() => match signal {
                    Signal::End => return Ok(()),
                    Signal::Interrupt => if self.interrupt(session)? { return Ok(()) },
                },
                page = session.next() => self.screen.print(&page?)?,
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    fn draw_prompt(&mut self, session: &Session) -> Result<(), Failure> {
        let mark = match session.asks() {
            Some(answers) => format!("1-{answers} › "),
            None if session.is_busy() => "⋯ › ".to_owned(),
            None => "› ".to_owned(),
        };
        let (line, cursor) = self.editor.shown(self.screen.room(&mark));
        Ok(self.screen.prompt(Prompt { mark, line, cursor })?)
    }

    /// Takes what the terminal says; whether the user wants to leave.
    fn event(&mut self, event: Event, session: &mut Session) -> Result<bool, Failure> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match self.editor.key(key) {
                Edit::Interrupt => return self.interrupt(session),
                Edit::End => return Ok(true),
                Edit::Redraw => self.screen.redraw()?,
                Edit::Changed => {}
                Edit::Submit(line) => match session.submit(&line) {
                    Submitted::Page(page) if page.is_empty() => {}
                    Submitted::Page(page) => self.screen.print(&page)?,
                    Submitted::End => return Ok(true),
                },
            },
            Event::Paste(text) => self.editor.paste(&text),
            Event::Resize(..) => self.screen.redraw()?,
            _ => {}
        }
        self.warned = false;
        Ok(false)
    }

    /// Ctrl-C: interrupts what runs; otherwise forgets the typed line; otherwise, the second time, leaves.
    fn interrupt(&mut self, session: &mut Session) -> Result<bool, Failure> {
        if session.is_busy() {
            session.interrupt();
        } else if !self.editor.is_empty() {
            self.editor.clear();
        } else if self.warned {
            return Ok(true);
        } else {
            let hint = "nothing runs; Ctrl-C again, or Ctrl-D, ends";
            self.screen.print(&Page::of_line(Style::Dim, hint))?;
            self.warned = true;
            return Ok(false);
        }
        self.warned = false;
        Ok(false)
    }

    /// Ends in order, still showing what happens; another Ctrl-C does not wait.
    async fn leave(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.editor.clear();
        self.screen.prompt(Prompt::default())?;
        let system = session.system();
        let shutdown = system.shutdown();
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                page = session.next() => self.screen.print(&page?)?,
                event = self.keys.recv() => {
                    if let Some(Event::Key(key)) = event
                        && self.editor.key(key) == Edit::Interrupt
                    {
                        break;
                    }
                }
            }
        }
        let text = format!("all that was said is kept; go on with: selvedge chat --thread {}", session.thread());
        Ok(self.screen.print(&Page::of_line(Style::Dim, &text))?)
    }
}

/// What the terminal says, read on an OS thread of its own: reading cannot be interrupted.
fn keys() -> mpsc::Receiver<Event> {
    let (sender, keys) = mpsc::channel(KEYS);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    keys
}
