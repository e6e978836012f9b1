//! Whether a citation fits its claim, and which would fit better.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::settings::CitationSettings;
use crate::verdict::Verdict;
use crate::word::{content_words, jaccard, names, share, words};

/// What becomes of the citations of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CorrectionAction {
    /// They stay.
    Keep,
    /// Other evidence takes their place, by its index.
    Replace(usize),
    /// More evidence stands beside them, by its indices.
    AddAlternate(Vec<usize>),
    /// There were none, and this evidence fits, by its index.
    Add(usize),
    /// They go.
    Remove,
}

/// A citation that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectionRecord {
    /// The claim.
    pub claim: String,
    /// `replace`, `add_alternate`, `add` or `remove`.
    pub kind: String,
    /// The evidence that was cited.
    pub before: Vec<String>,
    /// The evidence that is cited.
    pub after: Vec<String>,
}

/// How well a passage fits a claim, from 0 to 1: the share of its key words that the passage has,
/// and the words that both have in common.
pub fn citation_score(claim: &str, passage: &str, keyword_weight: f64) -> f64 {
    let (own, their) = (content_words(claim), content_words(passage));
    let mut keys = names(claim);
    for word in words(claim) {
        let is_number = word.text.chars().any(|sign| sign.is_ascii_digit());
        let is_long =
            word.text.chars().count() >= 5 || word.text.chars().any(crate::word::is_ideograph);
        let stem = crate::word::stem(word.text);
        if is_number || is_long && own.contains(&stem) {
            keys.insert(stem);
        }
    }
    let keyword = if keys.is_empty() { share(&own, &their) } else { share(&keys, &their) };
    keyword_weight * keyword + (1.0 - keyword_weight) * jaccard(&own, &their)
}

/// Whether the words of a claim are in its evidence, as far as code can see.
pub(crate) fn entails_by_words(claim: &str, quotes: &[&str]) -> bool {
    share(&content_words(claim), &content_words(&quotes.join(" "))) >= 0.5
}

/// Scores that differ by less say nothing.
const CLOSE: f64 = 0.1;
/// The most evidence that an arbiter chooses from.
const OPTIONS: usize = 5;

/// The evidence that an arbiter chooses from, that of the claim first, if the scores leave open
/// which one the claim should cite; none if they decide.
pub(crate) fn open_options(
    claim: &str,
    verdict: Verdict,
    current: &[usize],
    pool: &[Evidence],
    settings: &CitationSettings,
) -> Option<Vec<usize>> {
    let scores: Vec<f64> =
        pool.iter().map(|one| citation_score(claim, &one.quote, settings.keyword_weight)).collect();
    let score = |index: &usize| scores.get(*index).copied().unwrap_or_default();
    let own = current.iter().map(score).fold(0.0, f64::max);
    let mut others: Vec<usize> =
        (0..pool.len()).filter(|it| !current.contains(it) && score(it) > 0.0).collect();
    others.sort_by(|left, right| score(right).total_cmp(&score(left)).then(left.cmp(right)));
    let best = others.first().map_or(0.0, score);
    let next = others.get(1).map_or(0.0, score).max(own);
    let is_good = verdict == Verdict::Supported && own >= settings.citation_threshold;
    let is_clear = best >= settings.citation_threshold && best - next >= CLOSE;
    if is_good || is_clear || others.is_empty() {
        return None;
    }
    let kept = current.iter().copied().take(OPTIONS - 1);
    Some(kept.chain(others).take(OPTIONS).collect())
}

/// Decides about a claim without a citation: it gets the evidence that fits best, if that fits
/// well enough alone. Of two pieces together each word and number would soon stand somewhere.
pub(crate) fn decide_uncited(
    claim: &str,
    pool: &[Evidence],
    settings: &CitationSettings,
) -> CorrectionAction {
    let scores = pool
        .iter()
        .enumerate()
        .map(|(index, one)| (citation_score(claim, &one.quote, settings.keyword_weight), index));
    // Of equals the first one.
    let best = scores.max_by(|left, right| left.0.total_cmp(&right.0).then(right.1.cmp(&left.1)));
    match best.filter(|(score, _)| *score >= settings.citation_threshold) {
        Some((_, index)) => CorrectionAction::Add(index),
        None => CorrectionAction::Keep,
    }
}

/// Decides about the citations of a claim by the scores of all evidence.
pub(crate) fn decide(
    claim: &str,
    verdict: Verdict,
    current: &[usize],
    pool: &[Evidence],
    settings: &CitationSettings,
) -> CorrectionAction {
    let threshold = settings.citation_threshold;
    let scores: Vec<f64> =
        pool.iter().map(|one| citation_score(claim, &one.quote, settings.keyword_weight)).collect();
    let score = |index: &usize| scores.get(*index).copied().unwrap_or_default();
    let own = current.iter().map(score).fold(0.0, f64::max);
    if verdict == Verdict::Supported && own >= threshold {
        return CorrectionAction::Keep;
    }
    let mut others: Vec<usize> = (0..pool.len()).filter(|index| !current.contains(index)).collect();
    others.sort_by(|left, right| score(right).total_cmp(&score(left)).then(left.cmp(right)));
    let best = others.first().copied();
    let best_score = best.as_ref().map_or(0.0, score);
    if let Some(best) = best.filter(|_| best_score > own && best_score >= threshold) {
        return CorrectionAction::Replace(best);
    }
    if own >= 0.6 * threshold {
        let near = others.iter().filter(|index| score(index) >= 0.8 * threshold);
        let near: Vec<usize> = near.take(2).copied().collect();
        return if near.is_empty() {
            CorrectionAction::Keep
        } else {
            CorrectionAction::AddAlternate(near)
        };
    }
    // Below the threshold the verdict of the verification decides.
    match best.filter(|_| best_score > own && best_score > 0.0) {
        Some(best) => CorrectionAction::Replace(best),
        None if own > 0.0 && verdict > Verdict::Unsupported => CorrectionAction::Keep,
        None => CorrectionAction::Remove,
    }
}
