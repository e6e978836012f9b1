//! What a role replies: parts of its schema, and reading a reply that has passed it.

use antiphon_core::agent::ToolCallRecord;
use antiphon_core::reply::{ParseLevel, ParsedReply, ReplyParser, UnreadableReply, Violation};
use antiphon_core::{Fault, FaultCode, FinishReason, Message, Schema};
use antiphon_reply::CompiledSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

/// What a role has replied.
#[derive(Debug, Default)]
pub struct RoleReply {
    /// The reply, which fits the role's schema.
    pub value: Option<Json>,
    /// The whole conversation; empty for a role that is code.
    pub messages: Vec<Message>,
    /// The tools that were called.
    pub tool_uses: Vec<ToolCallRecord>,
}

impl RoleReply {
    /// The reply as a type.
    ///
    /// # Errors
    /// A `ModelOutput` fault `role_reply_invalid`.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        T::deserialize(self.value.take().unwrap_or_default()).map_err(|error| {
            let message = format!("the reply does not match the schema of its role: {error}");
            Fault::new(FaultCode::RoleReplyInvalid, message)
        })
    }
}

/// A parser that takes a reply which does not fit as null: its text is in the conversation. One that
/// a limit cut off does not count.
#[derive(Debug)]
pub(crate) struct AnyReplyParser(pub(crate) CompiledSchema);

impl ReplyParser for AnyReplyParser {
    fn schema(&self) -> &Schema {
        self.0.schema()
    }

    fn parse_text(&self, text: &str, truncated: bool) -> Result<ParsedReply, UnreadableReply> {
        let unfit =
            || ParsedReply { value: Json::Null, level: ParseLevel::Strict, coerced: Vec::new() };
        match self.0.parse_text(text, truncated) {
            Err(unreadable) if truncated => Err(UnreadableReply { is_cut: true, ..unreadable }),
            parsed => Ok(parsed.unwrap_or_else(|_| unfit())),
        }
    }

    fn parse_arguments(&self, arguments: &str) -> Result<ParsedReply, UnreadableReply> {
        self.0.parse_arguments(arguments)
    }

    fn validate(&self, value: &Json) -> Result<(), Vec<Violation>> {
        self.0.validate(value)
    }
}

/// What the field `field` holds of a reply that may lack its end, or the whole text of one that is no
/// JSON.
pub(crate) fn beginning(raw: &str, field: &str) -> Option<String> {
    let schema = Schema::new(field, object(&json!({field: text()})));
    let parser = CompiledSchema::compile(&schema).ok()?;
    let read = parser.parse_text(raw, false).ok().map(|reply| reply.value);
    let found = read.as_ref().and_then(|value| value.get(field)?.as_str());
    let is_json = raw.trim_start().starts_with(['{', '[', '`']);
    found.or_else(|| Some(raw).filter(|_| !is_json)).map(str::to_owned)
}

/// The text of a reply that the limit of tokens cut off, if that is what failed.
pub(crate) fn cut_reply(fault: Option<&Fault>) -> Option<&str> {
    let details = &fault?.details;
    details.get("finish").filter(|finish| **finish == json!(FinishReason::Length))?;
    details.get("raw")?.as_str()
}

/// The schema of a text that is not blank.
pub fn text() -> Json {
    json!({"type": "string", "minLength": 1, "not": {"pattern": "^\\s*$"}})
}

/// What the forms of replies have in place of an answer. Small models copy it; in its brackets
/// it is no answer to any question, while the words alone may be one, such as a translation.
pub(crate) const PLACEHOLDER: &str = "<the answer>";

/// Whether an answer is no more than what its form has in its place.
pub(crate) fn is_placeholder(answer: &str) -> bool {
    answer.trim().trim_end_matches('.').eq_ignore_ascii_case(PLACEHOLDER)
}

/// The schema of an answer. A model that copies `<the answer>` from its form is asked again.
pub fn answer_text() -> Json {
    json!({"type": "string", "minLength": 1, "not": {"pattern": "^\\s*(<the answer>\\s*)?$"}})
}

/// The schema of an object with these properties, all of them required.
pub fn object(properties: &Json) -> Json {
    let names: Vec<&String> =
        properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
    json!({"type": "object", "properties": properties, "required": names})
}
