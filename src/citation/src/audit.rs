//! Whether a report keeps what is promised of every report. What does not hold is listed.

use std::collections::BTreeSet;

use antiphon_figures::{QuantityKind, StatedQuantity, quantities};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{BlockKind, blocks};
use crate::claim::{Claim, statements};
use crate::evidence::Evidence;
use crate::hedge::is_noted;
use crate::marker::{brackets, links};
use crate::model_order::InstructionFilter;
use crate::numeric::{NumberStatus, check_numbers};
use crate::quotation::{missing_quotations, missing_quotes};
use crate::report::CitedReport;
use crate::result::Reference;
use crate::sentence::sentences;
use crate::source::{CitedSource, PageOrigin};
use crate::verdict::Verdict;
use crate::word::{content_words, is_ideograph, share};

/// The least share of a claim's words that its evidence has.
pub(crate) const RELATED: f64 = 0.2;

/// The same of a sentence without a citation and a passage that may have its numbers.
const CLOSE: f64 = 0.5;

/// From which count on a heading states something.
const MANY: f64 = 100.0;

/// Something that is promised of every report.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuditRule {
    /// Evidence is what stands at its position in the stored page.
    EvidenceInPage,
    /// What is cited was fetched in this run, or the list of references says where it is from: it
    /// was known before, or is what a search has shown.
    SourceFetched,
    /// A claim stands where it says that it does.
    ClaimInReport,
    /// What looks like a citation is one, and has evidence.
    CitationKnown,
    /// A cited claim and its evidence speak of the same.
    CitationRelated,
    /// The numbers of a cited claim follow from its evidence.
    NumberSupported,
    /// A number without a citation stands in some evidence, or the sentence says that it is not
    /// confirmed.
    NumberKnown,
    /// What stands between quotation marks or in a block quote stands in a source that is cited.
    QuotationInPage,
    /// Links lead to sources of this run.
    LinkKnown,
    /// What is contradicted was not delivered.
    ContradictionRemoved,
    /// What pages say to language models was not delivered.
    InstructionRemoved,
}

/// A promise that a report does not keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditViolation {
    /// The promise.
    pub rule: AuditRule,
    /// The claim, the evidence or the text that breaks it.
    pub subject: String,
    /// What is wrong.
    pub detail: String,
}

/// Which promises a report does not keep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditReport {
    /// None if it keeps all.
    pub violations: Vec<AuditViolation>,
}

impl AuditReport {
    /// Whether the report keeps all promises.
    pub const fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}

/// What a report is checked with.
#[derive(Clone, Copy, Debug)]
pub struct AuditEvidence<'a> {
    /// The report and its claims.
    pub report: &'a CitedReport,
    /// All evidence.
    pub evidence: &'a [Evidence],
    /// All sources.
    pub sources: &'a [CitedSource],
    /// The keys of the sources that are cited.
    pub references: &'a [Reference],
    /// The question, whose numbers a report may repeat.
    pub question: &'a str,
}

/// Checks a report by code alone: what models have said counts for nothing.
pub fn audit(subject: &AuditEvidence<'_>) -> AuditReport {
    let mut auditor = Auditor { subject, violations: Vec::new() };
    auditor.evidence();
    auditor.marks();
    for claim in &subject.report.claims {
        auditor.claim(claim);
    }
    auditor.uncited();
    auditor.instructions();
    AuditReport { violations: auditor.violations }
}

struct Auditor<'a> {
    subject: &'a AuditEvidence<'a>,
    violations: Vec<AuditViolation>,
}

impl<'a> Auditor<'a> {
    fn breaks(&mut self, rule: AuditRule, subject: &str, detail: impl Into<String>) {
        let violation = AuditViolation { rule, subject: subject.to_owned(), detail: detail.into() };
        self.violations.push(violation);
    }

    fn evidence(&mut self) {
        for one in self.subject.evidence {
            let source = self.subject.sources.get(one.source);
            let stands = source.is_some_and(|source| match one.span {
                Some(span) => span.of(&source.text) == Some(&one.quote),
                None => one.is_snippet && source.snippet.contains(&one.quote),
            });
            if !stands {
                self.breaks(AuditRule::EvidenceInPage, &one.id, "the page does not say so there");
            }
        }
    }

    /// Brackets and links.
    fn marks(&mut self) {
        let text = &self.subject.report.text;
        for bracket in brackets(text) {
            let is_key = self.subject.references.iter().any(|it| it.key == bracket.label);
            let is_claimed = self.subject.report.claims.iter().any(|claim| {
                claim.span.is_some_and(|span| span.holds(bracket.span))
                    && claim.keys.contains(&bracket.label)
            });
            if !is_key || !is_claimed {
                let detail = "no claim with evidence has this citation";
                self.breaks(AuditRule::CitationKnown, &bracket.label, detail);
            }
        }
        for link in links(text) {
            if !self.subject.sources.iter().any(|source| source.url == link.url) {
                self.breaks(AuditRule::LinkKnown, &link.url, "the run knows no such page");
            }
        }
    }

