//! What a resident, waiting thread keeps in memory.

use std::time::Duration;

use selvedge::prelude::*;

use crate::measure::{Table, resident};
use crate::wiring::{chunks, limits, made};

const THREADS: u32 = 20_000;

pub(crate) fn waiting_thread(table: &mut Table) {
    let local = tokio::task::LocalSet::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    local.block_on(&runtime, async {
        // The store's own memory is measured first: the same threads, driven to rest, without drivers.
        let without = grown(Duration::ZERO).await;
        let with = grown(Duration::from_secs(600)).await;
        let each = with.saturating_sub(without) / u64::from(THREADS);
        let measured = format!("{each} bytes ({without} and {with} for {THREADS} threads, gone and resident)");
        table.row("a resident, waiting thread, its history apart", measured, "≤ 4 KiB", each <= 4096);
    });
}

/// How much memory grows by threads of one turn each, whose drivers stay for `idle`.
async fn grown(idle: Duration) -> u64 {
    let mut limits = limits();
    limits.idle = idle;
    let system = System::builder()
        .store(MemoryStore::default())
        .model(made(|_| chunks(1)))
        .limits(limits)
        .start_local()
        .await
        .unwrap();
    let before = resident();
    for thread in 0..THREADS {
        system.send_text(&format!("t{thread}").into(), "go").await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = resident();
    system.shutdown().await;
    after.saturating_sub(before)
}
