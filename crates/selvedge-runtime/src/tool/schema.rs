//! The schema of a tool's arguments, compiled once. It is a stranger's: it may refer to itself, and to nothing outside.

use std::fmt;

use boon::{Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

/// Faults of one call's arguments that the model is told of; a wrong document may have thousands.
const FAULTS: usize = 5;

/// The name under which a schema is compiled; nothing is ever fetched from it.
const NAME: &str = "schema:arguments";

/// A compiled JSON Schema.
pub(super) struct ArgumentSchema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl ArgumentSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.use_loader(Box::new(NothingOutside));
        compiler.add_resource(NAME, schema.clone()).map_err(|error| error.to_string())?;
        let root = compiler.compile(NAME, &mut schemas).map_err(|error| error.to_string())?;
        Ok(Self { schemas, root })
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// What does not fit, for the model.
    pub(super) fn check(&self, arguments: &Value) -> Result<(), String> {
        let Err(error) = self.schemas.validate(arguments, self.root) else { return Ok(()) };
        let mut faults = Vec::new();
        leaves(&error, &mut faults);
        Err(faults.join("; "))
    }
}

/// The faults at the ends of an error's branches: what was wrong, not which keyword led there.
fn leaves(error: &ValidationError<'_, '_>, faults: &mut Vec<String>) {
    if faults.len() >= FAULTS {
        return;
    }
    if error.causes.is_empty() {
        let place = error.instance_location.to_string();
        faults.push(if place.is_empty() { error.kind.to_string() } else { format!("at {place}: {}", error.kind) });
    }
    error.causes.iter().for_each(|cause| leaves(cause, faults));
}

/// Refuses every reference to something outside of a schema.
struct NothingOutside;

impl UrlLoader for NothingOutside {
    fn load(&self, _: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err("a schema of arguments refers to nothing outside of it".into())
    }
}

impl fmt::Debug for ArgumentSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArgumentSchema")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, arguments: Value) -> Result<(), String> {
        ArgumentSchema::compile(&schema).unwrap().check(&arguments)
    }

    #[test]
    fn faults_say_where_and_what() {
        let schema = json!({
            "type": "object",
            "properties": { "n": { "type": "integer" }, "list": { "items": { "$ref": "#/$defs/name" } } },
            "required": ["n"],
            "$defs": { "name": { "type": "string" } }
        });
        assert_eq!(check(schema.clone(), json!({ "n": 1, "list": ["a"] })), Ok(()));
        let missing = check(schema.clone(), json!({})).unwrap_err();
        assert!(missing.contains('n'), "{missing}");
        let wrong = check(schema, json!({ "n": 1.5, "list": [1] })).unwrap_err();
        assert!(wrong.contains("at /n:") && wrong.contains("at /list/0:"), "{wrong}");
    }

    #[test]
    fn a_schema_reaches_nothing_outside() {
        for outside in ["file:///etc/hostname", "http://127.0.0.1:1/schema.json", "other.json"] {
            assert!(ArgumentSchema::compile(&json!({ "$ref": outside })).is_err(), "{outside}");
        }
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        assert!(ArgumentSchema::compile(&json!({ "type": "banana" })).is_err());
    }
}
