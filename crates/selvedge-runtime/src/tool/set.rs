//! The tools of a thread.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use selvedge_event::Text;
use selvedge_model::{RESERVED_EVENT_TOOL, ToolSchema};
use serde_json::Value;

use super::Tool;
use super::schema::ArgumentSchema;

/// The tools that a thread's model may call, with their schemas compiled. Cloning it copies nothing.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Arc<HashMap<Text, Entry>>,
    schemas: Arc<[ToolSchema]>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    arguments: ArgumentSchema,
}

/// Why tools do not make a set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// A name that providers refuse, or that the runtime keeps for itself.
    #[error("the tool name {0:?} is not 1 to 64 of A-Z a-z 0-9 _ -, or is reserved")]
    Name(Text),
    /// Two tools of one name.
    #[error("two tools are named {0:?}")]
    Duplicate(Text),
    /// A schema that is none.
    #[error("the argument schema of the tool {name:?} is not a JSON Schema: {reason}")]
    Schema {
        /// The tool.
        name: Text,
        /// What is wrong with it.
        reason: String,
    },
}

impl ToolSet {
    /// A set of tools, in the order in which the model is told of them.
    ///
    /// # Errors
    /// See [`ToolSetError`].
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, ToolSetError> {
        let (mut known, mut schemas) = (HashMap::new(), Vec::new());
        for tool in tools {
            let spec = tool.spec().clone();
            if !is_tool_name(&spec.name) {
                return Err(ToolSetError::Name(spec.name));
            }
            let arguments = ArgumentSchema::compile(&spec.parameters)
                .map_err(|reason| ToolSetError::Schema { name: spec.name.clone(), reason })?;
            schemas.push(ToolSchema {
                name: spec.name.clone(),
                description: spec.description,
                parameters: spec.parameters.to_string().into(),
            });
            if known.insert(spec.name.clone(), Entry { tool, arguments }).is_some() {
                return Err(ToolSetError::Duplicate(spec.name));
            }
        }
        Ok(Self { tools: Arc::new(known), schemas: schemas.into() })
    }

    /// The tool of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// The tools as a model sees them.
    pub fn schemas(&self) -> &Arc<[ToolSchema]> {
        &self.schemas
    }

    /// Checks a call before it is planned: the tool exists, and the arguments fit its schema.
    ///
    /// # Errors
    /// A sentence for the model.
    pub(crate) fn check(&self, name: &str, arguments: &Value) -> Result<&Arc<dyn Tool>, String> {
        let Some(entry) = self.tools.get(name) else {
            let names: Vec<&str> = self.schemas.iter().map(|schema| &*schema.name).collect();
            return Err(format!("Error: there is no tool {name:?}. The tools are: {}.", names.join(", ")));
        };
        match entry.arguments.check(arguments) {
            Ok(()) => Ok(&entry.tool),
            Err(faults) => Err(format!("Error: the arguments do not fit the tool's schema: {faults}.")),
        }
    }
}

fn is_tool_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(allowed) && name != RESERVED_EVENT_TOOL
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.schemas.iter().map(|schema| &schema.name)).finish()
    }
}
