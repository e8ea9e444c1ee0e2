//! What is to be printed, before it is known where: text in styles, and where a new line must begin.
//!
//! The only way into a page is through [`clean`], so nothing that a page holds can act on a terminal.

use super::clean::clean;

/// What a text means; how that looks is up to whoever prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// What the model says.
    Plain,
    /// Beside the point: reasoning, progress, durability.
    Dim,
    /// What the user wrote.
    User,
    /// A call, and other things that tools do.
    Tool,
    /// A question to the user.
    Ask,
    /// Something new, or well done.
    Good,
    /// Something void or cut short.
    Warn,
    /// A failure.
    Bad,
}

/// One thing to do for a printer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// Continue the line with a text, which may have newlines.
    Text(Style, String),
    /// Begin a new line, unless the line is empty.
    Fresh,
}

/// Some things to print, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Page(Vec<Op>);

impl Page {
    /// Text that continues the line.
    pub(crate) fn text(&mut self, style: Style, text: &str) {
        let text = clean(text);
        match self.0.last_mut() {
            Some(Op::Text(last, before)) if *last == style => before.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.0.push(Op::Text(style, text)),
        }
    }

    /// What comes next stands on a line of its own.
    pub(crate) fn fresh(&mut self) {
        self.0.push(Op::Fresh);
    }

    /// Whole lines.
    pub(crate) fn line(&mut self, style: Style, text: &str) {
        self.fresh();
        self.text(style, text);
        self.text(style, "\n");
    }

    /// Everything of another page, after this one.
    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether there is nothing to print.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What to do, in order.
    pub(crate) fn ops(&self) -> &[Op] {
        &self.0
    }

    /// A page of one line.
    pub(crate) fn of_line(style: Style, text: &str) -> Self {
        let mut page = Self::default();
        page.line(style, text);
        page
    }
}

#[cfg(test)]
impl Page {
    /// The page as plain text.
    pub(crate) fn plain(&self) -> String {
        let mut text = String::new();
        for op in &self.0 {
            match op {
                Op::Text(_, more) => text.push_str(more),
                Op::Fresh if text.is_empty() || text.ends_with('\n') => {}
                Op::Fresh => text.push('\n'),
            }
        }
        text
    }
}
