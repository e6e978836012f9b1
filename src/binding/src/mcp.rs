//! MCP as Python sees it: clients of servers, and servers of its tools and agents.

pub(crate) mod client;
pub(crate) mod server;
