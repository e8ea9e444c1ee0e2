//! The body of a request: a head that was encoded when the provider was built, tools that are encoded once for all
//! conversations that share them, messages that are encoded once each, and nothing else but copying.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_event::{FailureKind, ModelRef, Text};
use selvedge_model::{ModelError, ModelRequest, ToolSchema};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::message::{encode, encode_system};
use super::{API, Quirks, ReasoningReplay};
use crate::BuildError;

/// How many lists of tools are kept encoded. Conversations that share a list share its place; more lists than this cost
/// their encoding again.
const TOOL_LISTS: usize = 16;

/// Fields of the body that no setting replaces: without them there is no conversation and no stream.
const RESERVED: [&str; 2] = ["messages", "stream"];

/// Encodes the requests of one provider.
#[derive(Debug)]
pub(super) struct Encoder {
    model: ModelRef,
    /// What the bytes of a message depend on beside the message.
    format: Text,
    replay: ReasoningReplay,
    /// `{"model":…,"stream":true,…` with all extra fields and without the closing brace.
    head: Vec<u8>,
    /// The field that bounds the answer; `None` if an extra field does.
    max_tokens_field: Option<Text>,
    /// Whether the tools are sent; not if an extra field replaces them.
    send_tools: bool,
    tool_lists: Mutex<VecDeque<ToolList>>,
}

/// A list of tools and its JSON. Holding the list keeps its address its own.
#[derive(Debug, Clone)]
struct ToolList(Arc<[ToolSchema]>, Arc<[u8]>);

impl Encoder {
    /// # Errors
    /// When an extra field is a reserved one.
    pub(super) fn new(model: ModelRef, quirks: &Quirks, extra: Map<String, Value>) -> Result<Self, BuildError> {
        if let Some(field) = RESERVED.iter().find(|field| extra.contains_key(**field)) {
            return Err(BuildError::ReservedField { field: (*field).into() });
        }
        let max_tokens_field = quirks.max_tokens_field.clone();
        let max_tokens_field = (!extra.contains_key(&*max_tokens_field)).then_some(max_tokens_field);
        let send_tools = !extra.contains_key("tools");
        let mut fields = Map::new();
        fields.insert("model".into(), (*model.model).into());
        fields.insert("stream".into(), true.into());
        if quirks.stream_options {
            fields.insert("stream_options".into(), json!({ "include_usage": true }));
        }
        fields.extend(extra);
        let mut head = Value::Object(fields).to_string().into_bytes();
        head.pop();
        let ModelRef { provider, model: name, .. } = &model;
        let format = format!("{API} {provider} {name} {}", quirks.reasoning.name()).into();
        let tool_lists = Mutex::default();
        Ok(Self { model, format, replay: quirks.reasoning, head, max_tokens_field, send_tools, tool_lists })
    }

    pub(super) fn model(&self) -> &ModelRef {
        &self.model
    }

    /// The body of a request.
    ///
    /// # Errors
    /// When the parameters of a tool are not JSON.
    pub(super) fn body(&self, request: &ModelRequest) -> Result<Vec<u8>, ModelError> {
        let tools = if self.send_tools && !request.tools.is_empty() { Some(self.tools(&request.tools)?) } else { None };
        let max_tokens = self.max_tokens_field.as_ref().zip(request.max_output_tokens);
        let max_tokens = max_tokens.map(|(field, most)| format!(",{}:{most}", Value::from(&**field)));
        let system = request.system.as_deref().filter(|text| !text.trim().is_empty()).map(encode_system);
        let messages = request.context.encoded(&self.format, |message| encode(message, &self.model, self.replay));

        let mut parts: Vec<&[u8]> = vec![&self.head];
        parts.extend(max_tokens.as_ref().map(|field| field.as_bytes()));
        if let Some(tools) = &tools {
            parts.extend([&b",\"tools\":"[..], tools]);
        }
        parts.push(b",\"messages\":[");
        for (place, message) in system.as_deref().into_iter().chain(messages.iter().map(|bytes| &**bytes)).enumerate() {
            if place > 0 {
                parts.push(b",");
            }
            parts.push(message);
        }
        parts.push(b"]}");
        Ok(parts.concat())
    }

    /// The JSON of a list of tools, encoded if it is not among the latest.
    fn tools(&self, tools: &Arc<[ToolSchema]>) -> Result<Arc<[u8]>, ModelError> {
        let mut lists = self.tool_lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ToolList(_, known)) = lists.iter().find(|list| Arc::ptr_eq(&list.0, tools)) {
            return Ok(known.clone());
        }
        let encoded: Arc<[u8]> = encode_tools(tools)?.into();
        lists.truncate(TOOL_LISTS - 1);
        lists.push_front(ToolList(tools.clone(), encoded.clone()));
        Ok(encoded)
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a RawValue,
}

fn encode_tools(tools: &[ToolSchema]) -> Result<Vec<u8>, ModelError> {
    let tools: Result<Vec<Tool<'_>>, ModelError> = tools.iter().map(encode_tool).collect();
    Ok(serde_json::to_vec(&tools?).expect("bug: a tool is plain JSON"))
}

