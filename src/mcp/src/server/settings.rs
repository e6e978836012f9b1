//! What a server says about itself, and its limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// What the server is called.
    pub name: String,
    /// The version of what it serves.
    pub version: String,
    /// How to use its tools, for the client's model.
    pub instructions: String,
    /// The address to listen on; this machine only by default.
    pub host: String,
    /// Names by which clients reach it, beside `localhost` and the address it listens on.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may use it, such as `https://app.example.com`, beside pages of
    /// this machine.
    pub allowed_origins: Vec<String>,
    /// The most sessions at a time.
    pub max_sessions: usize,
    /// The most calls at a time.
    pub max_calls: usize,
    /// How long a session may be idle, and a question unanswered, in seconds.
    pub idle_timeout: u64,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            name: "antiphon".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: String::new(),
            host: "127.0.0.1".to_owned(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_sessions: 100,
            max_calls: 32,
            idle_timeout: 600,
        }
    }
}
