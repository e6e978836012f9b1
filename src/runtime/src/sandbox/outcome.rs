//! What came of a job.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{GuestFault, GuestFaultKind};

/// What came of a job. Everything but `usage`, `truncated` and faults of
/// the host's own is what the guest says, checked for its form and its size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOutcome {
    /// The value of the last expression, tagged; none if there is no such value.
    pub value: Option<Json>,
    /// Why the value could not be brought out.
    pub value_error: Option<GuestFault>,
    /// Tagged values by name.
    pub locals: Map<String, Json>,
    /// Names that could not be brought out, and why.
    pub local_errors: BTreeMap<String, GuestFault>,
    /// Tables, in the order the guest gave.
    pub tables: Vec<JobTable>,
    /// Tables that could not be brought out, and why.
    pub table_errors: BTreeMap<String, GuestFault>,
    /// PNG images, unchecked, in the order they were opened.
    pub figures: Vec<Vec<u8>>,
    /// The head of standard output (descriptor 1).
    pub stdout: Vec<u8>,
    /// The head of standard error (descriptor 2).
    pub stderr: Vec<u8>,
    /// Which of `stdout` and `stderr` are cut.
    pub truncated: Vec<&'static str>,
    /// How it went wrong, if it did.
    pub error: Option<GuestFault>,
    /// Its resource usage.
    pub usage: JobUsage,
}

impl JobOutcome {
    /// An outcome that is nothing but its fault.
    pub fn failed(kind: GuestFaultKind, message: impl Into<String>) -> Self {
        Self { error: Some(GuestFault::new(kind, message)), ..Self::default() }
    }
}

/// A table that came out: an Arrow IPC stream that nobody has looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTable {
    /// The name it has in the guest.
    pub name: String,
    /// How many rows the guest says it has.
    pub rows: u64,
    /// How many columns the guest says it has.
    pub columns: u64,
    /// The stream.
    pub bytes: Vec<u8>,
}

/// The resource usage of a job, measured outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JobUsage {
    /// From the call to its end, host calls included.
    pub wall: Duration,
    /// Processor time of the worker.
    pub cpu: Duration,
    /// Most bytes that were resident at once, those included that the worker
    /// shares with others; 0 if it is not known.
    pub memory: u64,
    /// Calls of the host's functions.
    pub host_calls: u64,
    /// Where the worker came from.
    pub start: WorkerOrigin,
}

/// Where a worker came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerOrigin {
    /// It was waiting.
    Spare,
    /// It was forked for this job.
    Fork,
    /// It has run jobs before.
    Session,
    /// The zygote that forks the workers had to be started first.
    #[default]
    Cold,
}

impl WorkerOrigin {
    /// Its name in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spare => "spare",
            Self::Fork => "fork",
            Self::Session => "session",
            Self::Cold => "cold",
        }
    }
}
