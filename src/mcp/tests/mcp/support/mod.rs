//! Starts the scripted server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antiphon_core::{ToolOutcome, ToolSpec};
use antiphon_mcp::client::McpServices;
use antiphon_mcp::{McpClient, McpSettings, McpTool};
use antiphon_runtime::{CallContext, ReplyChunk, SystemClock, Tool};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A server with these arguments, over standard input and output.
pub(crate) fn scripted(arguments: &[&str]) -> McpSettings {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/mcp_scripted.py");
    let mut command = vec!["python3".to_owned(), "-u".to_owned(), script.to_owned()];
    command.extend(arguments.iter().map(ToString::to_string));
    McpSettings { command, ..McpSettings::default() }
}

pub(crate) fn client(settings: McpSettings) -> McpClient {
    McpClient::new(settings).expect("valid settings")
}

pub(crate) fn client_with(settings: McpSettings, services: McpServices) -> McpClient {
    McpClient::with_services(settings, services).expect("valid settings")
}

pub(crate) fn context() -> CallContext {
    CallContext::new(Arc::new(SystemClock::default()))
}

/// A context with what the tool reports.
pub(crate) fn watched() -> (CallContext, UnboundedReceiver<ReplyChunk>) {
    let (sender, receiver) = unbounded_channel();
    (CallContext { chunks: Some(sender), ..context() }, receiver)
}

pub(crate) async fn tool(client: &McpClient, name: &str) -> Arc<McpTool> {
    let tools = client.tools().await.expect("a list of tools");
    tools.into_iter().find(|tool| tool.remote_name() == name).expect("the tool")
}

pub(crate) async fn call(client: &McpClient, name: &str) -> ToolOutcome {
    tool(client, name).await.call(json!({"text": "hello"}), &context()).await
}

pub(crate) async fn specs(client: &McpClient) -> Vec<ToolSpec> {
    let tools = client.tools().await.expect("a list of tools");
    tools.iter().map(|tool| tool.spec().clone()).collect()
}

/// A folder that is gone at the end of the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("antiphon-mcp-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain path").to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    /// The messages that the server has logged.
    pub(crate) fn messages(&self, name: &str) -> Vec<Json> {
        self.read(name).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn starts(&self, name: &str) -> usize {
        self.read(name).lines().filter(|line| line.starts_with("started")).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until something is so; the test runner stops a test that waits forever.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

pub(crate) fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}
