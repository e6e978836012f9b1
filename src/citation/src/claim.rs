//! The claims of a report: its sentences with citations, and those that need one.

use antiphon_figures::quantities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{BlockKind, blocks};
use crate::compose::{CitedMarker, ComposedText};
use crate::confidence::ConfidenceLevel;
use crate::marker::{brackets, words_end};
use crate::numeral::states_number;
use crate::numeric::NumericVerification;
use crate::quotation::{is_block_quote, quotations};
use crate::sentence::sentences;
use crate::settings::GenerationMode;
use crate::span::TextSpan;
use crate::verdict::Verdict;

/// A statement of a report, with what is known of it. Its id stays the same through all stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Claim {
    /// Names it in this run.
    pub id: String,
    /// The sentence without citations.
    pub text: String,
    /// The sentence as it stands in the report.
    pub sentence: String,
    /// Where it stands in the report, in bytes; none once it was removed.
    pub span: Option<TextSpan>,
    /// Whether it states a quantity.
    pub is_numeric: bool,
    /// The keys that it cites, in order.
    pub keys: Vec<String>,
    /// The evidence that it cites, in order.
    pub evidence: Vec<String>,
    /// How carefully it is checked.
    pub confidence: ConfidenceLevel,
    /// From 0 to 1.
    pub confidence_score: f64,
    /// What its evidence says about it; none if that was not asked.
    pub verdict: Option<Verdict>,
    /// Why.
    pub reasoning: String,
    /// What else was found wrong.
    pub issues: Vec<String>,
    /// Whether there was nothing to judge it by.
    pub is_abstained: bool,
    /// Whether it had no citation when it was written.
    pub is_free: bool,
    /// How many citations of nothing it was written with.
    pub unknown_citations: usize,
    /// Its numbers, compared with those of its evidence.
    pub numbers: Vec<NumericVerification>,
    /// How its sentence was changed.
    pub revision: Option<RevisionRecord>,
}

/// How a sentence was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionRecord {
    /// How many of its facts were verified.
    pub kind: RevisionKind,
    /// The sentence before.
    pub before: String,
    /// The sentence after; empty if it was removed.
    pub after: String,
    /// The facts that it was taken apart into.
    pub facts: usize,
    /// Those that were verified.
    pub verified: usize,
}

/// How many of the facts of a claim were verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevisionKind {
    /// All of them.
    FullyVerified,
    /// Some.
    PartiallySoftened,
    /// None.
    FullySoftened,
    /// It was removed.
    Removed,
}

impl Claim {
    /// Whether it stands in the report.
    pub const fn is_delivered(&self) -> bool {
        self.span.is_some()
    }

    /// Takes over a sentence, its text and whether it is numeric.
    pub(crate) fn set_sentence(&mut self, sentence: &str, known: &dyn Fn(&str) -> bool) {
        self.text = bare(sentence, known);
        self.is_numeric = !quantities(&self.text).is_empty();
        sentence.clone_into(&mut self.sentence);
    }
}

/// A sentence without the citations of known keys.
pub(crate) fn bare(sentence: &str, known: &dyn Fn(&str) -> bool) -> String {
    let mut text = sentence.to_owned();
    for bracket in brackets(sentence).into_iter().rev().filter(|it| known(&it.label)) {
        let before = text.get(..bracket.span.start).unwrap_or_default();
        let start = words_end(before);
        let follows = text.get(bracket.span.end..).unwrap_or_default();
        let glues = follows.starts_with(|sign: char| sign.is_alphanumeric() || sign == '|');
        text.replace_range(start..bracket.span.end, if glues { " " } else { "" });
    }
    text.trim().to_owned()
}

/// Takes the claims out of a report.
pub(crate) fn claims(report: &ComposedText, mode: GenerationMode, most: usize) -> Vec<Claim> {
    let ComposedText { text, markers: citations, .. } = report;
    let mut found = Vec::new();
    for span in statements(text) {
        let own: Vec<&CitedMarker> =
            citations.iter().filter(|marker| span.holds(marker.span)).collect();
        let Some(sentence) = span.of(text) else { continue };
        let known = |label: &str| citations.iter().any(|marker| marker.key == label);
        let mut claim = Claim { span: Some(span), ..Claim::default() };
        claim.set_sentence(sentence, &known);
        claim.unknown_citations = report.unknown_citations(span);
        let needs_one = states_number(&claim.text)
            || claim.unknown_citations > 0
            || !quotations(&claim.text).is_empty()
            || is_block_quote(text, span, &claim.text)
            || mode == GenerationMode::Strict && is_factual(&claim.text);
        if own.is_empty() && !needs_one || claim.text.is_empty() {
            continue;
        }
        claim.is_free = own.is_empty();
        for marker in own {
            add(&mut claim.keys, &marker.key);
            marker.evidence.iter().for_each(|id| add(&mut claim.evidence, id));
        }
        claim.id = format!("c{}", found.len() + 1);
        found.push(claim);
        if found.len() == most {
            break;
        }
    }
    found
}

fn add(list: &mut Vec<String>, item: &str) {
    if !list.iter().any(|own| own == item) {
        list.push(item.to_owned());
    }
}

/// The sentences of a report, its items and the rows of its tables; headings and code are none.
pub(crate) fn statements(text: &str) -> Vec<TextSpan> {
    let mut found = Vec::new();
    for block in blocks(text) {
        match block.kind {
            BlockKind::Heading(_) | BlockKind::Code | BlockKind::TableHead => {}
            BlockKind::TableRow => found.push(block.content),
            BlockKind::Paragraph | BlockKind::Item => {
                let content = block.content.of(text).unwrap_or_default();
                let start = block.content.start;
                let own = sentences(content).into_iter();
                found.extend(own.map(|it| TextSpan::new(start + it.start, start + it.end)));
            }
        }
    }
    found
}

/// Whether a sentence states something, as far as its form tells.
pub(crate) fn is_factual(sentence: &str) -> bool {
    const OPENERS: [&str; 8] = [
        "this report",
        "this section",
        "the following",
        "in summary",
        "overall",
        "below",
        "see ",
        "next,",
    ];
    let lower = sentence.to_lowercase();
    let has_words = sentence.split_whitespace().count() >= 5;
    let announces = sentence.trim_end().ends_with(':');
    has_words
        && !announces
        && !asks(sentence)
        && !OPENERS.iter().any(|opener| lower.starts_with(opener))
}

/// Whether a sentence is a question.
pub(crate) fn asks(sentence: &str) -> bool {
    sentence.trim_end().ends_with(['?', '？'])
}
