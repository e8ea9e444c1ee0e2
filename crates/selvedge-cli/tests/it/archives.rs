//! Threads that leave the database and come back; lists, forks and deletion.

use crate::program::Program;

fn without_header(export: &str) -> &str {
    export.split_once('\n').expect("more than one line").1
}

#[test]
fn an_export_comes_back_the_same() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n1\ntools\nask\nthink\n");
    let first = program.ok(&["export", "main"], "");
    assert!(first.starts_with(r#"{"format":"selvedge-thread","version":1,"thread":"main""#), "{first}");
    let said = program.ok(&["import", "-", "--thread", "copy"], &first);
    assert!(said.starts_with("copy: "), "{said}");
    assert_eq!(without_header(&program.ok(&["export", "copy"], "")), without_header(&first));
    assert_eq!(program.ok(&["show", "copy"], ""), program.ok(&["show", "main"], ""));
    // The copy is a thread like any other, and has nothing left to do.
    let threads: serde_json::Value = serde_json::from_str(&program.ok(&["threads", "--json"], "")).unwrap();
    assert_eq!(
        (&threads[0]["thread"], &threads[0]["open_calls"], &threads[0]["inbox"]),
        (&"copy".into(), &0.into(), &0.into())
    );
    assert_eq!(threads[0]["usage"], threads[1]["usage"]);
    let text = program.ok(&["chat", "--thread", "copy"], "think\n");
    assert!(text.contains("∴ A thread is woven of steps"), "{text}");
}

#[test]
fn a_call_that_was_open_is_settled_as_unknown_in_the_copy() {
    let program = Program::new();
    program.kill_at(&["chat", "--pace", "1"], "hi\n", "3 nothing more");
    let export = program.ok(&["export", "main"], "");
    program.ok(&["import", "-", "--thread", "copy"], &export);
    let text = program.ok(&["chat", "--thread", "copy"], "");
    assert!(text.contains("← ask (outcome unknown)"), "{text}");
    assert!(!text.contains("void"), "{text}");
}

#[test]
fn an_existing_thread_and_a_damaged_file_are_refused() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\n");
    let file = program.path("main.jsonl");
    let name = file.to_str().unwrap();
    program.ok(&["export", "main", "--out", name], "");
    assert!(program.fails(1, &["export", "main", "--out", name]).contains("cannot be made"));
    assert!(program.fails(1, &["import", name]).contains("there is a thread main already"));
    let text = std::fs::read_to_string(&file).unwrap();
    let cut: Vec<&str> = text.lines().take(2).collect();
    std::fs::write(&file, cut.join("\n")).unwrap();
    assert!(program.fails(1, &["import", name, "--thread", "x"]).contains("it may be cut off"));
    assert!(program.fails(1, &["import", "nowhere.jsonl"]).contains("nowhere.jsonl cannot be read"));
    assert_eq!(program.ok(&["threads"], "").lines().count(), 2, "a head, and main");
}

#[test]
fn threads_are_listed_forked_and_deleted() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\nthink\n");
    assert!(program.ok(&["threads"], "").starts_with("thread  steps  updated"));
    assert!(program.fails(1, &["fork", "main", "x", "--at", "1"]).contains("a call is open at step 1"));
    assert!(program.fails(1, &["fork", "main", "x", "--at", "99"]).contains("choose an earlier one"));
    assert!(program.fails(1, &["fork", "main", "main"]).contains("there is a thread main already"));
    let said = program.ok(&["fork", "main", "later"], "");
    assert!(said.starts_with("later shares main up to step "), "{said}");
    let (fork, main) = (program.ok(&["export", "later"], ""), program.ok(&["export", "main"], ""));
    assert_eq!(without_header(&fork), without_header(&main));
    assert!(program.fails(1, &["delete", "main", "--yes"]).contains("delete the forks"));
    assert!(program.fails(2, &["delete", "later"]).contains("--yes"));
    assert_eq!(program.ok(&["delete", "later", "--yes"], ""), "later is deleted\n");
    assert!(program.fails(1, &["show", "later"]).contains("there is no thread later"));
}
