//! How live subscribers get to the threads of a running system.

use std::sync::Arc;
use std::time::Duration;

use selvedge_event::ThreadId;
use selvedge_live::{Attach, LiveRequest};
use selvedge_observer::BoxError;
use selvedge_runtime::{RunningSystem, SendError};

/// How often somebody who finds a mailbox full asks again.
const TRIES: u32 = 8;

/// Attaches the subscribers of a [`Live`](selvedge_live::Live) to the threads of a running system.
///
/// Where more ask at once than a thread's mailbox holds, as after a resync of all its subscribers, they ask again: some
/// times, at growing intervals, within a few seconds.
///
/// It keeps the system alive, as any clone of its handle does.
///
/// ```
/// use selvedge::live::{Live, LiveObserver, Subscribe};
/// use selvedge::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let live = Live::default();
/// let observed = live.clone();
/// let system = System::builder()
///     .store(MemoryStore::default())
///     .model(ScriptedModel::new([Reply::text("Hello!")]))
///     .observer(move || LiveObserver::new(&observed))
///     .start()
///     .await?;
/// system.send_text(&"greetings".into(), "hi").await?;
/// let attach = selvedge::attach_to(&system);
/// let mut subscriber = live.subscribe(attach, "greetings".into(), Subscribe::default()).await?;
/// let frame = subscriber.next().await;
/// # assert!(frame.is_some());
/// # system.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub fn attach_to<R>(system: &RunningSystem<R>) -> Arc<dyn Attach>
where
    R: From<LiveRequest> + Send + 'static,
{
    let system = system.clone();
    Arc::new(move |thread: ThreadId, request: LiveRequest| attach(system.clone(), thread, request))
}

async fn attach<R>(system: RunningSystem<R>, thread: ThreadId, request: LiveRequest) -> Result<(), BoxError>
where
    R: From<LiveRequest> + Send + 'static,
{
    let mut wait = Duration::from_millis(20);
    for _ in 1..TRIES {
        match system.subscribe(&thread, request.clone().into()).await {
            Err(SendError::Full(_)) => tokio::time::sleep(wait).await,
            // Whether the observer took it is seen by the subscriber itself.
            result => return result.map(drop).map_err(Into::into),
        }
        wait *= 2;
    }
    system.subscribe(&thread, request.into()).await.map(drop).map_err(Into::into)
}
