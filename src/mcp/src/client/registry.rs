//! A server as a registry of tools, for runs that look for their tools themselves.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::{Tool, ToolRegistry};
use async_trait::async_trait;

use super::session::McpClient;

#[async_trait]
impl ToolRegistry for McpClient {
    fn name(&self) -> String {
        self.server()
    }

    async fn tools(&self, max_age: Duration) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let tools = self.tools_within(max_age).await?;
        Ok(tools.into_iter().map(|tool| tool as Arc<dyn Tool>).collect())
    }

    async fn forget(&self) {
        self.forget_tools().await;
    }
}
