//! The endpoints that fit a question best, by the words that they share.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue::{ApiCatalogue, ApiEndpoint, ApiSnippet};

/// How words are weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoringMode {
    /// Each word of an endpoint counts as often as the question contains it.
    #[default]
    Count,
    /// Okapi BM25: rare words count more, and long descriptions less.
    Bm25,
}

impl ApiCatalogue {
    /// The `most` endpoints that fit a question best, the best first; the first ones of the
    /// catalogue if no word fits. Equal scores keep the order of the catalogue.
    pub fn candidates(&self, question: &str, most: usize, mode: ScoringMode) -> Vec<&ApiEndpoint> {
        let texts = self.endpoints.iter().map(|endpoint| {
            let ApiEndpoint { title, method, path, description, .. } = endpoint;
            tokens(&format!("{title} {method} {path} {description}"))
        });
        let best = ranked(&tokens(question), &texts.collect::<Vec<_>>(), mode);
        if best.is_empty() {
            return self.endpoints.iter().take(most).collect();
        }
        best.into_iter().take(most).filter_map(|index| self.endpoints.get(index)).collect()
    }

    /// The texts that fit a question best; none if no word fits.
    pub fn matching_snippets(
        &self,
        question: &str,
        most: usize,
        mode: ScoringMode,
    ) -> Vec<&ApiSnippet> {
        let texts = self
            .snippets
            .iter()
            .map(|snippet| tokens(&format!("{} {}", snippet.title, snippet.content)));
        let best = ranked(&tokens(question), &texts.collect::<Vec<_>>(), mode);
        best.into_iter().take(most).filter_map(|index| self.snippets.get(index)).collect()
    }
}

/// Maximal runs of letters and digits, in lower case.
fn tokens(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The texts with a score above zero, the best first.
fn ranked(question: &[String], texts: &[Vec<String>], mode: ScoringMode) -> Vec<usize> {
    let asked = counts(question);
    let rarity = Rarity::of(texts);
    let scores = texts.iter().map(|text| match mode {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        ScoringMode::Count => {
            text.iter().filter_map(|word| asked.get(word.as_str())).sum::<usize>() as f64
        }
        ScoringMode::Bm25 => rarity.bm25(&asked, text),
    });
    let mut scored: Vec<(usize, f64)> =
        scores.enumerate().filter(|(_, score)| *score > 0.0).collect();
    // The sort is stable: equal scores keep their order.
    scored.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    scored.into_iter().map(|(index, _)| index).collect()
}

fn counts(words: &[String]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(word.as_str()).or_default() += 1;
    }
    counts
}

/// In how many texts each word occurs.
struct Rarity {
    texts: usize,
    mean_length: f64,
    texts_with: HashMap<String, usize>,
}

#[expect(clippy::cast_precision_loss, reason = "counts of words, far below 2^52")]
impl Rarity {
    /// The customary constants of BM25.
    const SATURATION: f64 = 1.2;
    const LENGTH: f64 = 0.75;

    fn of(texts: &[Vec<String>]) -> Self {
        let mut texts_with: HashMap<String, usize> = HashMap::new();
        for text in texts {
            let mut words: Vec<_> = text.iter().collect();
            words.sort();
            words.dedup();
            for word in words {
                *texts_with.entry(word.clone()).or_default() += 1;
            }
        }
        let words: usize = texts.iter().map(Vec::len).sum();
        let mean_length = words as f64 / texts.len().max(1) as f64;
        Self { texts: texts.len(), mean_length: mean_length.max(1.0), texts_with }
    }

    fn bm25(&self, asked: &HashMap<&str, usize>, text: &[String]) -> f64 {
        let length = text.len() as f64 / self.mean_length;
        let norm = Self::SATURATION * (1.0 - Self::LENGTH + Self::LENGTH * length);
        let mut found: Vec<(&str, usize)> = counts(text).into_iter().collect();
        // In a fixed order, because sums of floating-point numbers depend on it.
        found.sort_unstable();
        let score = |(word, times): (&str, usize)| {
            let wanted = *asked.get(word)? as f64;
            let with = self.texts_with.get(word).copied().unwrap_or_default() as f64;
            let rarity = (1.0 + (self.texts as f64 - with + 0.5) / (with + 0.5)).ln();
            let times = times as f64;
            Some(wanted * rarity * times * (Self::SATURATION + 1.0) / (times + norm))
        };
        found.into_iter().filter_map(score).sum()
    }
}
