//! What is asked, and what it is asked of.

use std::collections::BTreeSet;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::sandbox::HostFunction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::base64_bytes::Base64Bytes;
use crate::system::SystemInput;

/// What the code assigns its result to.
pub(super) const RESULT: &str = "result";
/// What the code assigns rows to.
pub(super) const TABLE: &str = "table";

/// A question, and the data it is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Task {
    /// What is to be answered.
    pub question: String,
    /// What the model should know besides, such as today's date. No secrets:
    /// it is part of the prompt.
    pub facts: Map<String, Json>,
    /// Tagged values by the names that the code has for them.
    pub inputs: Map<String, Json>,
    /// Arrow IPC streams by the names that the code has for them.
    #[schemars(with = "Vec<(String, String)>")]
    pub tables: Vec<(String, Base64Bytes)>,
    /// Functions of the host that the code may call; `Session::host_calls` answers the calls.
    #[schemars(with = "Vec<Json>")]
    pub functions: Vec<HostFunction>,
}

impl Task {
    /// A question about nothing but itself.
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), ..Self::default() }
    }

    /// The names of the inputs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let tables = self.tables.iter().map(|(name, _)| name.as_str());
        self.inputs.keys().map(String::as_str).chain(tables)
    }
}

impl SystemInput for Task {
    fn check(&self) -> Result<(), Fault> {
        if self.question.trim().is_empty() {
            let blank = "the question is blank";
            return Err(Fault::new(FaultCode::QuestionBlank, blank));
        }
        let mut taken = BTreeSet::from([RESULT, TABLE]);
        for name in self.names() {
            if !is_name(name) {
                return Err(invalid(format!(
                    "the name of an input must be a valid Python variable name: {name}"
                )));
            }
            if !taken.insert(name) {
                return Err(invalid(format!("the name of an input is taken: {name}"))
                    .hint(format!("`{RESULT}` and `{TABLE}` are what the code assigns to")));
            }
        }
        Ok(())
    }

    fn attach(&mut self, attachments: Vec<(String, Vec<u8>)>) -> Result<(), Fault> {
        self.tables.extend(attachments.into_iter().map(|(name, bytes)| (name, Base64Bytes(bytes))));
        Ok(())
    }
}

impl From<&str> for Task {
    fn from(question: &str) -> Self {
        Self::new(question)
    }
}

/// Words of the language, and what looks like a part of it.
const RESERVED: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

fn is_name(name: &str) -> bool {
    let mut signs = name.chars();
    signs.next().is_some_and(|first| first.is_ascii_alphabetic())
        && signs.all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
        && !RESERVED.contains(&name)
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::SandboxInputInvalid, message)
}
