//! Any text of a model as a query of FTS5. Words reach the query language only within quotes and without quotes
//! in them, so that no text is a syntax error or means an operator.

use super::signs::is_sign;

/// The most terms of a query; further ones are ignored.
const MOST: usize = 24;

/// Words that nearly every text has.
const COMMON: [&str; 84] = [
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been",
    "but", "by", "can", "could", "did", "do", "does", "doing", "for", "from", "get", "give", "had",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "may", "me", "mean", "might",
    "much", "must", "my", "no", "of", "on", "one", "or", "our", "out", "please", "should", "so",
    "some", "such", "tell", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "was", "way", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "would", "you", "your", "explain",
];

/// A word, or words that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryTerm {
    pub(super) words: Vec<String>,
    /// Whether the last word may go on.
    pub(super) prefix: bool,
    /// Whether the words must follow each other: they stood in quotes.
    pub(super) quoted: bool,
}

impl QueryTerm {
    /// The term in the query language.
    pub(super) fn expression(&self) -> String {
        format!("\"{}\"{}", self.words.join(" "), if self.prefix { " *" } else { "" })
    }

    fn is_common(&self) -> bool {
        !self.quoted
            && !self.prefix
            && matches!(self.words.as_slice(), [word] if COMMON.contains(&word.as_str()))
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedQuery {
    /// Words and phrases in scripts with spaces.
    pub(super) terms: Vec<QueryTerm>,
    /// Runs of characters in scripts without.
    pub(super) signs: Vec<QueryTerm>,
}

impl ParsedQuery {
    /// Reads any text: words, `"words that follow each other"`, `begin*`. Words of names such as
    /// `os.path.join` follow each other. Very common words are left out, unless there are no others.
    pub(super) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        let straight: String = text
            .chars()
            .map(|c| if matches!(c, '“' | '”' | '„' | '«' | '»') { '"' } else { c })
            .collect();
        for (index, part) in straight.split('"').enumerate() {
            // Every second part stood within quotes.
            if index % 2 == 1 {
                query.push(part, true);
            } else {
                part.split_whitespace().for_each(|word| query.push(word, false));
            }
        }
        if query.terms.iter().any(|term| !term.is_common()) || !query.signs.is_empty() {
            query.terms.retain(|term| !term.is_common());
        }
        query.terms.truncate(MOST);
        query.signs.truncate(MOST);
        query
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.signs.is_empty()
    }

    fn push(&mut self, text: &str, quoted: bool) {
        let prefix = !quoted && text.ends_with('*');
        let mut words: Vec<String> = Vec::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            for run in runs(word) {
                if run.starts_with(is_sign) {
                    let words = run.chars().map(String::from).collect();
                    add(&mut self.signs, QueryTerm { words, prefix: false, quoted: true });
                } else {
                    words.push(run.to_lowercase());
                }
            }
        }
        words.truncate(MOST);
        if !words.is_empty() {
            add(&mut self.terms, QueryTerm { words, prefix, quoted });
        }
    }
}

fn add(terms: &mut Vec<QueryTerm>, term: QueryTerm) {
    if !terms.contains(&term) {
        terms.push(term);
    }
}

/// Divides a word where signs begin or end.
fn runs(word: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut signs = word.starts_with(is_sign);
    for (byte, character) in word.char_indices() {
        if is_sign(character) != signs {
            runs.extend(word.get(start..byte));
            (start, signs) = (byte, !signs);
        }
    }
    runs.extend(word.get(start..).filter(|run| !run.is_empty()));
    runs
}
