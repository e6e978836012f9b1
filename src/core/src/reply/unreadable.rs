//! A reply that could not be read: the words for the model that is asked
//! again, and the failure when it is not.

use std::fmt;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::violation::Violation;
use crate::excerpt::{count, short};
use crate::fault::{Fault, FaultCode};
use crate::model::FinishReason;

/// A reply without a value that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableReply {
    /// The reply, whole.
    pub raw: String,
    /// What is wrong with the value that came closest; at least one.
    pub errors: Vec<Violation>,
    /// Whether the reply is text in which nothing looks like JSON.
    #[serde(default)]
    pub is_text: bool,
    /// Whether the limit of tokens cut off the value in it.
    #[serde(default)]
    pub is_cut: bool,
}

impl UnreadableReply {
    /// Errors that are reported to a model, and that a fault carries.
    pub const SHOWN: usize = 12;

    /// Characters of the reply that a fault carries.
    pub const RAW: usize = 4_000;

    /// Characters of a reply that a fault carries if it was cut off: there is no other place for
    /// what the model has written.
    pub const CUT: usize = 20_000;

    /// Characters of a path that a fault carries.
    const PATH: usize = 200;

    /// The feedback to the model. It is a few thousand characters at most, for any
    /// reply; quotations of the reply are shortened and stay on one line.
    ///
    /// Text alone is asked for once more in the right form, without a word of a mistake: a small
    /// model takes that for a mistake in what it said, and gives it as its reason.
    ///
    /// ```
    /// # use antiphon_core::reply::{UnreadableReply, Violation};
    /// let error = Violation {
    ///     path: "/score".into(),
    ///     expected: "a whole number".into(),
    ///     found: "\"high\"".into(),
    /// };
    /// let reply = UnreadableReply { errors: vec![error], ..UnreadableReply::default() };
    /// let feedback = reply.feedback();
    /// assert!(feedback.contains("1. `/score`: expected a whole number, found \"high\""));
    /// ```
    pub fn feedback(&self) -> String {
        if self.is_cut {
            return "Your last reply was cut off at the limit of tokens before its end. Give the \
                    whole answer again, much shorter, as one JSON value and nothing else: no \
                    explanation, no code fence."
                .to_owned();
        }
        if let (true, [Violation { expected, .. }]) = (self.is_text, &*self.errors) {
            return format!(
                "Now give this in the form that was asked for: {expected} and nothing else, no \
                 explanation, no code fence."
            );
        }
        let mut text = format!(
            "Your last reply could not be used. {} in it did not match what was asked for:\n",
            count(self.errors.len(), "thing"),
        );
        text.push_str(&self.listed("reply"));
        text.push_str(
            "Paths are JSON pointers into your reply. Give the whole answer again, corrected, \
             as one JSON value and nothing else: no explanation, no code fence.",
        );
        text
    }

    /// What to tell the model whose arguments for a tool these are, so that it calls again.
    pub fn argument_feedback(&self, tool: &str) -> String {
        format!(
            "{}Paths are JSON pointers into the arguments. Call {tool:?} again, with corrected \
             arguments.",
            self.listed("object"),
        )
    }

    /// The failure of a tool that code called with these arguments: category `validation`, code
    /// `invalid_value`, with `tool`, the `path` of the first violation, and `errors` as details.
    pub fn into_argument_fault(self, tool: &str) -> Fault {
        let sentence = self.errors.first().map(|error| error.sentence("object"));
        let sentence = sentence.unwrap_or_else(|| "the object does not fit the schema".to_owned());
        let path = self.errors.first().map_or("", |error| &error.path);
        Fault::new(
            FaultCode::InvalidValue,
            format!("the arguments of tool `{tool}` do not fit: {sentence}"),
        )
        .with("tool", tool)
        .with("path", short(path, Self::PATH))
        .with("errors", self.listed_errors())
    }

    fn listed_errors(&self) -> Vec<Json> {
        let shown = self.errors.iter().take(Self::SHOWN);
        let listed = |error: &Violation| json!({"path": short(&error.path, Self::PATH), "expected": error.expected, "found": error.found});
        shown.map(listed).collect()
    }

    /// The first violations, one a line; `whole` is what the value itself is called.
    fn listed(&self, whole: &str) -> String {
        let mut text = String::new();
        for (index, error) in self.errors.iter().take(Self::SHOWN).enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}. {}", index + 1, error.sentence(whole));
        }
        let hidden = self.errors.len().saturating_sub(Self::SHOWN);
        if hidden > 0 {
            let _ = writeln!(text, "and {hidden} more of this kind.");
        }
        text
    }

    /// The failure for a node whose model is not asked again: category
    /// `model_output`, code `model_output_invalid`, with `raw` (shortened) and
    /// `errors` as details, and `finish` if the limit of tokens cut it off.
    pub fn into_fault(self) -> Fault {
        let errors = self.listed_errors();
        let shown = if self.is_cut { Self::CUT } else { Self::RAW };
        let fault = Fault::new(FaultCode::ModelOutputInvalid, self.to_string())
            .with("raw", short(&self.raw, shown))
            .with("errors", errors);
        if self.is_cut {
            return fault
                .with("finish", json!(FinishReason::Length))
                .hint("raise `max_output_tokens`, or ask for a shorter answer");
        }
        fault
    }
}

impl fmt::Display for UnreadableReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.first() {
            _ if self.is_cut => {
                f.write_str("the limit of tokens cut off the model's reply before its end")
            }
            Some(Violation { path, expected, found }) if path.is_empty() => {
                write!(f, "the model's reply should be {expected} but is: {found}")
            }
            Some(error) => {
                let (place, wanted) = (error.path_for_reader("reply"), &error.expected);
                write!(
                    f,
                    "the model's reply should have {wanted} at {place} but has: {}",
                    error.found
                )
            }
            None => f.write_str("the model's reply does not fit its schema"),
        }
    }
}

impl std::error::Error for UnreadableReply {}
