//! Settings whose values are secret.

use std::borrow::Cow;

use antiphon_net::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A secret in settings. It is read as a text, and shown and written as `***`.
#[derive(Clone, Debug)]
pub struct SecretText(Secret);

impl SecretText {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Secret::new(value))
    }

    /// The secret.
    pub const fn secret(&self) -> &Secret {
        &self.0
    }

    /// Whether it was left out.
    pub fn is_empty(&self) -> bool {
        self.0.expose().is_empty()
    }
}

impl Default for SecretText {
    fn default() -> Self {
        Self::new("")
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

impl JsonSchema for SecretText {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("SecretText")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "password"})
    }
}
