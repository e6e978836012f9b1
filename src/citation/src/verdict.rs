//! Verdicts on claims.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What evidence says about a claim; the better the greater.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It refutes the claim.
    Contradicted,
    /// It does not support the claim.
    Unsupported,
    /// It supports parts of the claim.
    Partial,
    /// It entails the claim.
    Supported,
}

impl Verdict {
    /// The verdict in a text of a model.
    ///
    /// ```
    /// use antiphon_citation::Verdict;
    /// assert_eq!(Verdict::parse("partially supported"), Some(Verdict::Partial));
    /// assert_eq!(Verdict::parse("It is NOT supported."), Some(Verdict::Unsupported));
    /// assert_eq!(Verdict::parse("Supported"), Some(Verdict::Supported));
    /// assert_eq!(Verdict::parse("maybe"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        const WORDS: [(&str, Verdict); 9] = [
            ("contradict", Verdict::Contradicted),
            ("refute", Verdict::Contradicted),
            ("unsupported", Verdict::Unsupported),
            ("not supported", Verdict::Unsupported),
            ("not_supported", Verdict::Unsupported),
            ("isn't supported", Verdict::Unsupported),
            ("not enough", Verdict::Unsupported),
            ("partial", Verdict::Partial),
            ("supported", Verdict::Supported),
        ];
        let lower = text.to_lowercase();
        WORDS.iter().find(|(word, _)| lower.contains(word)).map(|(_, verdict)| *verdict)
    }

    /// The spelling in events and results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contradicted => "contradicted",
            Self::Unsupported => "unsupported",
            Self::Partial => "partial",
            Self::Supported => "supported",
        }
    }
}
