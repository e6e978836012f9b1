//! The fields of a report in a caller's form: what each one says once the report was edited.

use serde::{Deserialize, Serialize};

use crate::claim::bare;
use crate::report::TextEdit;
use crate::span::TextSpan;

/// A text or a number of a value, and where it stands in the report that was laid out from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportField {
    /// Where it stands in the value, as a JSON pointer.
    pub pointer: String,
    /// What it is.
    pub kind: FieldKind,
    /// What stands before it in the report, such as `Price: `.
    pub label: String,
    /// What the report says of it at first, without label and citations.
    pub written: String,
    /// Where it stands in the report with its label; none if it does not, or was removed.
    pub span: Option<TextSpan>,
    /// Where the value lists its sources, as a JSON pointer.
    pub references: Option<String>,
}

/// What a field of a report is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A text that may be hedged.
    #[default]
    Text,
    /// A few words that name something, which no source has to state.
    Name,
    /// A number, which is right or is not given.
    Number,
    /// An address, which has to be that of a source.
    Address,
}

impl ReportField {
    /// What a report says of the field, without label and citations; none if that is nothing.
    pub(crate) fn read(&self, report: &str, known: &dyn Fn(&str) -> bool) -> Option<String> {
        let text = bare(self.span?.of(report)?, known);
        // The first letter of a label that follows a hedge is a small one.
        let mut label = self.label.chars();
        let first = label.next();
        let text = match text.split_once(label.as_str()).filter(|_| first.is_some()) {
            Some((hedge, rest)) => {
                let hedge: String = hedge.chars().take(hedge.chars().count().max(1) - 1).collect();
                format!("{hedge}{rest}")
            }
            None => text,
        };
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Keeps the place of the field in a report that is edited.
    pub(crate) fn shift(&mut self, edit: &TextEdit) {
        let Some(TextSpan { start, end }) = self.span else { return };
        let new_end = edit.span.start + edit.replacement.len();
        let moved = |at: usize| at - edit.span.end + new_end;
        let span = if edit.span.end <= start {
            TextSpan::new(moved(start), moved(end))
        } else if edit.span.start >= end {
            return;
        } else {
            let start = if edit.span.start < start { new_end } else { start };
            TextSpan::new(start, if edit.span.end <= end { moved(end) } else { new_end })
        };
        self.span = (span.start < span.end).then_some(span);
    }
}