    fn claim(&mut self, claim: &Claim) {
        let Some(span) = claim.span else { return };
        if span.of(&self.subject.report.text) != Some(&claim.sentence) {
            self.breaks(AuditRule::ClaimInReport, &claim.id, "another text stands there");
        }
        if claim.verdict == Some(Verdict::Contradicted) && !claim.sentence.contains("contradicted")
        {
            self.breaks(AuditRule::ContradictionRemoved, &claim.id, "its evidence refutes it");
        }
        if claim.keys.is_empty() {
            return;
        }
        let cited: Vec<&'a Evidence> = self.cited(claim);
        for key in &claim.keys {
            self.key(claim, key, &cited);
        }
        self.words(claim, &cited);
    }

    fn cited(&self, claim: &Claim) -> Vec<&'a Evidence> {
        let all = self.subject.evidence;
        claim.evidence.iter().filter_map(|id| all.iter().find(|one| one.id == *id)).collect()
    }

    fn key(&mut self, claim: &Claim, key: &str, cited: &[&Evidence]) {
        let reference = self.subject.references.iter().find(|it| it.key == *key);
        let source =
            reference.and_then(|it| self.subject.sources.iter().position(|s| s.url == it.url));
        let Some(source) = source else {
            self.breaks(
                AuditRule::CitationKnown,
                &claim.id,
                format!("no source has the key: {key}"),
            );
            return;
        };
        let own: Vec<_> = cited.iter().filter(|one| one.source == source).collect();
        if own.is_empty() {
            let detail = format!("no evidence stands behind the citation: {key}");
            self.breaks(AuditRule::CitationKnown, &claim.id, detail);
        }
        let origin = self.subject.sources.get(source).map(|it| it.origin).unwrap_or_default();
        let is_read = origin != PageOrigin::Found || own.iter().all(|one| one.is_snippet);
        if !is_read || reference.is_some_and(|it| it.origin != origin) {
            let detail = format!("the page was not fetched, and nothing says so: {key}");
            self.breaks(AuditRule::SourceFetched, &claim.id, detail);
        }
    }

    fn words(&mut self, claim: &Claim, cited: &[&Evidence]) {
        let quotes: Vec<&str> = cited.iter().map(|one| one.quote.as_str()).collect();
        let context = context(cited, self.subject.sources);
        let context: Vec<&str> = context.iter().map(String::as_str).collect();
        if !is_related(&claim.text, &quotes, &context) {
            let detail = "its words are not in its evidence";
            self.breaks(AuditRule::CitationRelated, &claim.id, detail);
        }
        for check in check_numbers(&claim.text, &quotes, &context) {
            let is_computed = claim.numbers.iter().any(|own| {
                own.status == NumberStatus::Computed
                    && own.normalized_claim == check.normalized_claim
            });
            if !check.status.is_match() && !is_computed {
                let detail = format!("its evidence does not say: {}", check.claim_value);
                self.breaks(AuditRule::NumberSupported, &claim.id, detail);
            }
        }
        let pages = cited.iter().filter_map(|one| self.subject.sources.get(one.source));
        let texts: Vec<&str> =
            pages.flat_map(|source| [source.text.as_str(), source.snippet.as_str()]).collect();
        let placed = (claim.span.unwrap_or_default(), &*claim.text);
        for quotation in missing_quotes(&self.subject.report.text, placed, &texts) {
            let detail = format!("no source that it cites says: {quotation}");
            self.breaks(AuditRule::QuotationInPage, &claim.id, detail);
        }
    }

    /// Headings cannot be cited: their amounts stand in some evidence, and their quotations in some
    /// source. Small counts and years may count and name sections.
    fn headings(&mut self) {
        let text = &self.subject.report.text;
        let known = self.subject.evidence.iter().map(|one| one.quote.as_str());
        let known: Vec<StatedQuantity> =
            known.chain([self.subject.question]).flat_map(quantities).collect();
        let is_amount = |it: &StatedQuantity| match it.kind {
            QuantityKind::Year | QuantityKind::Factor => false,
            QuantityKind::Count => it.value() >= MANY,
            _ => true,
        };
        for block in blocks(text) {
            if !matches!(block.kind, BlockKind::Heading(_) | BlockKind::TableHead) {
                continue;
            }
            let heading = block.content.of(text).unwrap_or_default();
            for quotation in missing_quotations(heading, &texts(self.subject.sources)) {
                let detail = format!("no source says: {quotation}");
                self.breaks(AuditRule::QuotationInPage, heading, detail);
            }
            for amount in quantities(heading).iter().filter(|it| is_amount(it)) {
                if !known.iter().any(|it| amount.follows_from(it).is_match()) {
                    let detail = format!("no evidence says: {}", amount.text);
                    self.breaks(AuditRule::NumberKnown, heading, detail);
                }
            }
        }
    }

    /// Quotations of more than one sentence: no sentence has both of their marks.
    fn long_quotations(&mut self) {
        let text = &self.subject.report.text;
        for block in blocks(text) {
            if !matches!(block.kind, BlockKind::Paragraph | BlockKind::Item) {
                continue;
            }
            let content = block.content.of(text).unwrap_or_default();
            let within: Vec<&str> =
                sentences(content).into_iter().filter_map(|span| span.of(content)).collect();
            for quotation in missing_quotations(content, &texts(self.subject.sources)) {
                if !within.iter().any(|sentence| sentence.contains(&quotation)) {
                    let detail = format!("no source says: {quotation}");
                    self.breaks(AuditRule::QuotationInPage, content, detail);
                }
            }
        }
    }

    /// What repeats what a page says to language models alone.
    fn instructions(&mut self) {
        let text = &self.subject.report.text;
        let known = InstructionFilter::of_sources(self.subject.sources);
        for block in blocks(text) {
            let content = block.content.of(text).unwrap_or_default();
            for sentence in sentences(content).into_iter().filter_map(|span| span.of(content)) {
                if known.repeats(sentence) {
                    let detail = "a page says it to language models";
                    self.breaks(AuditRule::InstructionRemoved, sentence, detail);
                }
            }
        }
    }

    /// Numbers and quotations of sentences without a citation.
    fn uncited(&mut self) {
        self.headings();
        self.long_quotations();
        let text = &self.subject.report.text;
        let keyed: Vec<_> = self
            .subject
            .report
            .claims
            .iter()
            .filter(|claim| !claim.keys.is_empty())
            .filter_map(|claim| claim.span)
            .collect();
        for span in statements(text) {
            let sentence = span.of(text).unwrap_or_default();
            let is_cited = keyed.iter().any(|own| own.overlaps(span));
            if is_cited || is_noted(sentence) {
                continue;
            }
            for quotation in missing_quotes(text, (span, sentence), &texts(self.subject.sources)) {
                let detail = format!("no source says: {quotation}");
                self.breaks(AuditRule::QuotationInPage, sentence, detail);
            }
            for number in unknown_numbers(sentence, self.subject.evidence, self.subject.question) {
                self.breaks(
                    AuditRule::NumberKnown,
                    sentence,
                    format!("no evidence says: {number}"),
                );
            }
        }
    }
}

