//! What tags may cost that do not end: html5ever compares each attribute with all before it.

/// How many comparisons a page has taken at most.
#[derive(Debug, Default)]
pub(crate) struct AttributeBudget {
    /// What ends or begins an attribute, since the tree was last changed.
    separators: u64,
    comparisons: u64,
}

impl AttributeBudget {
    /// One tag of 30,000 attributes, or one attribute of as many words.
    const MAX_COMPARISONS: u64 = 500_000_000;

    /// Counts a part that was parsed, and returns whether another may be. Only within a tag or a
    /// comment does a part not change the tree.
    pub(crate) fn allows_more_after(&mut self, part: &str, changed: bool) -> bool {
        if changed {
            self.separators = 0;
        }
        let separates = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'".contains(byte);
        let here = part.bytes().filter(separates).count() as u64;
        self.comparisons = self.comparisons.saturating_add(self.separators.saturating_mul(here));
        self.separators = self.separators.saturating_add(here);
        self.comparisons <= Self::MAX_COMPARISONS
    }
}
