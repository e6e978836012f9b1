//! A model with scripted replies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::{Category, Fault, FinishReason, ModelReply, ModelRequest, ToolCall, Usage};
use antiphon_runtime::{CallContext, Model, ReplyChunk};
use async_trait::async_trait;

/// Replies in order; keeps what it was asked.
#[derive(Debug, Default)]
pub(crate) struct Script {
    lines: Mutex<VecDeque<ModelReply>>,
    pub(crate) asked: Mutex<Vec<ModelRequest>>,
    /// How many pieces precede each reply.
    pieces: usize,
}

impl Script {
    pub(crate) fn new(lines: impl IntoIterator<Item = ModelReply>) -> Arc<Self> {
        Self::in_pieces(0, lines)
    }

    pub(crate) fn in_pieces(
        pieces: usize,
        lines: impl IntoIterator<Item = ModelReply>,
    ) -> Arc<Self> {
        let lines = Mutex::new(lines.into_iter().collect());
        Arc::new(Self { lines, asked: Mutex::default(), pieces })
    }
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> &'static str {
        "script:test"
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        self.asked.lock().unwrap().push(request.clone());
        for piece in 0..self.pieces {
            cx.emit(ReplyChunk::Text(piece.to_string()));
        }
        let line = self.lines.lock().unwrap().pop_front();
        line.ok_or_else(|| {
            Fault::foreign(Category::ModelOutput, "test", "the script is at its end")
        })
    }
}

/// A reply of one token read and two written.
pub(crate) fn says(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        media: Vec::new(),
        tool_calls: vec![],
        finish: FinishReason::Stop,
        usage: Usage { input_tokens: 1, output_tokens: 2 },
        model: "script".to_owned(),
        attempts: 1,
        latency: Duration::ZERO,
        provider_content: None,
    }
}

/// A reply that asks for one call.
pub(crate) fn calls(name: &str, arguments: &str) -> ModelReply {
    let call = ToolCall { id: "c1".into(), name: name.into(), arguments: arguments.into() };
    ModelReply { tool_calls: vec![call], finish: FinishReason::ToolCalls, ..says("") }
}
