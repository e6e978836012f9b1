//! Positions in a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A range of a text in bytes, at boundaries of characters.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct TextSpan {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl TextSpan {
    /// From one position to another.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The text at the span; none if the text is too short or a character would be cut.
    pub fn of(self, text: &str) -> Option<&str> {
        text.get(self.start..self.end)
    }

    /// The same range counted in characters, as Python counts them.
    ///
    /// ```
    /// use antiphon_citation::TextSpan;
    /// let span = TextSpan::new(3, 5);
    /// assert_eq!(span.of("über"), Some("er"));
    /// assert_eq!(span.in_chars("über"), TextSpan::new(2, 4));
    /// ```
    #[must_use]
    pub fn in_chars(self, text: &str) -> Self {
        let chars = |until: usize| text.get(..until).map_or(0, |text| text.chars().count());
        Self { start: chars(self.start), end: chars(self.end) }
    }

    /// Whether the other one lies within.
    pub const fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether they have a byte in common.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Without white space at both ends.
    #[must_use]
    pub fn trimmed(self, text: &str) -> Self {
        let Some(own) = self.of(text) else { return self };
        let start = self.start + (own.len() - own.trim_start().len());
        let end = self.end - (own.len() - own.trim_end().len());
        Self { start, end: end.max(start) }
    }
}
