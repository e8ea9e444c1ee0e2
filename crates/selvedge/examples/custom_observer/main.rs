//! An observer that keeps state of its own: what each thread has cost, durable in its `on_commit`.
//!
//! After a crash, the last step may be emitted and committed again. So state is staged per step while events come, and
//! committed under (thread, step): a step that is already there is replaced, never added.

mod costs;

use selvedge::prelude::*;

use costs::Costs;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let file = std::env::temp_dir().join("selvedge-costs.txt");
    let observed = file.clone();
    let system = System::builder()
        .store(MemoryStore::default())
        .model(ScriptedModel::new([Reply::text("Hello!").usage(12, 3), Reply::text("Goodbye!").usage(20, 4)]))
        .observer(move || Costs::open(observed.clone()))
        .start()
        .await?;
    system.send_text(&"a".into(), "hi").await?;
    system.send_text(&"b".into(), "bye").await?;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    system.shutdown().await;
    print!("step, tokens, thread:\n{}", std::fs::read_to_string(file)?);
    Ok(())
}
