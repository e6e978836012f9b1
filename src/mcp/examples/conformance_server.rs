//! The server under test of the official conformance suite, with the tools that its scenarios
//! call. It prints its address, and serves until it is killed.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, ToolOutcome, ToolSpec};
use antiphon_mcp::client::ElicitationAnswer;
use antiphon_mcp::server::CallClient;
use antiphon_mcp::{HttpServer, ServedTool, ServerSettings, ToolServer};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the address is for the program that started it")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "json_schema_2020_12_tool",
    ];
    let tools = names.map(|name| Arc::new(SuiteTool::new(name)) as Arc<dyn ServedTool>);
    let server = ToolServer::new(tools, ServerSettings::default()).map_err(Box::new)?;
    let running = HttpServer::start(server, 0).await.map_err(Box::new)?;
    println!("{}", running.url());
    running.wait().await;
    Ok(())
}

struct SuiteTool(ToolSpec);

impl SuiteTool {
    fn new(name: &str) -> Self {
        let schema = match name {
            "json_schema_2020_12_tool" => json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {"address": {"type": "object", "properties": {
                    "street": {"type": "string"}, "city": {"type": "string"}}}},
                "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
                "additionalProperties": false,
            }),
            "test_elicitation" => json!({"type": "object", "required": ["message"],
                "properties": {"message": {"type": "string"}}}),
            _ => json!({"type": "object", "properties": {}}),
        };
        Self(ToolSpec::new(name, "A tool of the conformance suite.", schema))
    }
}

#[async_trait]
impl ServedTool for SuiteTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, arguments: Json, client: CallClient) -> ToolOutcome {
        let image = json!({"type": "image", "mime_type": "image/png", "base64": DOT});
        let resource = |uri: &str, kind: &str, text: &str| json!({"type": "file", "filename": uri, "mime_type": kind, "text": text});
        match self.0.name.as_str() {
            "test_simple_text" => Ok(json!("This is a simple text response for testing.")),
            "test_image_content" => Ok(json!({"content": [image]})),
            "test_audio_content" => Ok(json!({"content": [
                {"type": "file", "mime_type": "audio/wav", "base64": SILENCE}]})),
            "test_embedded_resource" => Ok(json!({"content": [resource(
                "test://embedded-resource", "text/plain", "This is an embedded resource content.")]})),
            "test_multiple_content_types" => Ok(json!({"content": [
                {"type": "text", "text": "Multiple content types test:"}, image,
                resource("test://mixed-content-resource", "application/json", "{\"test\":\"data\"}")]})),
            "test_error_handling" => {
                let message = "This tool intentionally returns an error for testing";
                Err(Fault::new(FaultCode::ToolFailed, message))
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    client
                        .report(done, Some(100.0), Some(format!("Completed step {done} of 100")))
                        .await;
                }
                Ok(json!("done"))
            }
            "test_elicitation" => {
                let message = arguments.get("message").and_then(Json::as_str).unwrap_or_default();
                ask(
                    &client,
                    message,
                    &json!({"username": {"type": "string"}, "email": {"type": "string"}}),
                )
                .await
            }
            "test_elicitation_sep1034_defaults" => ask(&client, "Your data?", &defaults()).await,
            "test_elicitation_sep1330_enums" => ask(&client, "Your choice?", &choices()).await,
            _ => Ok(json!("done")),
        }
    }
}

async fn ask(client: &CallClient, message: &str, fields: &Json) -> ToolOutcome {
    let schema = json!({"type": "object", "properties": fields});
    let (action, content) = match client.ask(message, Some(&schema)).await? {
        ElicitationAnswer::Accept(content) => ("accept", content),
        ElicitationAnswer::Decline => ("decline", json!({})),
        ElicitationAnswer::Cancel => ("cancel", json!({})),
    };
    Ok(json!(format!("User response: action={action}, content={content}")))
}

fn defaults() -> Json {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn choices() -> Json {
    let titled = json!([{"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]);
    json!({
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}
