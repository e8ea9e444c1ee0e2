//! Every kind of damage is found, and what can be put right is.

use selvedge_event::{Message, Timestamp, ToolStatus};
use selvedge_sqlite::{Finding, Problem, Repair, SqliteStore, Verified};
use selvedge_store::ConversationStore;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::folder::Folder;
use crate::healthy::{self, fill};
use crate::work::accept;

pub(crate) async fn findings(store: &SqliteStore) -> Vec<Finding> {
    let mut found = Vec::new();
    let Verified { findings, .. } = store.verify(|finding| found.push(finding)).await.unwrap();
    assert_eq!(findings as usize, found.len());
    found
}

async fn repair(store: &SqliteStore) -> Vec<(Finding, Repair)> {
    let mut told = Vec::new();
    store.repair("repair", Timestamp(50), |finding, repair| told.push((finding, repair))).await.unwrap();
    told
}

async fn execute(folder: &Folder, sql: &str) {
    let mut connection = SqliteConnectOptions::new().filename(folder.database()).connect().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// All rows of all tables as text, but for claims.
async fn dump(folder: &Folder) -> Vec<String> {
    use sqlx::Row;
    let mut connection = SqliteConnectOptions::new().filename(folder.database()).connect().await.unwrap();
    let mut rows = Vec::new();
    for (table, columns) in [
        ("threads", "name, step, committed, last_seq, input_tokens, output_tokens"),
        ("messages", "thread, step, place, hex(body)"),
        ("inbox", "thread, seq, input_id, hex(body)"),
        ("input_ids", "thread, input_id"),
        ("calls", "thread, call_id, hex(body)"),
        ("choices", "thread, call_id, choice_id, hex(body)"),
        ("oauth", "thread, call_id, hex(body)"),
        ("blobs", "thread, blob_id, piece, length(bytes)"),
    ] {
        let sql = format!("SELECT '{table} ' || concat_ws(' ', {columns}) FROM {table} ORDER BY 1");
        let found = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
        rows.extend(found.iter().map(|row| row.get::<String, _>(0)));
    }
    connection.close().await.unwrap();
    rows
}

#[tokio::test]
async fn a_database_as_it_should_be_has_no_findings() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    fill(&store).await;
    let verified = store.verify(|finding| panic!("{finding}")).await.unwrap();
    assert_eq!(verified, Verified { threads: 4, messages: 6 + 4 + 2 + 6, findings: 0 });
    let before = dump(&folder).await;
    assert_eq!(repair(&store).await, []);
    assert_eq!(dump(&folder).await, before);
    // A parent that is deleted leaves its children, which is as it should be.
    store.delete(&"u#fork".into()).await.unwrap();
    store.delete(&"u".into()).await.unwrap();
    assert_eq!(findings(&store).await, []);
}

fn at(thread: &str, problem: Problem) -> Finding {
    Finding { thread: Some(thread.into()), problem }
}

/// Damages a database, expects these findings, and has them repaired: what can be is gone, the rest is still there.
async fn check(damage: &str, expected: &[Finding]) -> (Folder, SqliteStore) {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    fill(&store).await;
    execute(&folder, damage).await;
    let damaged = dump(&folder).await;
    assert_eq!(findings(&store).await, expected, "{damage}");
    assert_eq!(dump(&folder).await, damaged, "{damage}: a check changes nothing");
    let (repairable, left): (Vec<_>, Vec<_>) =
        expected.iter().cloned().partition(|finding| finding.problem.is_repairable());
    let told = repair(&store).await;
    let with =
        |repair: Repair| told.iter().filter(move |(_, told)| *told == repair).map(|(finding, _)| finding.clone());
    assert_eq!(with(Repair::Left).collect::<Vec<_>>(), left, "{damage}");
    for finding in repairable {
        assert!(with(Repair::Done).any(|done| done == finding), "{damage}: {finding} is not repaired");
    }
    assert_eq!(findings(&store).await, left, "{damage}: after the repair");
    (folder, store)
}

const T: &str = "(SELECT id FROM threads WHERE name = 't')";

