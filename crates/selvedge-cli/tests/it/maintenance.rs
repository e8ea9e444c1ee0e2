//! Copies, checks, repairs, and what is removed.

use crate::program::{Program, finish, wait_for};

#[test]
fn a_copy_is_made_while_a_chat_runs() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\n");
    let mut chat = program.command(&["chat", "--pace", "15"]).spawn().unwrap();
    std::io::Write::write_all(chat.stdin.as_mut().unwrap(), b"long\n").unwrap();
    wait_for(&mut chat, "2. The shuttle");
    let said = program.ok(&["backup", "copy.db"], "");
    assert!(said.ends_with("threads.db is copied to copy.db\n"), "{said}");
    chat.kill().unwrap();
    chat.wait().unwrap();
    assert!(program.fails(1, &["backup", "copy.db"]).contains("already"));
    // The copy goes on by itself, from the moment at which it was made: the text was durable, its answer was not.
    let mut command = program.command(&["chat"]);
    command.env("SELVEDGE_DB", program.path("copy.db"));
    let ran = finish(command, "");
    assert!(ran.stdout.contains("› long") && ran.stdout.contains("That was all of it."), "{ran:#?}");
    assert!(!program.ok(&["show", "main"], "").contains("That was all of it."));
    assert!(program.fails(1, &["backup", "no/such/folder/copy.db"]).contains("space left"));
}
