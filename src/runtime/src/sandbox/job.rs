//! What an engine is asked to run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A piece of source text with its inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxJob {
    /// The source text.
    pub code: String,
    /// What tracebacks call it.
    pub name: String,
    /// The results to return beside its output.
    pub want: Vec<JobOutput>,
    /// Tagged values by the names they get.
    pub inputs: Map<String, Json>,
    /// Arrow IPC streams by the names they get.
    pub tables: Vec<(String, Vec<u8>)>,
    /// The host's functions that it may call.
    pub functions: Vec<HostFunction>,
}

/// Something that can be asked of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOutput {
    /// The value of the last expression.
    Value,
    /// The names it assigned.
    Locals,
    /// Data frames among them, as Arrow.
    Tables,
    /// Open figures, as PNG.
    Figures,
}

/// A function of the host's, as the guest sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFunction {
    /// The name that the guest calls.
    pub name: String,
    /// Its docstring.
    #[serde(default)]
    pub doc: String,
}