#[tokio::test]
async fn counters_that_lag_behind_are_found_and_raised() {
    let sql = "UPDATE threads SET step = 1, committed = 1 WHERE name = 't'";
    let (_folder, store) = check(sql, &[at("t", Problem::TurnBeyond { turn: 3, step: 1 })]).await;
    assert_eq!(store.head(&"t".into()).await.unwrap().step, 3);
    let sql = "UPDATE threads SET committed = 9 WHERE name = 't'";
    let (_folder, store) = check(sql, &[at("t", Problem::CommittedBeyond { committed: 9, step: 3 })]).await;
    assert_eq!(store.load(&"t".into()).await.unwrap().committed, 3);
    let sql = "UPDATE threads SET last_seq = 1 WHERE name = 't'";
    let (_folder, store) = check(sql, &[at("t", Problem::InboxBeyond { seq: 4, last: 1 })]).await;
    assert_eq!(accept(&store, "t", "five").await.unwrap(), selvedge_store::Acceptance::Accepted(5));
}

#[tokio::test]
async fn ids_that_are_forgotten_are_known_again() {
    let expected = ["one", "two", "three"].map(|input| at("t", Problem::InputForgotten(input.into())));
    let (_folder, store) =
        check(&format!("DELETE FROM input_ids WHERE thread = {T} AND input_id <> 'result:a'"), &expected).await;
    for input in ["one", "two", "three"] {
        assert_eq!(accept(&store, "t", input).await.unwrap(), selvedge_store::Acceptance::Duplicate);
    }
}

#[tokio::test]
async fn usage_that_is_not_the_sum_is_counted_again() {
    let kept = selvedge_event::Usage { input: 1, ..healthy::usage() + healthy::usage() + healthy::usage() };
    let counted = selvedge_event::Usage { input: 9, ..kept };
    let problem = Problem::Usage { kept, counted };
    let (_folder, store) = check("UPDATE threads SET input_tokens = 1 WHERE name = 't'", &[at("t", problem)]).await;
    assert_eq!(store.load(&"t".into()).await.unwrap().usage, counted);
}

#[tokio::test]
async fn a_call_that_nobody_will_settle_is_settled_as_unknown() {
    let expected = [
        Problem::CallLost("b".into()),
        Problem::ChoiceWithoutCall { call: "b".into(), choice: "b:1".into() },
        Problem::SignInWithoutCall("b".into()),
    ];
    let sql = format!("DELETE FROM calls WHERE thread = {T}");
    let (_folder, store) = check(&sql, &expected.map(|problem| at("t", problem))).await;
    let page = store.history(&"t".into(), None, u64::MAX).await.unwrap();
    let turn = page.turns.last().unwrap();
    let Message::ToolResult(result) = &turn.messages[0] else { panic!("{turn:?}") };
    assert_eq!(
        (turn.step, turn.messages.len(), result.call_id.as_str(), result.status),
        (4, 1, "b", ToolStatus::Unknown)
    );
    let record = store.load(&"t".into()).await.unwrap();
    // The step is synced and not committed: the observer is told when the thread is next driven.
    assert_eq!((record.head.step, record.committed, record.inbox.len()), (4, 3, 1));
    assert_eq!((record.choices.len(), record.oauth.len(), record.open_calls.len()), (0, 0, 0));
}

#[tokio::test]
async fn a_call_that_has_its_result_is_open_no_more() {
    let sql = format!(
        "INSERT INTO calls SELECT thread, 'a', 1, 0, replace(body, '\"b\"', '\"a\"') FROM calls WHERE thread = {T}; \
         INSERT INTO choices SELECT thread, 'a', 'a:1', 1, 0, body, NULL FROM choices WHERE thread = {T}"
    );
    let (_folder, store) = check(&sql, &[at("t", Problem::CallSettled("a".into()))]).await;
    let record = store.load(&"t".into()).await.unwrap();
    assert_eq!((record.open_calls.len(), record.choices.len()), (1, 1));
}

