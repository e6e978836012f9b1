//! What the sandbox returned for the code that computed the result, as the state stores it.

use std::collections::BTreeMap;

use antiphon_runtime::sandbox::{GuestFault, JobOutcome, JobUsage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::value_text::{cut, plain_item, plain_value};
use crate::base64_bytes::Base64Bytes;

/// Variables that a trace lists, and characters of the value of each.
const MOST_DESCRIBED: usize = 50;
const LONGEST_VALUE: usize = 500;

/// What the sandbox returned. All but `usage` and `truncated` is reported by the code, and not
/// verified; see [`JobOutcome`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxOutput {
    /// The value of the last expression, tagged.
    pub value: Option<Json>,
    /// Why the value could not be returned.
    pub value_error: Option<GuestFault>,
    /// Tagged values by name.
    pub locals: Map<String, Json>,
    /// Names that could not be returned, and why.
    pub local_errors: BTreeMap<String, GuestFault>,
    /// Arrow IPC streams with their names.
    pub tables: Vec<(String, Base64Bytes)>,
    /// Tables that could not be returned, and why.
    pub table_errors: BTreeMap<String, GuestFault>,
    /// PNG images.
    pub figures: Vec<Base64Bytes>,
    /// What was printed.
    pub stdout: String,
    /// What was written to standard error.
    pub stderr: String,
    /// Which of `stdout` and `stderr` are cut.
    pub truncated: Vec<String>,
    /// What it took.
    pub usage: Usage,
}

impl SandboxOutput {
    /// The result as plainly as a value can be shown; none if it is a table.
    pub(crate) fn plain_result(&self) -> Option<String> {
        self.result().map(plain_item)
    }

    /// Each variable with its type and the beginning of its value, for a trace.
    pub fn described_locals(&self) -> Map<String, Json> {
        let tables = self.tables.iter().map(|(name, _)| (name, json!({"type": "table"})));
        let values = self.locals.iter().map(|(name, value)| {
            let shown = cut(&plain_value(value), LONGEST_VALUE);
            (name, json!({"type": type_of(value), "value": shown}))
        });
        let described = values.chain(tables).take(MOST_DESCRIBED);
        described.map(|(name, described)| (name.clone(), described)).collect()
    }
}

/// The Python type of a tagged value.
fn type_of(value: &Json) -> &str {
    match value {
        Json::Null => "None",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float",
        Json::Number(_) => "int",
        Json::String(_) => "str",
        Json::Array(_) => "list",
        Json::Object(fields) => fields.get("$").and_then(Json::as_str).unwrap_or("dict"),
    }
}

/// What a job took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Seconds from the call to its end.
    pub wall: f64,
    /// Seconds of processor time.
    pub cpu: f64,
    /// Most bytes that were resident at once; 0 if it is not known.
    pub memory: u64,
    /// Calls of the host's functions.
    pub host_calls: u64,
    /// Where the worker came from.
    pub start: String,
}

impl From<JobOutcome> for SandboxOutput {
    fn from(outcome: JobOutcome) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let tables = outcome.tables.into_iter();
        Self {
            value: outcome.value,
            value_error: outcome.value_error,
            locals: outcome.locals,
            local_errors: outcome.local_errors,
            tables: tables.map(|table| (table.name, Base64Bytes(table.bytes))).collect(),
            table_errors: outcome.table_errors,
            figures: outcome.figures.into_iter().map(Base64Bytes).collect(),
            stdout: text(&outcome.stdout),
            stderr: text(&outcome.stderr),
            truncated: outcome.truncated.into_iter().map(str::to_owned).collect(),
            usage: outcome.usage.into(),
        }
    }
}

impl From<JobUsage> for Usage {
    fn from(usage: JobUsage) -> Self {
        Self {
            wall: usage.wall.as_secs_f64(),
            cpu: usage.cpu.as_secs_f64(),
            memory: usage.memory,
            host_calls: usage.host_calls,
            start: usage.start.as_str().to_owned(),
        }
    }
}
