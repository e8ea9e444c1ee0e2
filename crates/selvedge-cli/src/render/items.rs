//! The things that a transcript shows, each as lines.

use selvedge::event::{DisplaySegment, FailureKind, Item, OAuthNotice, Outcome, ToolResult, UserChoice, View};
use selvedge::prelude::{ItemKind, ToolStatus, Transcript};

use super::clean::clean_line;
use super::page::{Page, Style};

/// The most lines that are shown of one result; the rest is counted.
const RESULT_LINES: usize = 12;
/// The most characters that are shown of a line of a call or of a result.
const LINE: usize = 400;

/// Everything that a transcript shows. Where a completion runs, its last line is left open, to be continued.
pub(crate) fn transcript(transcript: &Transcript) -> Page {
    let mut page = Page::default();
    for item in transcript.items() {
        self::item(item, &mut page);
    }
    transcript.views().iter().for_each(|shown| view(shown, &mut page));
    transcript.oauth().iter().for_each(|notice| sign_in(notice, &mut page));
    transcript.choices().iter().for_each(|asked| choice(asked, &mut page));
    page
}

fn item(item: &Item, page: &mut Page) {
    match &item.kind {
        ItemKind::User { text, .. } => user(text, page),
        ItemKind::Text { text } => {
            page.fresh();
            page.text(Style::Plain, text);
        }
        ItemKind::Thinking { text, .. } => {
            page.fresh();
            page.text(Style::Dim, "∴ ");
            page.text(Style::Dim, text);
        }
        ItemKind::ToolCall { name, arguments, display_as, result, .. } => {
            call(name, arguments, display_as.as_deref(), page);
            match result {
                Some((_, result)) => self::result(name, result, page),
                None => page.line(Style::Dim, &format!("  {name} has not answered yet")),
            }
        }
        ItemKind::SubscriptionEvent { text, last, .. } => news(text, *last, page),
        ItemKind::Compaction { summary } => compaction(summary, page),
        ItemKind::Ended { outcome } => ended(outcome, page),
        _ => page.line(Style::Dim, "(something that this version does not know)"),
    }
}

pub(super) fn user(text: &str, page: &mut Page) {
    page.fresh();
    page.text(Style::User, "› ");
    page.text(Style::User, text);
    page.fresh();
}

pub(super) fn call(name: &str, arguments: &str, display_as: Option<&str>, page: &mut Page) {
    let shown = display_as.map_or_else(|| clean_line(arguments, LINE), |display| clean_line(display, LINE));
    page.line(Style::Tool, &format!("→ {} {shown}", clean_line(name, 64)));
}

pub(super) fn result(name: &str, result: &ToolResult, page: &mut Page) {
    let (style, remark) = match result.status {
        ToolStatus::Ok => (Style::Dim, ""),
        ToolStatus::Error => (Style::Bad, " (error)"),
        ToolStatus::NotExecuted => (Style::Warn, " (not executed)"),
        ToolStatus::Interrupted => (Style::Warn, " (interrupted)"),
        ToolStatus::Unknown => (Style::Warn, " (outcome unknown)"),
    };
    let mark = if result.status == ToolStatus::Ok { Style::Tool } else { style };
    page.fresh();
    page.text(mark, &format!("← {}{remark}: ", clean_line(name, 64)));
    let text = result.joined_text();
    match result.display.first() {
        Some(DisplaySegment::Text(text)) => lines(text, style, page),
        Some(DisplaySegment::Diff { path, patch }) => diff(path, patch, page),
        Some(DisplaySegment::Image { media_type, data }) => {
            page.text(style, &format!("[a picture: {media_type}, {} bytes]\n", data.len() / 4 * 3));
        }
        None if text.is_empty() => page.text(style, "(nothing that can be shown)\n"),
        None => lines(&text, style, page),
    }
    if let Some(blob) = &result.blob {
        page.line(Style::Dim, &format!("  (cut; all {} bytes are kept as {})", blob.bytes, blob.id));
    }
}

