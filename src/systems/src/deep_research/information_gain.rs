//! Whether a step in which the model decides has found enough: the quality of pages, what each call
//! has brought, and when further calls are not worth their time.

use serde::{Deserialize, Serialize};

/// Characters from which on a page says enough to be good.
const LONG: usize = 1_000;
/// Words of a question that do not tell what it is about.
const STOP_WORDS: &[&str] = &[
    "about", "and", "are", "can", "did", "does", "for", "from", "has", "have", "how", "into",
    "its", "not", "that", "the", "their", "there", "these", "this", "was", "were", "what", "when",
    "where", "which", "who", "why", "will", "with", "would",
];
/// What pages say that cannot be read by everyone, or are not there.
const UNREADABLE: &[&str] = &[
    "404 not found",
    "access denied",
    "are you a robot",
    "create an account to continue",
    "enable javascript",
    "log in to continue",
    "page not found",
    "please subscribe",
    "sign in to continue",
    "sign in to read",
    "subscribe to continue",
    "subscribe to read",
    "subscribers only",
    "verify you are human",
];
/// How much of the beginning of a page tells that it is not one.
const BEGINNING: usize = 2_000;

/// The words of a question that tell what it is about, in lower case, each once.
pub fn query_terms(query: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in query.split(|sign: char| !sign.is_alphanumeric()) {
        let word = word.to_lowercase();
        let tells = word.chars().count() > 2 && !STOP_WORDS.contains(&word.as_str());
        if tells && !terms.contains(&word) {
            terms.push(word);
        }
    }
    terms
}

/// Whether a page is a good source: long enough, no page of a shop's door, and about the question.
pub fn is_good_source(text: &str, terms: &[String]) -> bool {
    let lower = text.to_lowercase();
    let beginning: String = lower.chars().take(BEGINNING).collect();
    let found = terms.iter().filter(|term| lower.contains(*term)).count();
    text.chars().count() >= LONG
        && !UNREADABLE.iter().any(|phrase| beginning.contains(phrase))
        && !is_navigation(text)
        && found >= terms.len().min(2)
}

/// Whether most lines of a page are links and labels.
fn is_navigation(text: &str) -> bool {
    const LINES: usize = 20;
    const WORDS: usize = 4;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let short = lines.iter().filter(|line| line.split_whitespace().count() <= WORDS).count();
    lines.len() >= LINES && short * 5 > lines.len() * 4
}

/// What a page has brought, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "texts are far shorter than 2^52 characters")]
pub fn page_gain(new_characters: usize, is_good: bool) -> f64 {
    let quality = if is_good { 0.5 } else { 0.0 };
    let amount =
        if new_characters > LONG { (new_characters as f64 / 10_000.0).min(0.5) } else { 0.0 };
    quality + amount
}

/// What a search has brought, from 0 to 0.3.
#[expect(clippy::cast_precision_loss, reason = "a search returns some tens of pages")]
pub fn search_gain(new_pages: usize) -> f64 {
    (new_pages as f64 * 0.1).min(0.3)
}

/// Why a step is concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All calls of the step were made.
    Budget,
    /// There are good sources, and further calls bring little.
    EnoughSources,
    /// The time for research is over.
    Deadline,
    /// The model asks for no further call.
    Concluded,
}

/// The calls of a step so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRecord {
    /// What each call has brought, in order. One that has failed has brought nothing.
    pub gains: Vec<f64>,
    /// The numbers of the good sources.
    pub good: Vec<usize>,
}

impl CallRecord {
    /// Calls that are left of a budget.
    pub fn left(&self, budget: usize) -> usize {
        budget.saturating_sub(self.gains.len())
    }

    /// Why no further call is made, if none is.
    pub fn stop(&self, budget: usize) -> Option<StopReason> {
        const LEAST: usize = 5;
        if self.left(budget) == 0 {
            return Some(StopReason::Budget);
        }
        if self.gains.len() < LEAST {
            return None;
        }
        let last = |count: usize| self.gains.iter().rev().take(count);
        let is_idle = self.good.len() >= 3 && last(5).all(|gain| *gain < 0.1);
        let is_full = self.good.len() >= 5 && last(3).sum::<f64>() < 0.3;
        (is_idle || is_full).then_some(StopReason::EnoughSources)
    }
}
