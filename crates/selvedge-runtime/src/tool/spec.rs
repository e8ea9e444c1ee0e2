//! What is known of a tool before it is called.

use std::time::Duration;

use selvedge_event::Text;
use selvedge_store::ToolDelivery;
use serde_json::Value;

/// A tool's name, its description for the model, the schema of its arguments, and what may be done with its calls.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// The name: 1 to 64 of `A–Z a–z 0–9 _ -`.
    pub name: Text,
    /// What it does, for the model to read.
    pub description: Text,
    /// The JSON Schema of its arguments, which are an object.
    pub parameters: Value,
    /// What its calls do to the world.
    pub annotations: Annotations,
    /// How often a call may reach it; `None` follows from the annotations.
    pub delivery: Option<ToolDelivery>,
    /// How long a call may run; `None` for the runtime's default, which does not bind long-running tools.
    pub timeout: Option<Duration>,
}

/// What a tool's calls do to the world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts with names that protocols share")]
pub struct Annotations {
    /// A call changes nothing.
    pub read_only: bool,
    /// A call may destroy something.
    pub destructive: bool,
    /// The same call twice does what it does once.
    pub idempotent: bool,
    /// A call may run for hours.
    pub long_running: bool,
}

impl ToolSpec {
    /// A tool without arguments and annotations.
    pub fn new(name: impl Into<Text>, description: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: serde_json::json!({ "type": "object", "properties": {} }),
            annotations: Annotations::default(),
            delivery: None,
            timeout: None,
        }
    }

    /// With a schema of its arguments.
    #[must_use]
    pub fn with_parameters(mut self, schema: Value) -> Self {
        self.parameters = schema;
        self
    }

    /// Its calls change nothing: they are dispatched at least once.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = true;
        self
    }

    /// The same call twice does what it does once: its calls are dispatched at least once, under one key.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// Its calls may destroy something.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.annotations.destructive = true;
        self
    }

    /// Its calls may run for hours.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.annotations.long_running = true;
        self
    }

    /// With a delivery of its own, whatever the annotations say.
    #[must_use]
    pub fn with_delivery(mut self, delivery: ToolDelivery) -> Self {
        self.delivery = Some(delivery);
        self
    }

    /// With a bound on the time of a call.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How often a call may reach the tool.
    pub fn delivery(&self) -> ToolDelivery {
        self.delivery.unwrap_or(if self.annotations.read_only || self.annotations.idempotent {
            ToolDelivery::AtLeastOnce
        } else {
            ToolDelivery::AtMostOnce
        })
    }
}