#[tokio::test]
async fn what_cannot_be_put_right_is_left() {
    let message = |step: u64, place: u64| format!("thread = {T} AND step = {step} AND place = {place}");
    let copied = |step: u64, place: u64, to: (u64, u64)| {
        format!(
            "INSERT INTO messages (thread, step, place, at, body) SELECT thread, {}, {}, at, body FROM messages WHERE {}",
            to.0,
            to.1,
            message(step, place)
        )
    };
    let usage = |messages: u64| (0..messages).fold(selvedge_event::Usage::default(), |sum, _| sum + healthy::usage());
    let miscounted = |kept, counted| Problem::Usage { kept: usage(kept), counted: usage(counted) };
    // A call's message, with the result behind it in the same turn.
    let sql = format!("DELETE FROM messages WHERE {}", message(1, 1));
    check(&sql, &[at("t", Problem::ResultWithoutCall("a".into())), at("t", miscounted(3, 2))]).await;
    let sql = format!("DELETE FROM messages WHERE {}", message(3, 1));
    check(&sql, &[at("t", Problem::CallWithoutMessage("b".into())), at("t", miscounted(3, 2))]).await;
    check(&copied(2, 0, (2, 2)), &[at("t", Problem::ResultTwice("a".into()))]).await;
    let twice = [at("t", Problem::CallTwice("a".into())), at("t", miscounted(3, 4))];
    check(&copied(1, 1, (3, 2)), &twice).await;
    let sql = format!("DELETE FROM messages WHERE {}", message(2, 0));
    let missing = [Problem::MessageMissing { step: 2, place: 0 }, Problem::CallLost("a".into())];
    check(&sql, &missing.map(|problem| at("t", problem))).await;
    let blob = |kept| Problem::Blob { call: "a".into(), blob: "a".into(), bytes: 300_000, kept };
    check(&format!("DELETE FROM blobs WHERE thread = {T}"), &[at("t", blob(0))]).await;
    check(&format!("DELETE FROM blobs WHERE thread = {T} AND piece = 1"), &[at("t", blob(262_144))]).await;
    check(&format!("DELETE FROM blobs WHERE thread = {T} AND piece = 0"), &[at("t", blob(0))]).await;
    let before = [at("u#fork", Problem::TurnBefore { turn: 2, first: 3 })];
    check("UPDATE messages SET step = 2 WHERE thread = (SELECT id FROM threads WHERE name = 'u#fork')", &before).await;
    check("UPDATE threads SET name = 'v' WHERE name = 'u'", &[at("u#fork", Problem::ParentMissing("u".into()))]).await;
}

#[tokio::test]
async fn a_fork_beyond_its_parent_is_found() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    fill(&store).await;
    execute(&folder, "UPDATE threads SET fork_step = 7, step = 8, committed = 8 WHERE name = 'u#fork'; UPDATE messages SET step = 8 WHERE thread = (SELECT id FROM threads WHERE name = 'u#fork')").await;
    assert_eq!(findings(&store).await, [at("u#fork", Problem::ForkBeyond { parent: "u".into(), fork: 7, step: 3 })]);
}

#[tokio::test]
async fn rows_without_a_thread_are_found_and_left() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    fill(&store).await;
    execute(&folder, "UPDATE messages SET thread = 77 WHERE thread = (SELECT id FROM threads WHERE name = 'u/child'); UPDATE blobs SET thread = 77 WHERE blob_id = 'a'; UPDATE inbox SET thread = 77 WHERE thread = (SELECT id FROM threads WHERE name = 'u/child')").await;
    let found = findings(&store).await;
    for (table, rows) in [("blobs", 2), ("inbox", 1)] {
        let orphans = Finding { thread: None, problem: Problem::Orphans { table: table.into(), thread: 77, rows } };
        assert!(found.contains(&orphans), "{found:#?}");
    }
    let before = dump(&folder).await;
    assert!(repair(&store).await.iter().all(|(_, repair)| *repair == Repair::Left));
    assert_eq!(dump(&folder).await, before);
}

