//! A tool of a server, as a tool of an agent.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use serde_json::Value as Json;

use super::listing::ListedTool;
use super::session::McpSession;

/// A tool of a server. It connects when it is called, if its client is not connected.
#[derive(Clone, Debug)]
pub struct McpTool {
    session: Arc<McpSession>,
    listed: ListedTool,
}

impl McpTool {
    pub(super) const fn new(session: Arc<McpSession>, listed: ListedTool) -> Self {
        Self { session, listed }
    }

    /// The server's own name for it.
    pub fn remote_name(&self) -> &str {
        &self.listed.name
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.listed.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let Json::Object(arguments) = arguments else {
            let message = format!("the arguments of `{}` must be an object", self.listed.spec.name);
            return Err(Fault::new(FaultCode::InvalidValue, message));
        };
        self.session.call(&self.listed, arguments, cx).await
    }
}
