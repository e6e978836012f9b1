//! The client: connects to a server over standard input and output or over HTTP, and makes its
//! tools callable.
//!
//! ```no_run
//! # async fn example() -> Result<(), antiphon_core::Fault> {
//! use antiphon_mcp::{McpClient, McpSettings};
//!
//! let settings = McpSettings { server: "npx -y some-server".into(), ..McpSettings::default() };
//! let client = McpClient::new(settings)?;
//! for tool in client.tools().await? {
//!     println!("{}", antiphon_runtime::Tool::spec(&*tool).name);
//! }
//! client.close().await;
//! # Ok(())
//! # }
//! ```

mod active_calls;
mod connection;
mod content;
mod elicitation;
mod failure;
mod handler;
mod http;
mod listening;
mod listing;
mod names;
mod oauth;
mod pending_replies;
mod progress_transport;
mod redirect_server;
mod registry;
mod result_schema;
mod sampling;
mod schemas;
mod server_questions;
mod session;
mod settings;
mod stderr_tail;
mod stdio;
mod target;
mod token_store;
mod tool;

pub use elicitation::{Elicitation, ElicitationAnswer, ElicitationHandler, ElicitationQuestion};
pub use oauth::{AuthorizationHandler, OAuthSettings};
pub use session::{McpClient, McpServices};
pub use settings::McpSettings;
pub use tool::McpTool;
