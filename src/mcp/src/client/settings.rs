//! What a caller may choose about a server.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::oauth::OAuthSettings;

/// How to reach a server, and what to take from it.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpSettings {
    /// The URL of a server over HTTP, or the command line of one over standard input and output.
    /// A command line is split like a shell would, but no shell runs it: there are no variables,
    /// wildcards or pipes.
    pub server: String,
    /// The program and its arguments, in place of a command line in `server`.
    pub command: Vec<String>,
    /// Variables of the environment of the process. It gets these, and of the caller's own only
    /// those that programs need to start, such as `PATH` and `HOME`.
    pub env: BTreeMap<String, String>,
    /// The folder in which the process starts; empty for the caller's own.
    pub folder: String,
    /// Headers of each HTTP request, such as `Authorization`.
    pub headers: BTreeMap<String, String>,
    /// Who this client is, for servers that ask for OAuth.
    pub oauth: OAuthSettings,
    /// What the names of the tools begin with.
    pub prefix: String,
    /// The tools to take, by the server's names; empty for all.
    pub tools: Vec<String>,
    /// The longest that one call may take, in seconds; 60.
    pub timeout: f64,
    /// The longest that connecting may take, in seconds; 30.
    pub connect_timeout: f64,
    /// Folders that the server is told to work in, as `file://` URLs.
    pub roots: Vec<String>,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            server: String::new(),
            command: Vec::new(),
            env: BTreeMap::new(),
            folder: String::new(),
            headers: BTreeMap::new(),
            oauth: OAuthSettings::default(),
            prefix: String::new(),
            tools: Vec::new(),
            timeout: 60.0,
            connect_timeout: 30.0,
            roots: Vec::new(),
        }
    }
}

impl std::fmt::Debug for McpSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Command lines, variables and headers may hold keys.
        f.debug_struct("McpSettings").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// A number of seconds as a duration.
pub(super) fn duration(seconds: f64, name: &str) -> Result<Duration, Fault> {
    let known = Duration::try_from_secs_f64(seconds).ok().filter(|it| !it.is_zero());
    known.ok_or_else(|| {
        invalid(format!("`{name}` must be a number of seconds above zero: {seconds}"))
    })
}

pub(super) fn invalid(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::ToolSettingInvalid, message)
}
