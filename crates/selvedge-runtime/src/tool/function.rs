//! A tool made of a function.

use std::future::Future;

use async_trait::async_trait;
use selvedge_observer::BoxError;

use super::{Tool, ToolContext, ToolOutput, ToolSpec};

/// A tool made of its spec and an async function; see [`tool`].
#[derive(Debug, Clone)]
pub struct FnTool<F> {
    spec: ToolSpec,
    function: F,
}

/// Makes a tool of a spec and an async function.
///
/// ```
/// use selvedge_runtime::{ToolContext, ToolOutput, ToolSpec, tool};
///
/// let clock = tool(ToolSpec::new("time", "Tells the time.").read_only(), |call: ToolContext| async move {
///     Ok(ToolOutput::text(format!("time for {} to go", call.thread_id())))
/// });
/// # drop(clock);
/// ```
pub fn tool<F, Fut>(spec: ToolSpec, function: F) -> FnTool<F>
where
    F: Fn(ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<ToolOutput, BoxError>> + Send,
{
    FnTool { spec, function }
}

#[async_trait]
impl<F, Fut> Tool for FnTool<F>
where
    F: Fn(ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<ToolOutput, BoxError>> + Send,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        (self.function)(call).await
    }
}
