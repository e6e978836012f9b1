//! A layer that falls back to other models.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, ModelReply, ModelRequest};
use antiphon_runtime::{CallContext, Model, ReplyChunk};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::retrying::is_transient;

/// Models in the order of preference. The next one is called when one fails with a transient
/// fault (`ModelTransport`, `Timeout`) and there is time left. A refused key or request fails at
/// once, because the caller has to correct it.
///
/// A [`ReplyChunk::Retry`] tells the observer to discard the text so far. The reply names the
/// model that answered; the last fault lists in `tried` which models failed, and how.
pub struct Fallback {
    name: String,
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
}

impl Fallback {
    /// Calls `first`, then `others` in their order.
    pub fn new(first: Arc<dyn Model>, others: impl IntoIterator<Item = Arc<dyn Model>>) -> Self {
        let others: Vec<_> = others.into_iter().collect();
        let names: Vec<&str> =
            std::iter::once(&first).chain(&others).map(|model| model.name()).collect();
        Self { name: names.join(" | "), first, others }
    }
}

#[async_trait]
impl Model for Fallback {
    fn name(&self) -> &str {
        &self.name
    }

    fn names(&self) -> Vec<String> {
        std::iter::once(&self.first).chain(&self.others).flat_map(|model| model.names()).collect()
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let started = cx.clock.now();
        let (mut model, mut others) = (&self.first, self.others.iter());
        let mut before = 0_u32;
        let mut tried = Vec::new();
        loop {
            let fault = match model.call(request, cx).await {
                Ok(mut reply) => {
                    reply.attempts = reply.attempts.saturating_add(before);
                    reply.latency = cx.clock.now().since(started);
                    return Ok(reply);
                }
                Err(fault) => fault,
            };
            before = before.saturating_add(attempts(&fault));
            tried.push(json!({"model": model.name(), "code": fault.code}));
            let in_time = cx.deadline.is_none_or(|deadline| cx.clock.now() < deadline);
            let next = if in_time && is_transient(&fault) { others.next() } else { None };
            let Some(next) = next else {
                return Err(fault.with("attempts", before).with("tried", tried));
            };
            let code = fault.code.to_string();
            cx.emit(ReplyChunk::Retry { code, attempt: before, delay: Duration::ZERO });
            model = next;
        }
    }
}

/// The transport attempts before a fault.
fn attempts(fault: &Fault) -> u32 {
    let attempts = fault.details.get("attempts").and_then(Json::as_u64);
    attempts.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or(1)
}
