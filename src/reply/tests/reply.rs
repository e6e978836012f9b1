//! Replies of models, from flawless to hostile.

#![expect(clippy::unwrap_used, reason = "what a test takes for granted may end it")]

mod reply {
    mod acceptance;
    mod arguments;
    mod coercion;
    mod corpus;
    mod defaults;
    mod feedback;
    mod hostile;
    mod properties;
    mod refusal;
    mod schemas;
    mod suggestions;
    mod truncation;
}

use antiphon_core::Schema;
use antiphon_core::model::{FinishReason, ModelReply, Usage};
use antiphon_reply::CompiledSchema;
use serde_json::Value as Json;

fn shape(schema: Json) -> CompiledSchema {
    CompiledSchema::compile(&Schema::new("test", schema)).unwrap()
}

/// An object of any fields.
fn any_object() -> CompiledSchema {
    shape(serde_json::json!({"type": "object"}))
}

fn reply(text: &str, finish: FinishReason) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        media: Vec::new(),
        tool_calls: Vec::new(),
        finish,
        usage: Usage::default(),
        model: "test".to_owned(),
        attempts: 1,
        latency: std::time::Duration::ZERO,
        provider_content: None,
    }
}
