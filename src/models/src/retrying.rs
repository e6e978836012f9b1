//! A layer that repeats calls after transport failures.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, ModelReply, ModelRequest, RetryPolicy};
use antiphon_runtime::{CallContext, Model, ReplyChunk};
use async_trait::async_trait;

use crate::failure::after_attempts;

/// The longest pause between two attempts. A server that asks for more counts as failed, so that
/// fallbacks and users learn of it.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Repeats calls with a transient fault: no connection, 429, 5xx, a malformed or cut reply, a
/// time-out. Pauses follow the policy, with the server's `Retry-After` as the minimum; none
/// exceeds the call's deadline.
///
/// A stream that was cut after some text is repeated too: [`ReplyChunk::Retry`] tells the
/// observer to discard that text.
pub struct Retrying {
    model: Arc<dyn Model>,
    policy: RetryPolicy,
}

impl Retrying {
    /// Wraps `model`.
    pub fn new(model: Arc<dyn Model>, policy: RetryPolicy) -> Self {
        Self { model, policy }
    }

    /// The pause before the next attempt; `None` if this was the last one.
    fn pause(&self, attempt: u32, fault: &Fault, cx: &CallContext) -> Option<Duration> {
        if !is_transient(fault) {
            return None;
        }
        let pause = self.policy.pause(attempt, fault, cx.seed)?;
        let in_time = cx.deadline.is_none_or(|deadline| cx.clock.now() + pause < deadline);
        (in_time && pause <= LONGEST_PAUSE).then_some(pause)
    }
}

/// Whether a repeated call may succeed after `fault`.
pub(crate) fn is_transient(fault: &Fault) -> bool {
    matches!(fault.category, Category::ModelTransport | Category::Timeout)
}

#[async_trait]
impl Model for Retrying {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn names(&self) -> Vec<String> {
        self.model.names()
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
                return Err(after_attempts(fault, attempt));
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
