//! A tool whose arguments are a Rust type.

use std::future::Future;

use schemars::{JsonSchema, SchemaGenerator};
use selvedge_observer::BoxError;
use selvedge_runtime::{Tool, ToolContext, ToolOutput, ToolSpec, tool};
use serde::de::DeserializeOwned;

/// Makes a tool of an async function; the schema of its arguments is derived from their type.
///
/// ```
/// use schemars::JsonSchema;
/// use selvedge::prelude::*;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: f64,
///     /// The second number.
///     b: f64,
/// }
///
/// let add = typed_tool(ToolSpec::new("add", "Adds two numbers.").read_only(), |add: Add, _call| async move {
///     Ok(ToolOutput::text((add.a + add.b).to_string()))
/// });
/// # drop(add);
/// ```
pub fn typed_tool<A, F, Fut>(spec: ToolSpec, function: F) -> impl Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, BoxError>> + Send + 'static,
{
    let schema = SchemaGenerator::default().into_root_schema_for::<A>().to_value();
    let function = std::sync::Arc::new(function);
    tool(spec.with_parameters(schema), move |call| {
        let function = function.clone();
        async move {
            let arguments = call.parse::<A>()?;
            function(arguments, call).await
        }
    })
}