/// The beginning of a text: one line where it stands, more of them indented below.
fn lines(text: &str, style: Style, page: &mut Page) {
    let all: Vec<&str> = text.trim_end().lines().collect();
    let several = all.len() > 1;
    for line in all.iter().take(RESULT_LINES) {
        if several {
            page.fresh();
            page.text(style, "  ");
        }
        page.text(style, &clean_line(line, LINE));
        page.text(style, "\n");
    }
    if all.len() > RESULT_LINES {
        page.line(Style::Dim, &format!("  … {} more lines", all.len() - RESULT_LINES));
    }
    page.fresh();
}

fn diff(path: &str, patch: &str, page: &mut Page) {
    page.text(Style::Dim, &clean_line(path, LINE));
    page.fresh();
    for line in patch.lines().take(RESULT_LINES * 4) {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            _ => Style::Dim,
        };
        page.line(style, &format!("  {}", clean_line(line, LINE)));
    }
}

pub(super) fn news(text: &str, last: bool, page: &mut Page) {
    let end = if last { " (the last)" } else { "" };
    page.line(Style::Tool, &format!("◆ news{end}: {text}"));
}

pub(super) fn compaction(summary: &str, page: &mut Page) {
    page.line(Style::Dim, &format!("≡ for the model, this now stands for all above: {summary}"));
}

pub(super) fn view(view: &View, page: &mut Page) {
    page.line(Style::Tool, &format!("▣ {}", clean_line(&view.view_type, 64)));
    for line in view.content.lines().take(RESULT_LINES) {
        page.line(Style::Plain, &format!("  {}", clean_line(line, LINE)));
    }
}

pub(super) fn sign_in(notice: &OAuthNotice, page: &mut Page) {
    page.line(Style::Ask, &format!("⚿ a call waits until you have signed in: {}", notice.auth_url));
}

pub(super) fn choice(choice: &UserChoice, page: &mut Page) {
    page.line(Style::Ask, &format!("? {}", choice.prompt));
    for (place, option) in choice.options.iter().enumerate() {
        let default = if place == choice.default { "  (counts if you do not choose)" } else { "" };
        page.fresh();
        page.text(Style::Ask, &format!("  {} ", place + 1));
        page.text(Style::Plain, &clean_line(option, LINE));
        page.text(Style::Dim, default);
        page.text(Style::Plain, "\n");
    }
}

/// How a completion ended, where that is worth a line.
pub(super) fn ended(outcome: &Outcome, page: &mut Page) {
    match outcome {
        Outcome::Stopped | Outcome::ToolCalls => page.fresh(),
        Outcome::Length => page.line(Style::Warn, "⨯ cut off: the answer reached the limit of its length"),
        Outcome::ContentFilter => page.line(Style::Warn, "⨯ the provider withheld the answer, or the rest of it"),
        Outcome::Interrupted => page.line(Style::Warn, "⨯ interrupted; what was said so far is kept"),
        Outcome::Failed { failure, message } => {
            let message = if message.is_empty() { "no more is known" } else { message };
            page.line(Style::Bad, &format!("⨯ no answer, {}: {}", kind(*failure), clean_line(message, 1000)));
        }
    }
}

fn kind(failure: FailureKind) -> &'static str {
    match failure {
        FailureKind::Auth => "the key is not accepted",
        FailureKind::InvalidRequest => "the request is not accepted",
        FailureKind::RateLimited => "too many requests",
        FailureKind::Overloaded => "the provider has no capacity",
        FailureKind::Server => "the provider failed",
        FailureKind::Network => "the provider cannot be reached",
        FailureKind::Timeout => "the provider was silent for too long",
        FailureKind::Truncated => "the stream was cut off",
        FailureKind::Protocol => "the answer breaks its protocol",
        FailureKind::LoopLimit => "the model went on calling tools",
        _ => "the completion failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_and_counted() {
        let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let mut page = Page::default();
        result("list", &ToolResult::text("call_1_0".into(), ToolStatus::Ok, text), &mut page);
        let plain = page.plain();
        assert!(plain.starts_with("← list: \n  line 1\n"), "{plain}");
        assert!(plain.ends_with("  line 12\n  … 8 more lines\n"), "{plain}");
    }

    #[test]
    fn a_failure_never_looks_like_a_success() {
        let outcome = Outcome::Failed { failure: FailureKind::Auth, message: "no \u{1b}[2J".into() };
        let mut page = Page::default();
        ended(&outcome, &mut page);
        assert_eq!(page.plain(), "⨯ no answer, the key is not accepted: no ␛[2J\n");
    }
}