fn encode_tool(tool: &ToolSchema) -> Result<Tool<'_>, ModelError> {
    let parameters = serde_json::from_str(&tool.parameters).map_err(|error| {
        let message = format!("the parameters of the tool {:?} are not JSON", tool.name);
        ModelError::new(FailureKind::InvalidRequest, message).with_source(error)
    })?;
    Ok(Tool { r#type: "function", function: Function { name: &tool.name, description: &tool.description, parameters } })
}

#[cfg(test)]
mod tests {
    use selvedge_event::Block;
    use selvedge_model::{Context, RequestMessage};

    use super::*;

    fn model() -> ModelRef {
        ModelRef { api: API.into(), provider: "p".into(), model: "m\"1".into() }
    }

    fn encoder(quirks: &Quirks, extra: Value) -> Encoder {
        let Value::Object(extra) = extra else { panic!("{extra} is no object") };
        Encoder::new(model(), quirks, extra).unwrap()
    }

    #[track_caller]
    fn check(encoder: &Encoder, request: &ModelRequest, expected: Value) {
        let body = encoder.body(request).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
        assert_eq!(encoder.body(request).unwrap(), body, "the same request has the same bytes");
    }

    fn request() -> ModelRequest {
        ModelRequest::new(model(), Context::from_user_text("hi"))
    }

    fn tool(parameters: &str) -> ToolSchema {
        ToolSchema { name: "f".into(), description: "does f".into(), parameters: parameters.into() }
    }

    #[test]
    fn a_body_holds_what_was_set_and_nothing_else() {
        let messages = json!([{"role": "user", "content": "hi"}]);
        let mut quirks = Quirks::compatible();
        check(
            &encoder(&quirks, json!({})),
            &request(),
            json!({"model": "m\"1", "stream": true, "stream_options": {"include_usage": true}, "messages": messages}),
        );
        quirks.stream_options = false;
        check(&encoder(&quirks, json!({})), &request(), json!({"model": "m\"1", "stream": true, "messages": messages}));
    }

    #[test]
    fn everything_has_its_place() {
        let request = ModelRequest {
            system: Some("be kind".into()),
            tools: [tool(r#" {"type": "object"} "#), ToolSchema { description: "".into(), ..tool("{}") }].into(),
            max_output_tokens: Some(100),
            ..request()
        };
        check(
            &encoder(&Quirks::openai(), json!({"temperature": 0.5, "tool_choice": "required"})),
            &request,
            json!({
                "model": "m\"1", "stream": true, "stream_options": {"include_usage": true},
                "temperature": 0.5, "tool_choice": "required", "max_completion_tokens": 100,
                "tools": [
                    {"type": "function", "function":
                        {"name": "f", "description": "does f", "parameters": {"type": "object"}}},
                    {"type": "function", "function": {"name": "f", "parameters": {}}},
                ],
                "messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}],
            }),
        );
    }

    #[test]
    fn extra_fields_have_the_last_word() {
        let request = ModelRequest { tools: [tool("{}")].into(), max_output_tokens: Some(100), ..request() };
        let extra = json!({"model": "other", "max_tokens": 7, "tools": [], "stream_options": null});
        let mut expected = extra.clone();
        expected["stream"] = true.into();
        expected["messages"] = json!([{"role": "user", "content": "hi"}]);
        check(&encoder(&Quirks::compatible(), extra), &request, expected);
    }

    #[test]
    fn many_messages_make_one_list() {
        let messages = (0..100).map(|n| match n % 2 {
            0 => RequestMessage::User(format!("{n}").into()),
            _ => RequestMessage::Assistant {
                model: model().into(),
                blocks: vec![Block::Text { text: "ok".into(), native: None }],
            },
        });
        let request = ModelRequest::new(model(), messages.collect());
        let body = encoder(&Quirks::compatible(), json!({})).body(&request).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["messages"].as_array().unwrap().len(), 100);
        assert_eq!(body["messages"][98]["content"], "98");
    }

    #[test]
    fn a_message_is_encoded_once_for_one_model() {
        let encoder = encoder(&Quirks::compatible(), json!({}));
        let request = request();
        encoder.body(&request).unwrap();
        request.context.encoded(&encoder.format, |_| panic!("encoded again"));
    }

    #[test]
    fn a_list_of_tools_is_encoded_once() {
        let encoder = encoder(&Quirks::compatible(), json!({}));
        let first: Arc<[ToolSchema]> = [tool("{}")].into();
        let bytes = encoder.tools(&first).unwrap();
        assert!(Arc::ptr_eq(&bytes, &encoder.tools(&first).unwrap()));
        for _ in 0..TOOL_LISTS {
            encoder.tools(&[tool("{}")].into()).unwrap();
        }
        assert_eq!(encoder.tool_lists.lock().unwrap().len(), TOOL_LISTS);
        assert!(!Arc::ptr_eq(&bytes, &encoder.tools(&first).unwrap()));
    }

    #[test]
    fn parameters_that_are_no_json_are_refused_before_anything_is_sent() {
        let request = ModelRequest { tools: [tool("{")].into(), ..request() };
        let error = encoder(&Quirks::compatible(), json!({})).body(&request).unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (FailureKind::InvalidRequest, false));
    }
}
