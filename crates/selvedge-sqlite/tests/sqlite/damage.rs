//! Damaged records: reported, never skipped in silence, never overwritten (S22).

use selvedge_event::{OAuthNotice, Subscription, View};
use selvedge_sqlite::SqliteStore;
use selvedge_store::{Changes, ConversationStore, PlannedCall, ToolDelivery};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use crate::folder::Folder;
use crate::work::{Driver, accept, texts};

/// What may stand where JSON of a certain shape should, as SQL.
const DAMAGED: [&str; 4] = ["CAST(x'22ff22' AS TEXT)", "'{\"kind\":\"user\",'", "'{\"kind\":\"unknown\"}'", "''"];

async fn connect(folder: &Folder) -> SqliteConnection {
    SqliteConnectOptions::new().filename(folder.database()).connect().await.unwrap()
}

async fn bodies(connection: &mut SqliteConnection, table: &str) -> Vec<Vec<u8>> {
    let rows = sqlx::query(AssertSqlSafe(format!("SELECT body FROM {table}"))).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn s22_a_damaged_message_is_quarantined() {
    for damage in DAMAGED {
        let folder = Folder::new();
        let store = SqliteStore::open(folder.database()).await.unwrap();
        let mut driver = Driver::new(&store, "t").await;
        for text in ["one", "two", "three"] {
            driver.sync(text, Changes::default()).await.unwrap();
        }
        let mut other = connect(&folder).await;
        let sql = format!("UPDATE messages SET body = {damage} WHERE step = 2");
        sqlx::query(AssertSqlSafe(sql)).execute(&mut other).await.unwrap();
        let before = bodies(&mut other, "messages").await;

        let page = store.history(&"t".into(), None, u64::MAX).await.unwrap();
        assert_eq!(page.turns.iter().map(|turn| turn.step).collect::<Vec<_>>(), [1, 3], "{damage}");
        assert_eq!(page.quarantined.len(), 1, "{damage}");
        assert!(page.quarantined[0].place.contains("step 2"), "{:?}", page.quarantined);
        assert_eq!(store.load(&"t".into()).await.unwrap().head.step, 3);

        driver.sync("four", Changes::default()).await.unwrap();
        assert_eq!(texts(&store, "t").await.len(), 3);
        assert_eq!(bodies(&mut other, "messages").await[..3], before);
        other.close().await.unwrap();
    }
}

#[tokio::test]
async fn s22_a_damaged_record_beside_the_history_is_quarantined() {
    for damage in DAMAGED {
        let folder = Folder::new();
        let store = SqliteStore::open(folder.database()).await.unwrap();
        let mut driver = Driver::new(&store, "t").await;
        accept(&store, "t", "second").await.unwrap();
        let call = |id: &str| PlannedCall {
            call_id: id.into(),
            tool: "tool".into(),
            step: 1,
            delivery: ToolDelivery::AtMostOnce,
        };
        let arguments = selvedge_event::Arguments::Object("{}".into());
        let changes = Changes {
            planned: vec![call("a"), call("b")],
            subscriptions_opened: vec![Subscription { call_id: "a".into(), tool: "tool".into(), arguments }],
            oauth: vec![OAuthNotice { call_id: "a".into(), auth_url: "url".into() }],
            views: vec![View { view_type: "a".into(), content: "content".into() }],
            ..Changes::default()
        };
        driver.sync("one", changes).await.unwrap();
        let mut other = connect(&folder).await;
        let tables = ["inbox", "calls", "subscriptions", "oauth", "views"];
        for (table, only) in tables.iter().zip(["input_id = 'first'", "call_id = 'a'", "true", "true", "true"]) {
            let sql = format!("UPDATE {table} SET body = {damage} WHERE {only}");
            sqlx::query(AssertSqlSafe(sql)).execute(&mut other).await.unwrap();
        }

        let record = store.load(&"t".into()).await.unwrap();
        assert_eq!(record.inbox.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["second"], "{damage}");
        assert_eq!(record.open_calls, [call("b")]);
        let places: Vec<_> = record.quarantined.iter().map(|one| one.place.as_str()).collect();
        let expected = [
            "inbox of \"t\" \"first\"",
            "calls of \"t\" \"a\"",
            "subscriptions of \"t\" \"a\"",
            "oauth of \"t\" \"a\"",
            "views of \"t\" \"a\"",
        ];
        assert_eq!(places, expected);
        driver.sync("two", Changes::default()).await.unwrap();
        assert_eq!(store.load(&"t".into()).await.unwrap().quarantined.len(), 5);
        other.close().await.unwrap();
    }
}
