//! Copies, checks, repairs, and what is removed.

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::program::{Program, finish, wait_for};

/// Changes the database behind the program's back.
fn damage(program: &Program, sql: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(program.path("threads.db"));
        let mut connection: SqliteConnection = options.connect().await.expect("a database");
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&mut connection).await.expect("the statement is sound");
        connection.close().await.expect("it is closed");
    });
}

/// The copies that repairs have made.
fn copies(program: &Program) -> Vec<String> {
    let entries = std::fs::read_dir(program.path("")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a text"));
    names.filter(|name| name.contains("before-repair")).collect()
}

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

#[test]
fn a_database_as_it_should_be_passes() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n1\ntools\nask\nsign in\nnews\n");
    program.kill_at(&["chat", "--thread", "open", "--pace", "1"], "hi\n", "3 nothing more");
    program.ok(&["fork", "main", "fork"], "");
    program.ok(&["chat", "--thread", "fork"], "tools\n");
    let export = program.ok(&["export", "main"], "");
    program.ok(&["import", "-", "--thread", "copy"], &export);
    assert!(program.ok(&["verify"], "").starts_with("4 threads, "));
    assert!(program.ok(&["verify", "--repair"], "").ends_with("everything is as it should be\n"));
    assert_eq!(copies(&program), [""; 0], "nothing to repair, nothing to copy");
}

#[test]
fn damage_is_told_and_repaired_only_if_that_is_wanted() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\nthink\n");
    program.kill_at(&["chat", "--thread", "open", "--pace", "1"], "hi\n", "3 nothing more");
    damage(&program, "DELETE FROM calls; UPDATE threads SET input_tokens = 7, committed = 99 WHERE name = 'main'");
    for _ in 0..2 {
        let ran = program.run(&["verify"], "");
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        for found in [
            "thread main: step 99 counts as committed",
            "thread main: the thread counts 7/",
            "thread open: the call call_4_0 has no result and is not open",
            "thread open: the choice call_4_0:1 belongs to call_4_0, which is no open call",
        ] {
            assert!(ran.stdout.contains(found), "{found:?} is missing in {ran:#?}");
        }
        assert!(ran.stderr.contains("4 findings in ") && ran.stderr.contains("verify --repair puts 4"), "{ran:#?}");
    }
    let said = program.ok(&["verify", "--repair"], "");
    assert_eq!(said.matches("repaired: ").count(), 4, "{said}");
    let [copy] = &copies(&program)[..] else { panic!("{:?}", copies(&program)) };
    assert!(said.contains(copy), "{said}");
    program.ok(&["verify"], "");
    // The copy is the database as it was before.
    let mut command = program.command(&["verify"]);
    command.env("SELVEDGE_DB", program.path(copy));
    assert!(finish(command, "").stderr.contains("4 findings"));
    // The thread goes on: the call is settled, and the question that nobody waited for is gone.
    let text = program.ok(&["chat", "--thread", "open"], "think\n");
    assert!(text.contains("outcome unknown") && text.contains("durable"), "{text}");
    program.ok(&["verify"], "");
}

#[test]
fn what_cannot_be_read_is_left_and_the_rest_repaired() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\nthink\n");
    damage(&program, "UPDATE messages SET body = '{' WHERE step = 1 AND place = 0; UPDATE threads SET committed = 99");
    let ran = program.run(&["verify", "--repair"], "");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stdout.contains("left: thread main: a record cannot be read: messages of"), "{ran:#?}");
    assert!(ran.stdout.contains("repaired: thread main: step 99"), "{ran:#?}");
    assert!(ran.stderr.contains("1 finding in") && ran.stderr.contains("left as it is"), "{ran:#?}");
    assert_eq!(program.run(&["verify", "--repair"], "").code, Some(1));
    assert_eq!(copies(&program).len(), 1, "with nothing left that can be repaired, no further copy is made");
    assert!(ran.stdout.contains("derived, thread main: kept as it was before the damage"), "{ran:#?}");
    assert!(program.ok(&["search", "hi"], "").contains("main "), "what was derived of it is still there");
    assert!(program.ok(&["chat"], "think\n").contains("durable"));
}

#[test]
fn what_is_derived_is_held_against_the_histories() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\nthink\n");
    let export = program.ok(&["export", "main"], "");
    program.ok(&["import", "-", "--thread", "copy"], &export);
    program.ok(&["verify"], "");
    // An answer that was changed behind everybody's back differs from what was derived of it.
    damage(&program, "UPDATE messages SET body = replace(body, 'dimmed', 'DIMMED')");
    let ran = program.run(&["verify"], "");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stdout.contains("derived, thread main at step "), "{ran:#?}");
    assert!(!ran.stdout.contains("copy"), "it is behind, not different: {ran:#?}");
    let said = program.ok(&["verify", "--repair"], "");
    assert!(said.contains("repaired: derived, thread main"), "{said}");
    assert_eq!(copies(&program), [""; 0], "what is derived needs no copy");
    program.ok(&["verify"], "");
    // A file of sessions that is no database is told, and harms nothing else.
    std::fs::write(program.path("threads.sessions.db"), "no database at all").unwrap();
    let ran = program.run(&["verify"], "");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stdout.contains("selvedge rebuild makes it anew"), "{ran:#?}");
}

#[test]
fn a_repair_ends_though_nobody_reads_what_it_says() {
    let program = Program::new();
    program.ok(&["chat"], "hi\n3\n");
    damage(&program, "UPDATE threads SET committed = 99");
    let mut child = program.command(&["verify", "--repair"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    program.ok(&["verify"], "");
}