/// Whatever cannot be read is told, and neither it nor what may belong to it is touched (S22).
#[tokio::test]
async fn s22_what_cannot_be_read_is_told_and_never_touched() {
    for table in ["messages", "inbox", "calls", "choices", "oauth"] {
        for damage in ["CAST(x'22ff22' AS TEXT)", "''", "'{\"kind\":\"user\",'"] {
            let folder = Folder::new();
            let store = SqliteStore::open(folder.database()).await.unwrap();
            fill(&store).await;
            execute(&folder, &format!("UPDATE {table} SET body = {damage} WHERE thread = {T}")).await;
            if table != "messages" {
                // Now everything beside the history is moot as well.
                execute(&folder, &format!("DELETE FROM calls WHERE thread = {T} AND '{table}' <> 'calls'")).await;
            }
            let before = dump(&folder).await;
            let found = findings(&store).await;
            let unreadable = found.iter().filter(|finding| matches!(finding.problem, Problem::Unreadable { .. }));
            assert_eq!(unreadable.count(), if table == "messages" { 6 } else { 1 }, "{table}: {found:#?}");
            repair(&store).await;
            let after = dump(&folder).await;
            let of = |dump: &[String]| {
                dump.iter().filter(|row| row.starts_with(&format!("{table} "))).cloned().collect::<Vec<_>>()
            };
            assert!(of(&after).iter().filter(|row| of(&before).contains(row)).count() == of(&before).len(), "{table}");
        }
    }
}

#[tokio::test]
async fn a_damaged_file_is_told_in_sqlites_words() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    fill(&store).await;
    for number in 0..200 {
        accept(&store, "t", &format!("input number {number} {}", "x".repeat(100))).await.unwrap();
    }
    store.close().await;
    let mut bytes = std::fs::read(folder.database()).unwrap();
    // The pages that hold the inputs, not those of the schema.
    let places: Vec<usize> = bytes
        .windows(15)
        .enumerate()
        .filter(|(_, text)| text.starts_with(b"input number 50"))
        .map(|(at, _)| at / 4096 * 4096)
        .collect();
    for page in places {
        bytes[page..page + 64].fill(0xff);
    }
    std::fs::write(folder.database(), bytes).unwrap();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let found = findings(&store).await;
    assert!(
        found.iter().any(|finding| finding.thread.is_none() && matches!(finding.problem, Problem::Damaged(_))),
        "{found:#?}"
    );
    assert!(found.iter().any(|finding| finding.thread == Some("t".into())), "{found:#?}");
    // The others are read all the same.
    assert!(found.iter().all(|finding| finding.thread != Some("u".into())), "{found:#?}");
    assert_eq!(store.history(&"u".into(), None, u64::MAX).await.unwrap().turns.len(), 3);
    assert!(repair(&store).await.iter().all(|(_, repair)| *repair == Repair::Left));
}

#[tokio::test]
async fn a_thread_that_somebody_drives_is_not_repaired() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    fill(&store).await;
    execute(&folder, "UPDATE threads SET committed = 9 WHERE name = 't'").await;
    let owner = store.register("somebody").await.unwrap();
    store.claim(&"t".into(), &owner).await.unwrap();
    let told = repair(&store).await;
    assert!(matches!(&told[..], [(_, Repair::Owned(who))] if who.contains("somebody")), "{told:?}");
    assert_eq!(store.load(&"t".into()).await.unwrap().committed, 9);
}

/// A check reads one state of each thread, however fast others write.
#[tokio::test]
async fn a_check_beside_writers_finds_nothing() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    fill(&store).await;
    let writes = std::cell::Cell::new(0);
    let writing = async {
        while writes.get() < 60 {
            healthy::call(&store, "w", &format!("{}", writes.get()), &format!("call {}", writes.get())).await;
            writes.set(writes.get() + 1);
        }
    };
    let checking = async {
        let mut beside = 0;
        while writes.get() < 60 {
            let before = writes.get();
            assert_eq!(findings(&store).await, []);
            beside += usize::from(writes.get() > before);
        }
        beside
    };
    let ((), beside) = tokio::join!(writing, checking);
    assert!(beside > 0, "something was written while a check ran");
}
