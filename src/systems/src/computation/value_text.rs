//! Results and faults of code as text that a model reads.

use std::fmt::Write as _;

use antiphon_runtime::sandbox::{GuestFault, JobOutcome};
use serde_json::Value as Json;

use super::task::RESULT;

/// The first `room` characters; says how many are missing.
pub(super) fn cut(text: &str, room: usize) -> String {
    let whole = text.chars().count();
    if whole <= room {
        return text.to_owned();
    }
    let head: String = text.chars().take(room).collect();
    format!("{head}\n... {} more characters", whole - room)
}

/// The result as plainly as a value can be shown: of `result`, else of the
/// last expression.
pub(super) fn value(outcome: &JobOutcome) -> Option<String> {
    let value = outcome.locals.get(RESULT).or(outcome.value.as_ref())?;
    Some(match value {
        Json::String(text) => text.clone(),
        Json::Object(fields) if fields.get("$").is_some() => {
            let plain = fields.get("repr").or_else(|| fields.get("v"));
            plain.map_or_else(
                || value.to_string(),
                |plain| plain.as_str().map_or_else(|| plain.to_string(), str::to_owned),
            )
        }
        other => other.to_string(),
    })
}

/// What went wrong, where, and in which line.
pub(super) fn fault_text(fault: &GuestFault) -> String {
    let mut text = String::new();
    if let Some(exception) = &fault.exception {
        let _ = write!(text, "{exception}: ");
    }
    let _ = write!(text, "{}", fault.message);
    if let Some(line) = fault.line {
        let _ = write!(text, "\nin line {line}");
        if let Some(source) = &fault.source {
            let _ = write!(text, ": {}", source.trim());
        }
    }
    let _ = write!(text, "\n({})", fault.kind);
    text
}
