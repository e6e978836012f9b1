//! The server: offers tools to clients over standard input and output, or over HTTP.
//!
//! ```no_run
//! # async fn example(tools: Vec<std::sync::Arc<dyn antiphon_mcp::ServedTool>>) -> Result<(), antiphon_core::Fault> {
//! use antiphon_mcp::{HttpServer, ServerSettings, ToolServer};
//!
//! let server = ToolServer::new(tools, ServerSettings::default())?;
//! let running = HttpServer::start(server, 8000).await?;
//! println!("{}", running.url());
//! running.stop().await;
//! # Ok(())
//! # }
//! ```

mod caller;
mod handler;
mod http;
mod paused_calls;
mod settings;
mod stdio;
mod tool_server;
mod wire;

pub use caller::{CallClient, ServedTool};
pub use http::HttpServer;
pub use settings::ServerSettings;
pub use stdio::serve_stdio;
pub use tool_server::ToolServer;