/// The texts of all sources.
pub(crate) fn texts(sources: &[CitedSource]) -> Vec<&str> {
    sources.iter().flat_map(|source| [source.text.as_str(), source.snippet.as_str()]).collect()
}

/// The numbers of a sentence that stand neither in the evidence, about the same, nor in the question.
pub(crate) fn unknown_numbers(
    sentence: &str,
    evidence: &[Evidence],
    question: &str,
) -> Vec<String> {
    let asked = quantities(question);
    let own = content_words(sentence);
    // Passages of other matters may have the same numbers.
    let near: Vec<&str> = evidence
        .iter()
        .map(|one| one.quote.as_str())
        .filter(|quote| share(&own, &content_words(quote)) >= CLOSE)
        .collect();
    let checks = check_numbers(sentence, &near, &[]);
    let is_asked = |value: &str| {
        let is_date = value.contains(char::is_alphabetic);
        asked.iter().any(|it| it.normalized() == value) || is_date && question.contains(value)
    };
    let unknown = checks
        .into_iter()
        .filter(|check| !check.status.is_match() && !is_asked(&check.normalized_claim));
    unknown.map(|check| check.claim_value).collect()
}

/// Whether a claim and its evidence share enough words. Texts in different scripts cannot.
pub(crate) fn is_related(claim: &str, quotes: &[&str], context: &[&str]) -> bool {
    let known = [quotes, context].concat().join("\n");
    let is_foreign = script(claim) != script(&known);
    is_foreign || share(&content_words(claim), &content_words(&known)) >= RELATED
}

/// Titles and headings of evidence.
pub(crate) fn context(cited: &[&Evidence], sources: &[CitedSource]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for one in cited {
        found.extend(sources.get(one.source).map(|source| source.title.clone()));
        found.extend(one.section.clone());
    }
    found.into_iter().collect()
}

/// Roughly the script of a text.
fn script(text: &str) -> u8 {
    let letters = || text.chars().filter(|sign| sign.is_alphabetic());
    let most = |test: fn(char) -> bool| {
        letters().filter(|sign| test(*sign)).count() * 2 > letters().count()
    };
    match () {
        () if most(is_ideograph) => 1,
        () if most(|sign| matches!(sign, '\u{400}'..='\u{52f}')) => 2,
        () if most(|sign| matches!(sign, '\u{590}'..='\u{8ff}')) => 3,
        () if most(|sign| matches!(sign, '\u{900}'..='\u{dff}')) => 4,
        () => 0,
    }
}
