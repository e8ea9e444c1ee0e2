//! What the program says when something is wrong.

use crate::program::{Program, finish, wait_for};

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2() {
    let program = Program::new();
    program.fails(2, &["chat", "--nonsense"]);
    assert!(program.fails(2, &["chat", "--model", "gpt"]).contains("--model openai:NAME"));
    assert!(program.fails(2, &["chat", "--thread", ""]).contains("no name for a thread"));
    assert!(program.fails(2, &["chat", "--model", "openai:x"]).contains("set OPENAI_API_KEY"));
    assert!(program.fails(2, &["chat", "--base-url", "http://127.0.0.1:1"]).contains("add --model"));
    let model = ["chat", "--model", "openai:x", "--base-url", "nonsense"];
    assert!(program.fails(2, &model).contains("--base-url http"));
    let key = ["chat", "--model", "openai:x", "--base-url", "http://127.0.0.1:1", "--key-env", "NO_SUCH_KEY"];
    assert!(program.fails(2, &key).contains("set NO_SUCH_KEY"));
}

#[test]
fn a_server_that_is_not_there_is_a_failure_with_advice() {
    let program = Program::new();
    let ran = program.run(&["chat", "--model", "openai:x", "--base-url", "http://127.0.0.1:1/v1"], "hi\n");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stdout.contains("⨯ no answer, the provider cannot be reached"), "{ran:#?}");
    assert!(ran.stdout.contains("check that the server at http://127.0.0.1:1/v1 runs"), "{ran:#?}");
    // The failure is part of the thread, and the thread goes on.
    assert!(program.ok(&["show", "main"], "").contains("⨯ no answer"));
    assert!(program.ok(&["chat"], "think\n").contains("durable"));
}

#[test]
fn a_thread_of_another_process_is_named_with_it() {
    let program = Program::new();
    let mut first = program.command(&["chat", "--thread", "t"]).spawn().unwrap();
    std::io::Write::write_all(first.stdin.as_mut().unwrap(), b"hi\n").unwrap();
    wait_for(&mut first, "What shall I show next");
    let said = program.fails(1, &["chat", "--thread", "t"]);
    let owner = format!("the thread t is driven by selvedge chat (process {})", first.id());
    assert!(said.contains(&owner) && said.contains("use another thread"), "{said}");
    // Reading needs no claim, and other threads are free.
    program.ok(&["show", "t"], "");
    program.ok(&["chat", "--thread", "other"], "hi\n3\n");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn files_that_are_no_database_are_left_alone() {
    let program = Program::new();
    let run = |arguments: &[&str], path: &str| {
        let mut command = program.command(arguments);
        command.env("SELVEDGE_DB", program.path(path));
        finish(command, "")
    };
    assert!(run(&["threads"], "absent.db").stderr.contains("there is no database"));
    std::fs::write(program.path("text"), "this is no database, just text ".repeat(100)).unwrap();
    let ran = run(&["chat"], "text");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("nothing was written"), "{ran:#?}");
    assert!(run(&["threads"], ".").stderr.contains("is a folder"));
    assert!(run(&["chat"], "text/x.db").stderr.contains("cannot be made"));
}

#[test]
fn the_database_has_a_place_of_its_own() {
    let program = Program::new();
    let mut command = program.command(&["chat"]);
    command.env_remove("SELVEDGE_DB").env("XDG_DATA_HOME", program.path("data"));
    assert_eq!(finish(command, "").code, Some(0));
    assert!(program.path("data/selvedge/selvedge.db").exists());
}

#[test]
fn help_tells_what_there_is() {
    let program = Program::new();
    let help = program.ok(&["--help"], "");
    for word in
        ["chat", "threads", "show", "export", "import", "delete", "fork", "prune", "backup", "verify", "SELVEDGE_DB"]
    {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
    assert!(program.ok(&["chat", "--help"], "").contains("Ctrl-C interrupts"));
}
