//! Encoding of requests.

use std::borrow::Cow;

use antiphon_core::{ModelRequest, Role, Schema, ToolSpec};
use serde_json::{Map, Value as Json, json};

use crate::anthropic::turns::{ConversationTurns, called_tools};
use crate::capabilities::StructuredOutput;
use crate::strict_schema::{SchemaSubset, StrictSchema};
use crate::wire::{WireExchange, add_extra, schema_prompt, wire_name};

/// The limit of a reply's tokens, which the API requires, where nobody sets one.
const MAX_TOKENS: u32 = 4096;

/// Encodes the body of a request. Equal requests have equal bytes.
pub fn encode(exchange: WireExchange<'_>, streamed: bool) -> Json {
    let WireExchange { request, endpoint } = exchange;
    let format = SchemaRoute::of(exchange);
    let mut body = Map::new();
    let mut set = |field: &str, value: Json| body.insert(field.to_owned(), value);
    set("model", json!(endpoint.model));
    let limit = request.max_output_tokens.or(endpoint.capabilities.default_max_tokens);
    set("max_tokens", json!(limit.unwrap_or(MAX_TOKENS)));
    if let Some(system) = system(request, &format) {
        set("system", json!(system));
    }
    set("messages", ConversationTurns::of(&request.messages, &endpoint.name).into_json());
    let (tools, choice) = tools(request, &format);
    if !tools.is_empty() {
        set("tools", Json::Array(tools));
    }
    if let Some(choice) = choice {
        set("tool_choice", choice);
    }
    if let SchemaRoute::Format(schema) = format {
        set("output_config", json!({"format": {"type": "json_schema", "schema": schema}}));
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    if streamed {
        set("stream", json!(true));
    }
    add_extra(&mut body, &endpoint.extra_body);
    Json::Object(body)
}

/// How the schema of the reply is sent.
enum SchemaRoute {
    /// There is none.
    Free,
    /// As the format of the reply.
    Format(Json),
    /// As a tool that the model must call.
    Tool(ToolSpec),
    /// In the instructions.
    Words(String),
}

impl SchemaRoute {
    fn of(exchange: WireExchange<'_>) -> Self {
        let Some(schema) = &exchange.request.schema else { return Self::Free };
        if let Some(tool) = exchange.answer_tool() {
            return Self::Tool(tool);
        }
        if let Some(words) = exchange.schema_in_words() {
            return Self::Words(words);
        }
        match exchange.endpoint.capabilities.structured_output {
            StructuredOutput::Strict => Self::strict(schema, &exchange.endpoint.name),
            _ => Self::Format(schema.json.clone()),
        }
    }

    fn strict(schema: &Schema, model: &str) -> Self {
        match StrictSchema::of(&schema.json, SchemaSubset::ANTHROPIC) {
            Ok(strict) => {
                strict.report(&schema.name, model);
                Self::Format(strict.json)
            }
            Err(unfit) => {
                tracing::debug!(model, schema = schema.name, %unfit, "schema is sent in the instructions");
                Self::Words(schema_prompt(schema))
            }
        }
    }
}

/// All instructions, wherever they stand: the API takes them apart from the conversation.
fn system(request: &ModelRequest, format: &SchemaRoute) -> Option<String> {
    let instructions = request.messages.iter().filter(|message| message.role == Role::System);
    let mut texts: Vec<Cow<'_, str>> = instructions.map(|one| one.content.text()).collect();
    if let SchemaRoute::Words(words) = format {
        texts.push(words.into());
    }
    texts.retain(|text| !text.trim().is_empty());
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The tools, and which of them the model must or must not call.
///
/// A conversation with calls needs definitions of tools, also when no further call is allowed.
fn tools(request: &ModelRequest, format: &SchemaRoute) -> (Vec<Json>, Option<Json>) {
    let known = request.tools.iter().chain(&request.unavailable_tools);
    let mut tools: Vec<Json> = known.map(tool).collect();
    if let SchemaRoute::Tool(answer) = format {
        tools.push(tool(answer));
        return (tools, Some(json!({"type": "tool", "name": answer.name})));
    }
    if tools.is_empty() {
        tools.extend(called_tools(&request.messages).into_iter().map(called_tool));
    }
    let closed = !tools.is_empty() && request.tools.is_empty();
    (tools, closed.then(|| json!({"type": "none"})))
}

fn tool(tool: &ToolSpec) -> Json {
    let mut json = json!({"name": tool.name, "input_schema": tool.parameters});
    if let (Json::Object(fields), false) = (&mut json, tool.description.trim().is_empty()) {
        fields.insert("description".to_owned(), json!(tool.description));
    }
    json
}

/// A tool of which only the name is known.
fn called_tool(name: &str) -> Json {
    json!({"name": wire_name(name), "input_schema": {"type": "object"}})
}
