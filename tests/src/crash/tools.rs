//! The tools of a scenario.

use std::time::Duration;

use selvedge::Builder;
use selvedge::prelude::*;
use selvedge_testkit::explorer::Probe;

use super::stage::Stage;
use super::{Does, ToolPart};

/// Bytes of a long output; the model reads [`TOOL_TEXT`] of them.
pub(super) const LONG: usize = 5000;

/// Bytes of a tool's text that the model reads.
pub(super) const TOOL_TEXT: usize = 200;

/// Adds tools to a system, each seen by the probe.
pub(super) fn with_tools<F>(builder: Builder<F>, tools: &[ToolPart], stage: &Stage, probe: &Probe) -> Builder<F> {
    tools.iter().fold(builder, |builder, part| {
        let (does, stage) = (part.does, stage.clone());
        let spec = ToolSpec::new(&*part.name, "Does something.").with_delivery(part.delivery);
        builder.tool(probe.watch(tool(spec, move |call| act(does, stage.clone(), call))))
    })
}

async fn act(does: Does, stage: Stage, call: ToolContext) -> Result<ToolOutput, BoxError> {
    match does {
        Does::Answers => Ok("acted".into()),
        Does::Fails => Err("no such luck".into()),
        Does::Long => Ok(long().into()),
        Does::Hangs => {
            let gate = stage.hang();
            tokio::select! {
                () = gate.pass() => Ok("went on".into()),
                () = call.cancelled() => Err("cancelled".into()),
            }
        }
        Does::Asks => ask(&call, None).await,
        Does::AsksInPassing => ask(&call, Some(Duration::from_millis(300))).await,
        Does::SignsIn => {
            call.require_oauth("https://example.com/sign-in").await?;
            while !stage.is_signed_in() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok("signed in".into())
        }
        Does::Shows => {
            call.update_view("plan", "what is to be done").await?;
            Ok("shown".into())
        }
        Does::Watches => Ok(ToolOutput::text("watching").subscribed()),
    }
}

async fn ask(call: &ToolContext, expires_in: Option<Duration>) -> Result<ToolOutput, BoxError> {
    let chosen = call.choose("Which?", vec!["this".into(), "that".into()], 1, expires_in).await?;
    Ok(ToolOutput::text(format!("{:?} {}", chosen.end, chosen.selected)))
}

/// The whole of a long output.
pub(super) fn long() -> String {
    "0123456789".repeat(LONG / 10)
}
