//! How a job can go wrong.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a fault: stable names that callers decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestFaultKind {
    /// The code raised an exception.
    PythonError,
    /// The text is no program.
    SyntaxError,
    /// The engine does not know this part of the language.
    Unsupported,
    /// Wall or processor time ran out.
    TimeLimit,
    /// Memory ran out.
    MemoryLimit,
    /// It wrote more than anybody would read.
    OutputLimit,
    /// Calls were nested too deeply.
    RecursionLimit,
    /// Its output is too large.
    ResultTooLarge,
    /// It called the host too often.
    HostCallLimit,
    /// It called a function that was not granted.
    HostCallDenied,
    /// A function of the host's failed, and the code let it.
    HostCallFailed,
    /// Its own files took too much room.
    DiskLimit,
    /// It wanted a process or a thread more than it may have.
    ProcessLimit,
    /// It wanted something that is forbidden.
    Denied,
    /// Its worker died, or broke the protocol.
    Crashed,
    /// The caller did not want it any more.
    Cancelled,
    /// The engine cannot run here.
    Unavailable,
}

impl GuestFaultKind {
    /// All kinds.
    pub const ALL: [Self; 17] = [
        Self::PythonError,
        Self::SyntaxError,
        Self::Unsupported,
        Self::TimeLimit,
        Self::MemoryLimit,
        Self::OutputLimit,
        Self::RecursionLimit,
        Self::ResultTooLarge,
        Self::HostCallLimit,
        Self::HostCallDenied,
        Self::HostCallFailed,
        Self::DiskLimit,
        Self::ProcessLimit,
        Self::Denied,
        Self::Crashed,
        Self::Cancelled,
        Self::Unavailable,
    ];

    /// Its name on the wire and in results, for instance `time_limit`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PythonError => "python_error",
            Self::SyntaxError => "syntax_error",
            Self::Unsupported => "unsupported",
            Self::TimeLimit => "time_limit",
            Self::MemoryLimit => "memory_limit",
            Self::OutputLimit => "output_limit",
            Self::RecursionLimit => "recursion_limit",
            Self::ResultTooLarge => "result_too_large",
            Self::HostCallLimit => "host_call_limit",
            Self::HostCallDenied => "host_call_denied",
            Self::HostCallFailed => "host_call_failed",
            Self::DiskLimit => "disk_limit",
            Self::ProcessLimit => "process_limit",
            Self::Denied => "denied",
            Self::Crashed => "crashed",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }

    /// Whether a worker may report it. Failures of the host are reported by the
    /// host only.
    pub const fn may_be_claimed(self) -> bool {
        matches!(
            self,
            Self::PythonError
                | Self::SyntaxError
                | Self::MemoryLimit
                | Self::RecursionLimit
                | Self::ResultTooLarge
                | Self::DiskLimit
                | Self::ProcessLimit
                | Self::Denied
        )
    }
}

impl fmt::Display for GuestFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One fault, with what is known of its place in the guest's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestFault {
    /// What kind it is.
    pub kind: GuestFaultKind,
    /// One sentence, or the message of the guest's exception.
    pub message: String,
    /// Name of the guest's exception type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Line in the guest's text; the first is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Column in that line; the first is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Text of that line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The guest's own frames, the innermost last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Vec<GuestFrame>>,
}

/// A frame of the guest's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestFrame {
    /// Line in the guest's text.
    pub line: u64,
    /// The function, or `<module>`.
    pub function: String,
    /// Text of the line.
    #[serde(default)]
    pub source: String,
}

impl GuestFault {
    /// A fault without a place.
    pub fn new(kind: GuestFaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            exception: None,
            line: None,
            column: None,
            source: None,
            frames: None,
        }
    }
}
