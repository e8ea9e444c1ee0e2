//! Calls in doubt: a crash left them open, and they may have run.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use selvedge_event::{Input, ToolReply, ToolStatus};
use selvedge_observer::ThreadObserver;
use selvedge_store::{AcceptRequest, Acceptance, Create, InboxEntry, NewInput};

use super::Thread;
use super::state::Open;
use crate::ThreadConfig;
use crate::tool::KeyOutcome;

/// How long a tool may take to say what became of a call.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(10);

impl<O: ThreadObserver> Thread<O> {
    /// Tools that can tell are asked what became of calls that may have run before a crash.
    pub(super) async fn ask_about_doubtful_calls(&self, config: &ThreadConfig) {
        if self.asked.replace(true) {
            return;
        }
        let doubtful: Vec<Open> = self.state.borrow().open.iter().filter(|open| open.in_doubt).cloned().collect();
        for open in doubtful {
            let Some(tool) = config.tools.get(&open.call.name) else { continue };
            let key = format!("{}/{}", self.id, open.call.id);
            let asked = AssertUnwindSafe(tool.outcome(&key)).catch_unwind();
            let reply = match tokio::time::timeout(OUTCOME_TIMEOUT, asked).await {
                Ok(Ok(KeyOutcome::Ran(output))) => output.into_reply(open.call.id.clone()),
                Ok(Ok(KeyOutcome::NotRun)) => {
                    let text = "Not executed: the process stopped before the call was sent out.";
                    // An error, for the model is to go on; what a user stopped, it leaves alone.
                    ToolReply::text(open.call.id.clone(), ToolStatus::Error, text)
                }
                _ => continue,
            };
            self.accept_reply(reply).await;
        }
    }

    /// A reply that a tool remembers enters like any other. If it cannot, its call is settled as unknown.
    async fn accept_reply(&self, reply: ToolReply) {
        let id: selvedge_event::InputId = format!("result:{}", reply.call_id).into();
        let (input, at) = (Input::ToolResult(reply), self.env.clock.now());
        let inputs = vec![NewInput { id: id.clone(), input: input.clone(), at }];
        let request = AcceptRequest { thread: self.id.clone(), inputs, create: Create::No };
        match self.env.store.accept(request).await.map(|reply| reply.acceptances.first().copied()) {
            Ok(Some(Acceptance::Accepted(seq))) => {
                self.state.borrow_mut().inbox.push_back(InboxEntry { seq, id, input, at });
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(thread = %self.id, %error, "what a tool remembers could not be accepted"),
        }
    }
}
