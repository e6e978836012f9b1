//! Why a call has failed, without secrets, and what can be done about it.

use std::time::Duration;

use antiphon_core::Fault;

use super::CallAttempt;
use crate::http_api::fault;

/// How much of an error reply is told, in characters.
const ERROR_CHARACTERS: usize = 1_000;

impl CallAttempt<'_> {
    pub(super) fn failure(&self, status: u16, said: &str, asked: Option<Duration>) -> Fault {
        let id = self.endpoint.id();
        let said = self.excerpt(said);
        let mut fault = match status {
            401 | 403 => fault::unauthorized(&id, status, &said),
            429 | 500.. => fault::server_failed(&id, status, &said),
            _ => fault::rejected(&id, status, &said, self.advice()),
        };
        if let Some(asked) = asked {
            fault = fault.retry_after(asked);
        }
        fault
    }

    /// A fault with what led to it.
    pub(super) fn explained(&self, mut fault: Fault) -> Fault {
        if self.requests > 0 {
            fault = fault.with("requests", self.requests).with("url", self.url.as_str());
        }
        if self.notes.is_empty() { fault } else { fault.with("notes", self.notes.clone()) }
    }

    /// What the model can change in its next call.
    fn advice(&self) -> String {
        let declared = self.endpoint.parameters.iter().map(|parameter| {
            let mark = if parameter.required { " (required)" } else { "" };
            format!("{}{mark}", parameter.name)
        });
        let declared: Vec<_> = declared.take(30).collect();
        if declared.is_empty() {
            return "change the call as the server's message says, or choose another endpoint"
                .to_owned();
        }
        format!(
            "change the parameters as the server's message says; declared are {}",
            declared.join(", ")
        )
    }

    /// The beginning of what a server says, in one line and without secrets.
    fn excerpt(&self, said: &str) -> String {
        let cleaned = self.redactor().clean(said);
        let words: Vec<_> = cleaned.split_whitespace().collect();
        let line: String =
            words.join(" ").chars().filter(|c| !c.is_control()).take(ERROR_CHARACTERS).collect();
        if line.is_empty() { "no message".to_owned() } else { line }
    }

    pub(super) fn clean(&self, mut fault: Fault) -> Fault {
        fault.message = self.redactor().clean(&fault.message);
        fault
    }
}
