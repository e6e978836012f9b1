//! A layer that asks again when the way to a model failed.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, ModelReply, ModelRequest, RetryPolicy};
use antiphon_runtime::{CallContext, Model, ReplyChunk};
use async_trait::async_trait;

/// Nobody waits longer than this between two attempts: a server that asks for
/// more is a failure that fallbacks and people should hear of.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Repeats a call whose fault is transient: no connection, 429, 5xx, a
/// malformed or broken reply, a time-out. Pauses follow the policy, with what
/// the server asks for as a floor; none reaches past the call's deadline.
///
/// A stream that broke after some text is repeated too: the watcher is told by
/// [`ReplyChunk::Retry`] that the text begins anew.
pub struct Retrying {
    model: Arc<dyn Model>,
    policy: RetryPolicy,
}

impl Retrying {
    /// Puts the layer around `model`.
    pub fn new(model: Arc<dyn Model>, policy: RetryPolicy) -> Self {
        Self { model, policy }
    }

    /// How long to wait before asking again; none if this was the last time.
    fn pause(&self, attempt: u32, fault: &Fault, cx: &CallContext) -> Option<Duration> {
        if !is_transient(fault) {
            return None;
        }
        let pause = self.policy.pause(attempt, fault, cx.seed)?;
        let in_time = cx.deadline.is_none_or(|deadline| cx.clock.now() + pause < deadline);
        (in_time && pause <= LONGEST_PAUSE).then_some(pause)
    }
}

/// Whether a model may answer though it has just failed with `fault`.
pub(crate) fn is_transient(fault: &Fault) -> bool {
    matches!(fault.category, Category::ModelTransport | Category::Timeout)
}

#[async_trait]
impl Model for Retrying {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let started = cx.clock.now();
        let mut attempt = 1;
        loop {
            let fault = match self.model.call(request, cx).await {
                Ok(mut reply) => {
                    reply.attempts = reply.attempts.saturating_add(attempt - 1);
                    reply.latency = cx.clock.now().since(started);
                    return Ok(reply);
                }
                Err(fault) => fault,
            };
            let Some(pause) = self.pause(attempt, &fault, cx) else {
                return Err(fault.with("attempts", attempt));
            };
            tracing::debug!(
                model = self.name(),
                code = fault.code.as_str(),
                attempt,
                ?pause,
                "retry"
            );
            cx.emit(ReplyChunk::Retry { code: fault.code.to_string(), attempt, delay: pause });
            cx.clock.sleep(pause).await;
            attempt += 1;
        }
    }
}
