//! The port behind which JSON Schema is.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value as Json;

use super::parsed_reply::ParsedReply;
use super::unreadable::UnreadableReply;
use super::violation::Violation;
use crate::fault::Fault;
use crate::model::{FinishReason, ModelReply};
use crate::schema::Schema;

/// Compiles JSON schemas that are known only at run time, such as the schema of
/// a tool whose call a person approves with other arguments.
pub trait SchemaCompiler: Debug + Send + Sync {
    /// Compiles a schema (draft 2020-12 unless it names another). References
    /// must stay within it; nothing is ever loaded.
    ///
    /// # Errors
    ///
    /// Category `validation`, code `schema_invalid`, with the place in the
    /// schema as detail `path`.
    fn compile(&self, schema: &Schema) -> Result<Arc<dyn ReplyParser>, Fault>;
}

/// Parses and validates against one schema.
pub trait ReplyParser: Debug + Send + Sync {
    /// The schema that values have to fit.
    fn schema(&self) -> &Schema;

    /// Parses the text of a model: strictly, from a fence, from amid prose, or
    /// repaired, whichever first gives a value that fits. With `truncated`, a
    /// limit stopped the model before it was done: a value whose end is missing does not count,
    /// because half of a text, or of a list, would be taken for the whole.
    ///
    /// # Errors
    ///
    /// The reply with what is wrong in the value that came closest.
    fn parse_text(&self, text: &str, truncated: bool) -> Result<ParsedReply, UnreadableReply>;

    /// Validates a value as it is: nothing is coerced, nothing filled in.
    ///
    /// # Errors
    ///
    /// Every place that does not fit, at least one.
    fn validate(&self, value: &Json) -> Result<(), Vec<Violation>>;

    /// Parses a text that is complete.
    ///
    /// # Errors
    ///
    /// As [`Self::parse_text`].
    fn parse(&self, text: &str) -> Result<ParsedReply, UnreadableReply> {
        self.parse_text(text, false)
    }

    /// Parses a model's reply, which the token limit may have truncated.
    ///
    /// # Errors
    ///
    /// As [`Self::parse_text`].
    fn parse_reply(&self, reply: &ModelReply) -> Result<ParsedReply, UnreadableReply> {
        self.parse_text(&reply.text, reply.finish == FinishReason::Length)
    }

    /// Parses the arguments of a tool call. Some models write nothing at all
    /// for a tool without arguments; that counts as `{}`. Arguments that end too early are refused:
    /// closed by a guess, a sum of 1000 would be one of 1.
    ///
    /// # Errors
    ///
    /// As [`Self::parse_text`].
    fn parse_arguments(&self, arguments: &str) -> Result<ParsedReply, UnreadableReply>;
}
