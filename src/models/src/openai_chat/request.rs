//! Encoding of requests.

use antiphon_core::{Message, ModelRequest, Role, Schema, ToolSpec};
use serde_json::{Map, Value as Json, json};

use crate::endpoint::{Endpoint, Structured};
use crate::openai_chat::content::{content, media_of};
use crate::openai_chat::strict_schema::StrictSchema;

/// The instructions for servers that accept no schema.
const SCHEMA_PROMPT: &str = include_str!("schema_prompt.txt");
/// The longest name that the wire allows.
const NAME: usize = 64;

/// Encodes the body of a request to `endpoint`. Equal requests have equal bytes.
pub fn encode(request: &ModelRequest, endpoint: &Endpoint, streamed: bool) -> Json {
    let mut body = Map::new();
    let mut set = |field: &str, value: Json| body.insert(field.to_owned(), value);
    set("model", json!(endpoint.model));
    set("messages", messages(request, endpoint.dialect.structured));
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    }
    if let Some(schema) = &request.schema {
        set("response_format", response_format(schema, endpoint));
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(tokens) = request.max_output_tokens {
        set(endpoint.dialect.max_tokens_field, json!(tokens));
    }
    if streamed {
        set("stream", json!(true));
    }
    if streamed && endpoint.dialect.stream_options {
        set("stream_options", json!({"include_usage": true}));
    }
    body.extend(endpoint.extra_body.clone());
    Json::Object(body)
}

fn messages(request: &ModelRequest, structured: Structured) -> Json {
    let mut messages = Vec::with_capacity(request.messages.len());
    let mut media = Vec::new();
    for (index, sent) in request.messages.iter().enumerate() {
        messages.push(message(sent));
        if sent.role == Role::Tool {
            media.extend(media_of(sent));
        }
        let ends_results =
            request.messages.get(index + 1).is_none_or(|next| next.role != Role::Tool);
        if ends_results && !media.is_empty() {
            messages.push(json!({"role": "user", "content": std::mem::take(&mut media)}));
        }
    }
    if let (Some(schema), Structured::Object) = (&request.schema, structured) {
        let content = format!("{SCHEMA_PROMPT}{}", schema.json);
        messages.push(json!({"role": "system", "content": content}));
    }
    Json::Array(messages)
}

fn message(message: &Message) -> Json {
    let mut wire = Map::new();
    let only_calls = message.content.is_empty() && !message.tool_calls.is_empty();
    let content = if only_calls { Json::Null } else { content(message) };
    wire.insert("role".to_owned(), json!(message.role));
    wire.insert("content".to_owned(), content);
    if let (Some(name), false) = (&message.name, message.role == Role::Tool) {
        wire.insert("name".to_owned(), json!(wire_name(name)));
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": call.id, "type": "function", "function": function})
        });
        wire.insert("tool_calls".to_owned(), calls.collect());
    }
    if let Some(id) = &message.tool_call_id {
        wire.insert("tool_call_id".to_owned(), json!(id));
    }
    Json::Object(wire)
}

/// A speaker's name in the few characters that every server accepts.
fn wire_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    name.chars().take(NAME).map(keep).collect()
}

fn tool(tool: &ToolSpec) -> Json {
    let function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    });
    json!({"type": "function", "function": function})
}

fn response_format(schema: &Schema, endpoint: &Endpoint) -> Json {
    let named = |json: &Json, strict: Option<bool>| {
        let mut named = json!({"name": wire_name(&schema.name), "schema": json});
        if let (Some(strict), Json::Object(fields)) = (strict, &mut named) {
            fields.insert("strict".to_owned(), json!(strict));
        }
        json!({"type": "json_schema", "json_schema": named})
    };
    match endpoint.dialect.structured {
        Structured::Object => json!({"type": "json_object"}),
        Structured::Schema => named(&schema.json, None),
        Structured::Strict => match StrictSchema::of(&schema.json) {
            Ok(strict) => {
                report(&strict, schema, endpoint);
                named(&strict.json, Some(true))
            }
            Err(unfit) => {
                tracing::debug!(model = endpoint.name, schema = schema.name, %unfit, "schema is sent without strict mode");
                named(&schema.json, Some(false))
            }
        },
    }
}

fn report(strict: &StrictSchema, schema: &Schema, endpoint: &Endpoint) {
    for dropped in &strict.dropped {
        tracing::debug!(
            model = endpoint.name,
            schema = schema.name,
            keyword = dropped.keyword,
            path = dropped.path,
            "strict mode does not take a keyword of the schema"
        );
    }
}
