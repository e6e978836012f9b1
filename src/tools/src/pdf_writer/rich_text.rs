//! A text whose parts look different.

use std::ops::Range;
use std::rc::Rc;

/// How a part of a text differs from what surrounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Emphasis {
    Strong,
    Italic,
    Code,
    Struck,
    /// With the address that it leads to.
    Link(Rc<str>),
}

/// A text with its emphases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RichText {
    pub(super) text: String,
    pub(super) spans: Vec<(Range<usize>, Emphasis)>,
}

impl RichText {
    /// Adds a text without what is no text: control characters other than line breaks.
    pub(super) fn push(&mut self, text: &str) {
        self.text.extend(text.chars().filter(|c| *c == '\n' || !c.is_control()));
    }

    /// Adds a text that looks different.
    pub(super) fn push_as(&mut self, text: &str, emphasis: Emphasis) {
        let start = self.text.len();
        self.push(text);
        self.spans.push((start..self.text.len(), emphasis));
    }

    /// Removes white space at the end.
    pub(super) fn trim_end(&mut self) {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        for (range, _) in &mut self.spans {
            *range = range.start.min(end)..range.end.min(end);
        }
        self.spans.retain(|(range, _)| !range.is_empty());
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

impl From<&str> for RichText {
    fn from(text: &str) -> Self {
        let mut rich = Self::default();
        rich.push(text);
        rich
    }
}
