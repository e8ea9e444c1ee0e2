//! Conversations with the rehearsal.

use crate::program::{Program, wait_for};

/// Each of the marks is printed, in this order.
#[track_caller]
fn in_order(text: &str, marks: &[&str]) {
    let mut rest = text;
    for mark in marks {
        let Some(at) = rest.find(mark) else { panic!("{mark:?} is missing, or too early, in:\n{text}") };
        rest = &rest[at + mark.len()..];
    }
}

#[test]
fn the_first_message_gets_a_tour() {
    let program = Program::new();
    let text = program.ok(&["chat"], "hi\n2\n");
    in_order(
        &text,
        &[
            "a scripted rehearsal answers",
            "› hi\n",
            "∴ No model is configured",
            "You said \"hi\"",
            // Whoever begins a thread attaches once it is there: these may come with the snapshot.
            "→ look_up the weather in Oslo\n",
            "→ survey ",
            "✓ step 1 durable",
            "← look_up: Oslo",
            "? What shall I show next?",
            "› 2 reasoning\n",
            "← ask: The user chose: reasoning",
            "∴ What is dimmed is reasoning",
            "That was the tour.",
            "durable",
        ],
    );
    // Two calls run at once: what becomes of one has no order with what becomes of the other.
    in_order(&text, &["→ survey ", "survey: 3 of 3 places", "▣ weather", "← survey:", "? What shall I show next?"]);
    assert!(!text.contains('\u{1b}'), "a pipe gets no escape sequences: {text}");
}

#[test]
fn a_tour_without_anybody_comes_to_its_end() {
    let text = Program::new().ok(&["chat"], "hi\n");
    in_order(&text, &["closed without an answer", "⨯ void: attempt 1 failed", "↻ attempt 2", "That was the tour."]);
}

#[test]
fn a_thread_is_shown_as_it_was_seen() {
    let program = Program::new();
    program.ok(&["chat", "--thread", "t"], "hi\n3\nthink\n");
    let shown = program.ok(&["show", "t"], "");
    in_order(&shown, &["› hi\n", "→ ask What shall I show next?\n← ask: The user chose: nothing more\n", "› think\n"]);
    // What a later chat begins with is what `show` shows.
    let text = program.ok(&["chat", "--thread", "t"], "");
    assert!(text.contains(shown.trim_end()), "{shown}\n---\n{text}");
    let items: serde_json::Value = serde_json::from_str(&program.ok(&["show", "t", "--json"], "")).unwrap();
    assert_eq!(items[0]["kind"], "user");
    assert!(items.as_array().unwrap().len() > 8);
}

#[test]
fn news_and_sign_ins_are_shown() {
    let program = Program::new();
    let text = program.ok(&["chat"], "hi\n3\nsign in\nnews\n");
    in_order(
        &text,
        &["⚿ a call waits until you have signed in", "← sign_in: signed in", "◆ news: the ferry is in sight"],
    );
    in_order(&text, &["◆ news (the last): the ferry is here", "News has come in and woken me: the ferry is here"]);
}

#[test]
fn a_killed_chat_goes_on_where_it_was() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\n");
    program.kill_at(&["chat", "--pace", "15"], "long\n", "5. The shuttle");
    let threads: serde_json::Value = serde_json::from_str(&program.ok(&["threads", "--json"], "")).unwrap();
    assert_eq!(threads[0]["inbox"], 1, "the text is durable, its answer is not: {threads}");
    let text = program.ok(&["chat"], "");
    in_order(
        &text,
        &["That was the tour.", "› long\n", "This is a long answer.", "80. The shuttle", "That was all of it."],
    );
    let shown = program.ok(&["show", "main"], "");
    for once in ["› hi\n", "That was the tour.", "› long\n", "5. The shuttle", "That was all of it."] {
        let times = shown.lines().filter(|line| format!("{line}\n").starts_with(once)).count();
        assert_eq!(times, 1, "{once:?} in:\n{shown}");
    }
}

#[test]
fn a_killed_question_is_still_open_and_can_be_answered() {
    let program = Program::new();
    // With a pace, somebody may be there: the question does not expire.
    program.kill_at(&["chat", "--pace", "1"], "hi\n", "3 nothing more");
    let open = program.ok(&["chat", "--pace", "1"], "");
    in_order(&open, &["? What shall I show next?", "the question stays open"]);
    let text = program.ok(&["chat", "--pace", "1"], "3\n");
    in_order(
        &text,
        &["? What shall I show next?", "› 3 nothing more", "← ask: The user chose: nothing more", "That was the tour."],
    );
}

#[cfg(unix)]
#[test]
fn a_signal_interrupts_and_what_was_said_is_kept() {
    use std::io::Write;
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\n");
    let mut child = program.command(&["chat", "--pace", "15"]).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"long\n").unwrap();
    wait_for(&mut child, "3. The shuttle");
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    // The pipe may hold more than was read; it must not fill up.
    wait_for(&mut child, "⨯ interrupted");
    assert!(child.wait().unwrap().success());
    let shown = program.ok(&["show", "main"], "");
    assert!(shown.contains("3. The shuttle") && !shown.contains("80. The shuttle"), "{shown}");
    assert!(shown.contains("⨯ interrupted; what was said so far is kept"), "{shown}");
}
