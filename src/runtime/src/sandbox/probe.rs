//! What an engine can promise here.

use std::collections::BTreeMap;

/// What an engine can promise on this machine, seen and not assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProbe {
    /// The engine's name.
    pub engine: &'static str,
    /// Whether it may be used.
    pub ok: bool,
    /// What keeps its guests in.
    pub isolation: Isolation,
    /// Version of what runs the code.
    pub version: String,
    /// Each layer with its state: `yes`, `no`, or a level.
    pub layers: BTreeMap<&'static str, String>,
    /// The missing parts, in words for a person.
    pub missing: Vec<String>,
}

impl SandboxProbe {
    /// An engine that cannot be used here, and why.
    pub fn refused(engine: &'static str, missing: impl Into<String>) -> Self {
        Self {
            engine,
            ok: false,
            isolation: Isolation::None,
            version: String::new(),
            layers: BTreeMap::new(),
            missing: vec![missing.into()],
        }
    }
}

/// What keeps guests in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Layers of the operating system around a real interpreter.
    OsJail,
    /// The same without its own root and namespaces: it reads nothing that was not
    /// granted, but sees that it exists.
    Landlock,
    /// Limits and a kill, and no more.
    None,
}

impl Isolation {
    /// Its name in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OsJail => "os-jail",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}
