//! Blobs: bytes under a name within a thread.

use selvedge_event::Timestamp;
use selvedge_store::StoreErrorKind;

use super::{
    StoreHarness,
    kit::{Store, Writer, crash, create, refused, thread_that_says},
};

/// Any bytes come back, from none to millions, under any name.
pub async fn a_blob_comes_back<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let large: Vec<u8> = (0..3_000_000_u32).map(|place| (place % 251) as u8).collect();
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    let blobs = [
        ("empty", vec![]),
        ("zeros", vec![0; 3]),
        ("every byte", every_byte),
        ("not text", vec![0xff, 0xfe, 0xc3]),
        ("large", large),
        ("Empty", b"another".to_vec()),
        ("it's 100% \"_\" 阴气", b"named".to_vec()),
        ("007", b"a number".to_vec()),
        ("7", b"another number".to_vec()),
    ];
    for (id, bytes) in &blobs {
        put(&store, "t", id, bytes).await;
    }
    for (id, bytes) in &blobs {
        assert!(get(&store, "t", id).await == *bytes, "{id} comes back");
    }
}

/// A blob can be read in pieces: what lies past its end is missing, and nothing overflows.
pub async fn any_range_of_a_blob_can_be_read<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let bytes = b"0123456789";
    put(&store, "t", "blob", bytes).await;
    let lengths = [0, 1, 2, 5, 9, 10, 11, 1_000, i64::MAX as u64, u64::MAX];
    for offset in (0..12).chain([1_000, i64::MAX as u64, u64::MAX]) {
        for length in lengths {
            let found = store.blob(&"t".into(), "blob", offset, length).await.expect("a range can be read");
            let expected: Vec<u8> = bytes
                .iter()
                .copied()
                .enumerate()
                .filter_map(|(place, byte)| {
                    let place = place as u64;
                    (place >= offset && place - offset < length).then_some(byte)
                })
                .collect();
            assert_eq!(found, expected, "{length} from {offset}");
        }
    }
}

/// A second blob of a name changes nothing.
pub async fn the_first_blob_of_a_name_stays<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    for bytes in [&b"first"[..], b"second, and longer", b"", b"first"] {
        put(&store, "t", "blob", bytes).await;
        assert_eq!(get(&store, "t", "blob").await, b"first");
    }
}

/// One name in two threads is two blobs.
pub async fn blobs_belong_to_their_thread<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for thread in ["t", "t/child", "u"] {
        create(&store, thread).await;
    }
    put(&store, "t", "blob", b"t's").await;
    put(&store, "u", "blob", b"u's").await;
    assert_eq!(get(&store, "t", "blob").await, b"t's");
    assert_eq!(get(&store, "u", "blob").await, b"u's");
    refused(store.blob(&"t/child".into(), "blob", 0, 10).await, StoreErrorKind::NotFound);
}

/// A fork reads what its parent keeps, through any number of forks; the parent does not read the fork's.
pub async fn a_fork_reads_the_blobs_of_its_parents<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    fork_twice(&store).await;
    put(&store, "t", "t's", b"t").await;
    put(&store, "fork", "fork's", b"fork").await;
    for thread in ["t", "fork", "fork of fork"] {
        assert_eq!(get(&store, thread, "t's").await, b"t");
    }
    assert_eq!(get(&store, "fork of fork", "fork's").await, b"fork");
    refused(store.blob(&"t".into(), "fork's", 0, 10).await, StoreErrorKind::NotFound);
}

/// Where a fork and its parent have given out one name, each reads its own.
pub async fn a_fork_prefers_its_own_blobs<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    fork_twice(&store).await;
    put(&store, "t", "call_2_0", b"t").await;
    put(&store, "fork", "call_2_0", b"fork").await;
    put(&store, "t", "call_2_1", b"t").await;
    put(&store, "fork of fork", "call_2_1", b"").await;
    for (thread, expected) in [("t", [&b"t"[..], b"t"]), ("fork", [b"fork", b"t"]), ("fork of fork", [b"fork", b""])] {
        assert_eq!([get(&store, thread, "call_2_0").await, get(&store, thread, "call_2_1").await], expected);
    }
}

/// A name that was not given is not found, whatever the range.
pub async fn a_blob_that_is_not_there_is_not_found<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    fork_twice(&store).await;
    put(&store, "t", "blob", b"bytes").await;
    for thread in ["t", "fork of fork"] {
        for (id, offset, length) in [("Blob", 0, 10), ("blo", 0, 0), ("blob ", 100, 10), ("%", 0, 10)] {
            refused(store.blob(&thread.into(), id, offset, length).await, StoreErrorKind::NotFound);
        }
    }
}

/// Blobs survive a crash.
pub async fn blobs_survive_a_crash<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let bytes = vec![7; 200_000];
    put(&store, "t", "blob", &bytes).await;
    put(&store, "t", "empty", b"").await;
    let store = crash(&mut harness, store).await;
    assert!(get(&store, "t", "blob").await == bytes, "the blob comes back");
    assert_eq!(get(&store, "t", "empty").await, b"");
}

/// Makes `t`, `fork` and `fork of fork`, which share a step.
async fn fork_twice(store: &Store) {
    thread_that_says(store, "t", &["one"]).await;
    for (parent, thread) in [("t", "fork"), ("fork", "fork of fork")] {
        store.fork(&parent.into(), 1, &thread.into(), Timestamp(1)).await.expect("a thread can be forked");
    }
    Writer::of(store, "fork").await.say("fork's two").await;
}

async fn put(store: &Store, thread: &str, id: &str, bytes: &[u8]) {
    store.put_blob(&thread.into(), id, bytes.to_vec()).await.expect("a blob is kept");
}

async fn get(store: &Store, thread: &str, id: &str) -> Vec<u8> {
    store.blob(&thread.into(), id, 0, u64::MAX).await.expect("a blob can be read")
}
