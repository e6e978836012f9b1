//! The Model Context Protocol, both ways.
//!
//! | module | holds |
//! |---|---|
//! | [`client`] | the tools of servers, as tools of agents |
//! | [`server`] | tools and agents, offered to the clients of others |

pub mod client;
pub mod server;

pub use client::{McpClient, McpSettings, McpTool};
pub use server::{HttpServer, ServedTool, ServerSettings, ToolServer, serve_stdio};
