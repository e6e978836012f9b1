//! A reply that could be read, and how much help that took.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A value that fits its schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParsedReply {
    /// The value, with coercions applied and defaults filled in.
    pub value: Json,
    /// Where in the reply it was found.
    pub level: ParseLevel,
    /// JSON pointers of the places whose value was coerced; empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coerced: Vec<String>,
}

impl ParsedReply {
    /// Whether the text had to be repaired before it was JSON.
    pub fn repaired(&self) -> bool {
        self.level == ParseLevel::Repaired
    }
}

/// The level of the cascade that found a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParseLevel {
    /// The whole reply is JSON.
    Strict,
    /// A fenced block is JSON.
    Fenced,
    /// An object or list amid prose is JSON.
    Balanced,
    /// Nearly JSON, and repaired.
    Repaired,
}

impl ParseLevel {
    /// The level's number in the cascade of parsers, from 2 to 5.
    pub const fn number(self) -> u8 {
        match self {
            Self::Strict => 2,
            Self::Fenced => 3,
            Self::Balanced => 4,
            Self::Repaired => 5,
        }
    }

    /// The name in a trace, for instance `fenced`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Fenced => "fenced",
            Self::Balanced => "balanced",
            Self::Repaired => "repaired",
        }
    }
}
