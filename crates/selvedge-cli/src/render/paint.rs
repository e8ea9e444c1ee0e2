//! Styles as a terminal knows them, and a printer for everything that is not a conversation on a terminal.

use std::io::{self, IsTerminal, Write};

use super::page::{Op, Page, Style};

/// Turns styles into escape sequences, or into nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    colours: bool,
}

impl Paint {
    /// With colours if standard output is a terminal and `NO_COLOR` is not set (<https://no-color.org>).
    pub(crate) fn for_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colours: io::stdout().is_terminal() && !refused && !dumb }
    }

    /// What begins a style; empty for none.
    pub(crate) fn begin(self, style: Style) -> &'static str {
        match style {
            _ if !self.colours => "",
            Style::Plain => "",
            Style::Dim => "\x1b[2m",
            Style::User => "\x1b[1;36m",
            Style::Tool => "\x1b[33m",
            Style::Ask => "\x1b[1;35m",
            Style::Good => "\x1b[32m",
            Style::Warn => "\x1b[1;33m",
            Style::Bad => "\x1b[1;31m",
        }
    }

    /// What ends a style.
    pub(crate) fn end(self, style: Style) -> &'static str {
        if self.begin(style).is_empty() { "" } else { "\x1b[0m" }
    }
}

/// Prints pages one after the other, leaving it to the terminal to break lines.
#[derive(Debug)]
pub(crate) struct Printer<W> {
    out: W,
    paint: Paint,
    /// Whether the line that is being written has anything on it.
    open: bool,
}

impl Printer<io::Stdout> {
    /// A printer to standard output.
    pub(crate) fn stdout() -> Self {
        Self { out: io::stdout(), paint: Paint::for_stdout(), open: false }
    }
}

impl<W: Write> Printer<W> {
    /// Prints a page, and sees to it that it is seen.
    pub(crate) fn print(&mut self, page: &Page) -> io::Result<()> {
        let mut text = String::new();
        for op in page.ops() {
            match op {
                Op::Text(style, more) => {
                    text.push_str(self.paint.begin(*style));
                    text.push_str(more);
                    text.push_str(self.paint.end(*style));
                    self.open = !more.ends_with('\n');
                }
                Op::Fresh if self.open => {
                    text.push('\n');
                    self.open = false;
                }
                Op::Fresh => {}
            }
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_where_they_must_across_pages() {
        let mut printer = Printer { out: Vec::new(), paint: Paint { colours: false }, open: false };
        let mut page = Page::default();
        page.text(Style::Plain, "a");
        printer.print(&page).unwrap();
        printer.print(&Page::of_line(Style::Dim, "b")).unwrap();
        printer.print(&Page::of_line(Style::Dim, "c")).unwrap();
        assert_eq!(String::from_utf8(printer.out).unwrap(), "a\nb\nc\n");
    }

    #[test]
    fn colours_end_where_they_began() {
        let mut printer = Printer { out: Vec::new(), paint: Paint { colours: true }, open: false };
        printer.print(&Page::of_line(Style::Bad, "x\u{1b}[m")).unwrap();
        assert_eq!(String::from_utf8(printer.out).unwrap(), "\x1b[1;31mx␛[m\n\x1b[0m");
    }
}
