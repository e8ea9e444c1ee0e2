//! What is derived from the histories: search, and deriving it anew.

use crate::program::Program;

#[test]
fn what_was_said_is_found() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\nthink\n");
    let found = program.ok(&["search", "shown", "dim"], "");
    assert!(found.starts_with("main ") && found.contains("Reasoning is shown dimmed"), "{found}");
    let hits: serde_json::Value = serde_json::from_str(&program.ok(&["search", "DIMMED", "--json"], "")).unwrap();
    assert_eq!((&hits[0]["thread"], &hits[0]["words"][0]), (&"main".into(), &"dimmed".into()), "{hits}");
    // Any text may be searched for.
    for words in ["\"", "a OR", "NEAR(", "*", "no-such-word-at-all"] {
        assert_eq!(program.ok(&["search", "--json", words], "").trim(), "[]", "{words}");
    }
    assert!(program.fails(2, &["search"]).contains("WORDS"));
}

#[test]
fn what_came_without_a_chat_is_found_too() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\nthink\n");
    program.ok(&["fork", "main", "copy"], "");
    assert!(program.ok(&["search", "dimmed"], "").contains("copy "));
    program.ok(&["delete", "copy", "--yes"], "");
    assert!(!program.ok(&["search", "dimmed"], "").contains("copy "));
    let export = program.ok(&["export", "main"], "");
    program.ok(&["import", "-", "--thread", "imported"], &export);
    assert!(program.ok(&["search", "dimmed"], "").contains("imported "));
}

#[test]
fn everything_derived_can_be_lost() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\nthink\n");
    let found = program.ok(&["search", "dimmed"], "");
    let sessions = program.path("threads.sessions.db");
    assert!(sessions.exists());
    std::fs::remove_file(&sessions).unwrap();
    assert!(program.ok(&["rebuild"], "").starts_with("1 threads are rebuilt"));
    assert_eq!(program.ok(&["search", "dimmed"], ""), found);

    std::fs::write(&sessions, "no database at all").unwrap();
    let said = program.fails(1, &["search", "dimmed"]);
    assert!(said.contains("selvedge rebuild makes it anew"), "{said}");
}
