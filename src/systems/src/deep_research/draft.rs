//! The report while a model writes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_citation::sentences;
use antiphon_core::Schema;
use antiphon_core::event::{Event, EventKind};
use antiphon_core::reply::ReplyParser;
use antiphon_reply::CompiledSchema;
use antiphon_runtime::Watcher;
use serde_json::{Value as Json, json};

use super::next_node::NextNode;
use crate::citation::role::REPORTER;
use crate::reply::{object, text};

/// The beginning of a report, as it was shown. Replies come in pieces only if somebody watches.
#[derive(Debug, Default)]
pub(super) struct ReportDraft(Mutex<String>);

impl ReportDraft {
    /// What is written up to its last whole sentence: a number that is cut off is another number.
    pub(super) fn text(&self) -> Option<String> {
        let raw = self.written().clone();
        let schema = Schema::new("report", object(&json!({"report": text()})));
        let parser = CompiledSchema::compile(&schema).ok()?;
        let read = parser.parse_text(&raw, false).ok().map(|reply| reply.value);
        let report = read.as_ref().and_then(|value| value.get("report")?.as_str());
        let is_json = raw.trim_start().starts_with(['{', '[', '`']);
        let report = report.or_else(|| Some(raw.as_str()).filter(|_| !is_json))?;
        let whole = whole_sentences(report).trim();
        (!whole.is_empty()).then(|| whole.to_owned())
    }

    /// Whether anything was shown of a report that has not come.
    pub(super) fn is_shown(&self) -> bool {
        !self.written().is_empty()
    }

    fn written(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for ReportDraft {
    fn see(&self, event: &Arc<Event>) {
        let writes = [NextNode::Write.as_str(), REPORTER.name];
        // A task that was sent has a number behind the name of its node.
        let node = |step: &Arc<str>| step.split('#').next().is_some_and(|it| writes.contains(&it));
        if !event.path.iter().any(node) {
            return;
        }
        match event.kind {
            EventKind::ModelCall | EventKind::ModelReply => self.written().clear(),
            EventKind::Chunk => {
                let piece = event.data.get("text").and_then(Json::as_str).unwrap_or_default();
                self.written().push_str(piece);
            }
            _ => {}
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

/// A text up to the end of its last sentence or line that something follows.
fn whole_sentences(text: &str) -> &str {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let sentence = sentences(text).iter().rev().nth(1).map_or(0, |span| span.end);
    text.get(..line.max(sentence)).unwrap_or_default()
}
