//! Encoding of requests.

use antiphon_core::{Message, Role, Schema, ToolSpec};
use serde_json::{Map, Value as Json, json};

use crate::capabilities::StructuredOutput;
use crate::endpoint::Endpoint;
use crate::openai_chat::content::{content, media_of};
use crate::strict_schema::{SchemaSubset, StrictSchema};
use crate::wire::{WireExchange, add_extra, wire_name};

/// Encodes the body of a request. Equal requests have equal bytes.
pub fn encode(exchange: WireExchange<'_>, streamed: bool) -> Json {
    let WireExchange { request, endpoint } = exchange;
    let mut body = Map::new();
    let mut set = |field: &str, value: Json| body.insert(field.to_owned(), value);
    set("model", json!(endpoint.model));
    set("messages", messages(exchange));
    let answer = exchange.answer_tool();
    if !request.tools.is_empty() || answer.is_some() {
        set("tools", request.tools.iter().chain(&answer).map(tool).collect());
    }
    if let Some(answer) = &answer {
        let function = json!({"name": answer.name});
        set("tool_choice", json!({"type": "function", "function": function}));
    }
    if let Some(format) = request.schema.as_ref().and_then(|schema| format(schema, endpoint)) {
        set("response_format", format);
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    let capabilities = endpoint.capabilities;
    if let Some(tokens) = request.max_output_tokens.or(capabilities.default_max_tokens) {
        set(capabilities.max_tokens_field.as_str(), json!(tokens));
    }
    if streamed {
        set("stream", json!(true));
    }
    if streamed && capabilities.stream_options {
        set("stream_options", json!({"include_usage": true}));
    }
    add_extra(&mut body, &endpoint.extra_body);
    Json::Object(body)
}

fn messages(exchange: WireExchange<'_>) -> Json {
    let request = exchange.request;
    let mut messages = Vec::with_capacity(request.messages.len());
    let mut media = Vec::new();
    for (index, sent) in request.messages.iter().enumerate() {
        messages.push(message(sent));
        if matches!(sent.role, Role::Tool | Role::Assistant) {
            media.extend(media_of(sent));
        }
        // The results of calls have to follow the calls.
        let may_follow = request.messages.get(index + 1).is_none_or(|next| next.role != Role::Tool);
        if may_follow && !media.is_empty() {
            messages.push(json!({"role": "user", "content": std::mem::take(&mut media)}));
        }
    }
    if let Some(content) = exchange.schema_in_words() {
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

fn tool(tool: &ToolSpec) -> Json {
    let function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    });
    json!({"type": "function", "function": function})
}

fn format(schema: &Schema, endpoint: &Endpoint) -> Option<Json> {
    let named = |json: &Json, strict: Option<bool>| {
        let mut named = json!({"name": wire_name(&schema.name), "schema": json});
        if let (Some(strict), Json::Object(fields)) = (strict, &mut named) {
            fields.insert("strict".to_owned(), json!(strict));
        }
        json!({"type": "json_schema", "json_schema": named})
    };
    Some(match endpoint.capabilities.structured_output {
        StructuredOutput::Prompt | StructuredOutput::Tool => return None,
        StructuredOutput::Json => json!({"type": "json_object"}),
        StructuredOutput::Schema => named(&schema.json, None),
        StructuredOutput::Strict => match StrictSchema::of(&schema.json, SchemaSubset::OPENAI) {
            Ok(strict) => {
                strict.report(&schema.name, &endpoint.name);
                named(&strict.json, Some(true))
            }
            Err(unfit) => {
                tracing::debug!(model = endpoint.name, schema = schema.name, %unfit, "schema is sent without strict mode");
                named(&schema.json, Some(false))
            }
        },
    })
}
