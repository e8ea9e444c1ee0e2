//! Retention: old turns, old threads.

use crate::program::Program;

fn talked() -> Program {
    let program = Program::new();
    program.ok(&["chat"], "hi\n1\nthink\ntools\nthink\n");
    program
}

#[test]
fn old_turns_go_and_the_conversation_goes_on() {
    let program = talked();
    assert!(program.fails(2, &["prune"]).contains("--older-than"));
    assert!(program.fails(2, &["prune", "--keep", "1", "--older-than", "1d"]).contains("cannot be used with"));
    assert!(program.fails(2, &["prune", "--older-than", "soon"]).contains("is no age"));
    assert!(program.fails(1, &["prune", "--keep", "1", "--thread", "x"]).contains("there is no thread x"));
    assert!(program.fails(2, &["prune", "--keep", "1"]).contains("--yes"));
    assert_eq!(program.ok(&["prune", "--older-than", "1h", "--yes"], ""), "there is nothing to remove\n");
    let before = program.ok(&["export", "main"], "");
    assert!(program.ok(&["prune", "--keep", "1", "--dry-run"], "").contains("would go"));
    assert_eq!(without_header(&program.ok(&["export", "main"], "")), without_header(&before));

    let said = program.ok(&["prune", "--keep", "1", "--yes"], "");
    assert!(said.contains("removed") && said.contains("bytes smaller"), "{said}");
    program.ok(&["verify"], "");
    let shown = program.ok(&["show", "main"], "");
    assert!(shown.contains("was removed to save space"), "{shown}");
    let after = program.ok(&["export", "main"], "");
    assert!(after.lines().count() < before.lines().count());

    // The validator runs on every import, and the scripted model on every request.
    program.ok(&["import", "-", "--thread", "copy"], &after);
    assert_eq!(without_header(&program.ok(&["export", "copy"], "")), without_header(&after));
    for thread in ["main", "copy"] {
        assert!(program.ok(&["chat", "--thread", thread], "think\n").contains("durable"));
    }
    program.ok(&["verify"], "");
}

fn without_header(export: &str) -> &str {
    export.split_once('\n').expect("more than one line").1
}

#[test]
fn whole_threads_go_unless_they_have_something_to_do() {
    let program = Program::new();
    program.kill_at(&["chat", "--thread", "open", "--pace", "1"], "hi\n", "3 nothing more");
    program.ok(&["chat", "--thread", "old"], "think\n");
    program.ok(&["chat", "--thread", "new"], "think\n");
    let said = program.ok(&["prune", "--threads", "--keep", "1", "--yes"], "");
    assert!(said.contains("open stays: it has something to do") && said.contains("old: the thread"), "{said}");
    let threads: serde_json::Value = serde_json::from_str(&program.ok(&["threads", "--json"], "")).unwrap();
    let names: Vec<_> = threads.as_array().unwrap().iter().map(|thread| thread["thread"].as_str().unwrap()).collect();
    assert_eq!(names, ["new", "open"]);
}
