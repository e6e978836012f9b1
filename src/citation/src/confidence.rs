//! How certain a claim sounds and how close it is to its evidence: which check it needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hedge::finds;
use crate::word::words;

/// How carefully a claim is checked.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConfidenceLevel {
    /// Alone, with all its evidence.
    Low,
    /// As usual.
    #[default]
    Medium,
    /// Quickly.
    High,
}

const HIGH: &[&str] = &[
    "based on",
    "according to",
    "as reported by",
    "as reported in",
    "as stated by",
    "as stated in",
    "reported that",
    "reports that",
    "confirmed that",
    "confirms that",
    "confirm that",
    "demonstrated that",
    "demonstrates that",
    "demonstrate that",
    "indicates that",
    "indicated that",
    "indicate that",
    "showed that",
    "shows that",
    "show that",
    "stated that",
    "states that",
    "study found",
    "studies found",
    "data show",
    "data shows",
];
const LOW: &[&str] = &[
    "might",
    "may",
    "could",
    "probably",
    "possibly",
    "perhaps",
    "likely",
    "unlikely",
    "seem to",
    "seems to",
    "appear to",
    "appears to",
    "suggest that",
    "suggests that",
    "roughly",
    "around",
    "approximately",
    "estimated",
    "allegedly",
    "reportedly",
    "some say",
    "it is believed",
    "it is possible",
];
const STEP: f64 = 0.15;
const QUOTED: f64 = 0.3;

/// The score of a claim from 0 to 1, and its level.
///
/// ```
/// use antiphon_citation::{ConfidenceLevel, confidence};
/// let (score, level) = confidence("The Mayor came.", &[]);
/// assert_eq!((score, level), (0.5, ConfidenceLevel::Medium));
/// let (score, _) = confidence("It might probably rain.", &[]);
/// assert!((score - 0.2).abs() < 1e-9);
/// let quote = "the harvest of green tea failed";
/// let (score, level) = confidence("According to growers the green tea harvest failed.", &[quote]);
/// assert!(score >= 0.7 && level == ConfidenceLevel::High);
/// ```
pub fn confidence(claim: &str, quotes: &[&str]) -> (f64, ConfidenceLevel) {
    let mut score = 0.5;
    let is_number = |phrase: &str| {
        let lower = claim.to_lowercase();
        lower.match_indices(phrase).any(|(at, found)| {
            let rest = lower.get(at + found.len()..).unwrap_or_default().trim_start();
            rest.starts_with(|sign: char| sign.is_ascii_digit() || "€$£~".contains(sign))
        })
    };
    for phrase in HIGH {
        score += if finds(claim, phrase) { STEP } else { 0.0 };
    }
    for phrase in LOW {
        score -= if finds(claim, phrase) { STEP } else { 0.0 };
    }
    if finds(claim, "about") && is_number("about") {
        score -= STEP;
    }
    if is_quoted(claim, quotes) {
        score += QUOTED;
    }
    let score = f64::clamp(score, 0.0, 1.0);
    // Sums of tenths are not exact.
    let level = match score + 1e-9 {
        score if score >= 0.7 => ConfidenceLevel::High,
        score if score < 0.4 => ConfidenceLevel::Low,
        _ => ConfidenceLevel::Medium,
    };
    (score, level)
}

/// Whether more than half of the longer words of a claim are in its evidence.
fn is_quoted(claim: &str, quotes: &[&str]) -> bool {
    let evidence = quotes.join(" ").to_lowercase();
    let known: Vec<&str> = words(&evidence).into_iter().map(|word| word.text).collect();
    let long: Vec<String> = words(claim)
        .into_iter()
        .filter(|word| word.text.chars().count() >= 4)
        .map(|word| word.text.to_lowercase())
        .collect();
    let found = long.iter().filter(|word| known.contains(&word.as_str())).count();
    !long.is_empty() && found * 2 > long.len()
}
