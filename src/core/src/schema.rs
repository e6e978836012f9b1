//! A JSON schema that a reply or a tool's arguments must satisfy.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A named JSON schema (draft 2020-12, an object).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// A short name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// The schema itself.
    pub json: Json,
}

impl Schema {
    /// Names a schema.
    pub fn new(name: impl Into<String>, json: Json) -> Self {
        Self { name: name.into(), json }
    }
}
