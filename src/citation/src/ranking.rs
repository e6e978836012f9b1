//! The passages that are closest to a text, by BM25.

use crate::word::{stem, words};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The scores of passages for a text, as parts of the score of the text itself; at most 1.
///
/// ```
/// use antiphon_citation::bm25;
/// let scores = bm25("green tea", &["Green tea is hot.", "Coffee is black."]);
/// assert!(scores[0] > 0.7 && scores[0] <= 1.0);
/// assert_eq!(scores[1], 0.0);
/// ```
#[expect(clippy::cast_precision_loss, reason = "passages have few words")]
pub fn bm25(query: &str, passages: &[&str]) -> Vec<f64> {
    let terms = |text: &str| -> Vec<String> {
        let all = words(text);
        all.iter()
            .filter(|it| !crate::word::is_stop_word(it.text))
            .map(|it| stem(it.text))
            .collect()
    };
    let documents: Vec<Vec<String>> = passages.iter().map(|passage| terms(passage)).collect();
    let mut wanted = terms(query);
    wanted.sort_unstable();
    wanted.dedup();
    let count = documents.len() as f64;
    let total: usize = documents.iter().map(Vec::len).sum();
    let average = (total as f64 / count.max(1.0)).max(1.0);
    let weights: Vec<f64> = wanted
        .iter()
        .map(|term| {
            let having = documents.iter().filter(|document| document.contains(term)).count() as f64;
            (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
        })
        .collect();
    let long = |document: &[String]| 1.0 - B + B * document.len() as f64 / average;
    let own = long(&wanted);
    let most: f64 = weights.iter().map(|weight| weight * (K1 + 1.0) / (1.0 + K1 * own)).sum();
    let score = |document: &Vec<String>| -> f64 {
        let length = long(document);
        let of = |(term, weight): (&String, &f64)| {
            let frequency = document.iter().filter(|own| *own == term).count() as f64;
            weight * frequency * (K1 + 1.0) / (frequency + K1 * length)
        };
        let sum: f64 = wanted.iter().zip(&weights).map(of).sum();
        if most > 0.0 { (sum / most).clamp(0.0, 1.0) } else { 0.0 }
    };
    documents.iter().map(score).collect()
}
