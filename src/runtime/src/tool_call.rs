//! Calls of tools: panics become faults, known secrets are masked, and time-outs hold.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::reply::{ReplyParser, SchemaCompiler};
use antiphon_core::tool::{settle, timed_out};
use antiphon_core::{Fault, FaultCode, Schema, ToolOutcome};
use serde_json::Value as Json;

use crate::native::panics::contained;
use crate::port::{CallContext, Tool};
use crate::redact;

/// Calls a tool with arguments that satisfy its schema. A panic is a fault `tool_panicked`, which
/// the model reads like any other; a value that is an error is a failure; known secrets are masked.
/// The driver applies the time-out.
///
/// # Errors
/// The tool's own fault, or `tool_panicked`.
pub async fn call_tool(tool: &dyn Tool, arguments: Json, cx: &CallContext) -> ToolOutcome {
    // The call itself may panic too, before it returns a future.
    let called = async { tool.call(arguments, cx).await };
    let outcome = contained(called).await.unwrap_or_else(|panic| {
        let message = format!("the code of the tool panicked: {}", tool.spec().name);
        let hint = "this is a defect of the tool; do not call it with the same arguments again";
        Err(Fault::new(FaultCode::ToolPanicked, message)
            .hint(hint)
            .with("panic", panic.into_text()))
    });
    redact::clean_outcome(settle(outcome))
}

/// The same, for at most `timeout`. A call that takes longer is dropped.
///
/// # Errors
/// As [`call_tool`], or `tool_timeout`.
pub async fn call_tool_within(
    tool: &dyn Tool,
    arguments: Json,
    timeout: Option<Duration>,
    cx: &CallContext,
) -> ToolOutcome {
    let call = call_tool(tool, arguments, cx);
    let Some(timeout) = timeout else { return call.await };
    tokio::select! {
        biased;
        outcome = call => outcome,
        () = cx.clock.sleep(timeout) => Err(timed_out(&tool.spec().name, Some(timeout))),
    }
}

/// A tool with the parser for its arguments: for calls by code, outside of an agent's loop.
#[derive(Clone)]
pub struct CheckedTool {
    tool: Arc<dyn Tool>,
    arguments: Arc<dyn ReplyParser>,
}

impl CheckedTool {
    /// Compiles the schema of the tool's arguments.
    ///
    /// # Errors
    /// A `Validation` fault `schema_invalid`.
    pub fn new(tool: Arc<dyn Tool>, schemas: &dyn SchemaCompiler) -> Result<Self, Fault> {
        let spec = tool.spec();
        let schema = Schema::new(&spec.name, spec.parameters.clone());
        let arguments = schemas.compile(&schema)?;
        Ok(Self { tool, arguments })
    }

    /// Another form of the tool, with the same arguments.
    #[must_use]
    pub fn replaced(&self, tool: Arc<dyn Tool>) -> Self {
        Self { tool, arguments: Arc::clone(&self.arguments) }
    }

    /// The tool.
    pub const fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// The arguments as the tool gets them: defaults are filled in, and values of a wrong type
    /// converted where that is safe, as in the call of a model.
    ///
    /// # Errors
    /// A `Validation` fault `invalid_value` that lists every place that does not fit.
    pub fn read(&self, arguments: &Json) -> Result<Json, Fault> {
        let name = &self.tool.spec().name;
        let parsed = self.arguments.parse_arguments(&arguments.to_string());
        parsed.map(|parsed| parsed.value).map_err(|unreadable| unreadable.into_argument_fault(name))
    }

    /// Reads the arguments and calls the tool, for at most `timeout`.
    ///
    /// # Errors
    /// As [`CheckedTool::read`] and [`call_tool_within`].
    pub async fn call(
        &self,
        arguments: &Json,
        timeout: Option<Duration>,
        cx: &CallContext,
    ) -> ToolOutcome {
        let arguments = self.read(arguments)?;
        let own = timeout.map(|timeout| cx.clock.now() + timeout);
        let deadline = own.into_iter().chain(cx.deadline).min();
        let cx = CallContext { deadline, ..cx.clone() };
        call_tool_within(&*self.tool, arguments, timeout, &cx).await
    }
}

impl fmt::Debug for CheckedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedTool").field("name", &self.tool.spec().name).finish_non_exhaustive()
    }
}
