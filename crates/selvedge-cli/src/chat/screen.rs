//! The terminal: the conversation flows above, the prompt stays on the row below it.
//!
//! What is streamed ends on an open line; the prompt stands on the row after it. To go on, the prompt is wiped, the
//! cursor goes back to the end of the open line, and the prompt is drawn anew. Nothing else on the screen is touched, so
//! the terminal's own scrolling and selecting work as ever.

use std::io::{self, Write};

use crossterm::terminal;
use crossterm::{event, execute};

use super::wrap::Wrap;
use crate::render::{Op, Page, Paint, Style};

/// A terminal in raw mode; in its former mode again when dropped.
pub(super) struct Screen {
    paint: Paint,
    wrap: Wrap,
    /// The columns in use: one less than there are, so that the terminal never breaks a line.
    width: usize,
    prompt: Prompt,
}

/// The row of the prompt.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Prompt {
    /// What stands before the typed line.
    pub(super) mark: String,
    /// What is shown of the typed line.
    pub(super) line: String,
    /// The column of the cursor within it.
    pub(super) cursor: usize,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn new() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        execute!(io::stdout(), event::EnableBracketedPaste)?;
        Ok(Self { paint: Paint::for_stdout(), wrap: Wrap::default(), width: width(), prompt: Prompt::default() })
    }

    /// The columns that a typed line may have after a mark.
    pub(super) fn room(&self, mark: &str) -> usize {
        self.width.saturating_sub(mark.chars().count()).max(1)
    }

    /// Adds a page to the conversation.
    pub(super) fn print(&mut self, page: &Page) -> io::Result<()> {
        let mut out = self.wiped();
        for op in page.ops() {
            match op {
                Op::Fresh => self.wrap.fresh(&mut out),
                Op::Text(style, text) => {
                    out.push_str(self.paint.begin(*style));
                    self.wrap.push(text, self.width, &mut out);
                    out.push_str(self.paint.end(*style));
                }
            }
        }
        self.draw(&mut out);
        write(&out)
    }

    /// Shows another prompt, if it is another.
    pub(super) fn prompt(&mut self, prompt: Prompt) -> io::Result<()> {
        if self.prompt == prompt {
            return Ok(());
        }
        let mut out = self.wiped();
        self.prompt = prompt;
        self.draw(&mut out);
        write(&out)
    }

    /// The terminal has another size, or shows what is not of this program.
    pub(super) fn redraw(&mut self) -> io::Result<()> {
        self.width = width();
        let mut out = self.wiped();
        self.draw(&mut out);
        write(&out)
    }

    /// What removes the prompt and takes the cursor back to the end of the conversation.
    fn wiped(&self) -> String {
        let mut out = String::from("\r\x1b[J");
        let column = self.wrap.column();
        if column > 0 {
            out.push_str(&format!("\x1b[1A\x1b[{column}C"));
        }
        out
    }

    /// What draws the prompt below the end of the conversation.
    fn draw(&self, out: &mut String) {
        if self.wrap.column() > 0 {
            out.push_str("\r\n");
        }
        let Prompt { mark, line, cursor } = &self.prompt;
        out.push_str(self.paint.begin(Style::User));
        out.push_str(mark);
        out.push_str(self.paint.end(Style::User));
        out.push_str(line);
        let column = mark.chars().count() + cursor;
        out.push('\r');
        if column > 0 {
            out.push_str(&format!("\x1b[{column}C"));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = self.wiped();
        if self.wrap.column() > 0 {
            out.push_str("\r\n");
        }
        // A terminal that is gone needs no restoring.
        drop(write(&out));
        drop(execute!(io::stdout(), event::DisableBracketedPaste));
        drop(terminal::disable_raw_mode());
    }
}

fn width() -> usize {
    let columns = terminal::size().map_or(80, |(columns, _)| usize::from(columns));
    // A terminal that does not say how wide it is says 0.
    if columns == 0 { 79 } else { (columns - 1).max(10) }
}

fn write(out: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(out.as_bytes())?;
    stdout.flush()
}
