//! The questions that a thread waits with.

use antiphon_core::approval::Proposal;
use antiphon_core::excerpt::short;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Answers, ThreadContents};
use serde_json::{Value as Json, json};

/// Characters of a question that an error shows.
const SHOWN: usize = 200;

/// The answers, unless one is given and no question is open: it would be lost.
pub(super) fn open_question(answers: Answers, past: &ThreadContents) -> Result<Answers, Fault> {
    if matches!(answers, Answers::Only(_)) && past.recovered.questions().is_empty() {
        let message = "the run is not waiting for an answer";
        return Err(
            Fault::new(FaultCode::AnswerInvalid, message).hint("resume it without an answer")
        );
    }
    Ok(answers)
}

/// The fault of asking anew in a thread that waits for an answer: its question would be lost.
pub(super) fn waiting(thread: &str, past: &ThreadContents) -> Option<Fault> {
    let open = past.recovered.questions();
    let first = open.first().filter(|_| past.recovered.ended.is_none())?;
    let ids: Vec<&str> = open.iter().map(|question| question.id.as_str()).collect();
    let asked = shown(&first.value);
    let message = format!("the thread `{thread}` is waiting for an answer to: {asked}");
    let fault = Fault::new(FaultCode::ThreadPaused, message)
        .with("thread", thread)
        .with("questions", json!(ids))
        .hint(format!("answer it with `resume(\"{thread}\", answer)`, or ask in another thread"));
    Some(fault)
}

/// A question as an error names it.
fn shown(question: &Json) -> String {
    let text = match (Proposal::parse(question), question) {
        (Some(call), _) => format!("may `{}` be called with {}?", call.tool, call.arguments),
        (None, Json::String(text)) => text.clone(),
        (None, other) => other.to_string(),
    };
    short(&text, SHOWN)
}
