//! The report while a model writes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_citation::sentences;
use antiphon_core::event::{Event, EventKind};
use antiphon_runtime::Watcher;
use serde_json::Value as Json;

use super::next_node::NextNode;
use crate::citation::role::REPORTER;
use crate::reply::beginning;

/// The beginning of a report, as it was shown. Replies come in pieces only if somebody watches.
#[derive(Debug, Default)]
pub(super) struct ReportDraft(Mutex<String>);

impl ReportDraft {
    /// What is written up to its last whole sentence.
    pub(super) fn text(&self) -> Option<String> {
        let raw = self.written().clone();
        whole_beginning(&raw, "report")
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

/// What a field of a reply holds up to its last whole sentence: a number that is cut off is another
/// number.
pub(super) fn whole_beginning(raw: &str, field: &str) -> Option<String> {
    let text = beginning(raw, field)?;
    let whole = whole_sentences(&text).trim();
    (!whole.is_empty()).then(|| whole.to_owned())
}

/// A text up to the end of its last sentence or line that something follows.
fn whole_sentences(text: &str) -> &str {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let sentence = sentences(text).iter().rev().nth(1).map_or(0, |span| span.end);
    text.get(..line.max(sentence)).unwrap_or_default()
}
