//! A server over standard input and output.

use antiphon_core::{Fault, FaultCode};
use rmcp::ServiceExt;

use super::tool_server::ToolServer;

/// Serves until the input ends. Nothing else may write to the standard output meanwhile.
///
/// # Errors
/// `mcp_server_failed`: the first messages make no sense, or the pipes break.
pub async fn serve_stdio(server: ToolServer) -> Result<(), Fault> {
    let failed = |cause: String| {
        Fault::new(FaultCode::McpServerFailed, format!("the MCP server has failed: {cause}"))
    };
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    let running = match server.serve(pipes).await {
        Ok(running) => running,
        // A client that only looks whether the program starts.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(failed(error.to_string())),
    };
    running.waiting().await.map(drop).map_err(|error| failed(error.to_string()))
}
