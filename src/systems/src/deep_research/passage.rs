//! The passages that a report cites, as readers find them in its sources.

use std::collections::BTreeSet;

use antiphon_citation::{CitationResult, Claim, Evidence, TextSpan};
use schemars::JsonSchema;
use serde::Serialize;

use super::source::SourceRegistry;

/// A passage that claims of a report cite.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CitedPassage {
    /// Names it in the claims and references.
    pub id: String,
    /// The number of its source, from 1; none if the source is not kept.
    pub source: Option<usize>,
    /// The passage, as it stands in the source.
    pub quote: String,
    /// Where it stands in the content of the source, in characters; none for what a search said.
    pub span: Option<TextSpan>,
    /// The heading above it.
    pub section: Option<String>,
}

/// The passages that the claims cite, in the order of the evidence.
pub(super) fn cited_passages(
    result: &CitationResult,
    sources: &SourceRegistry,
) -> Vec<CitedPassage> {
    let cited: BTreeSet<&str> =
        result.claims.iter().flat_map(|claim| &claim.evidence).map(String::as_str).collect();
    let evidence = result.evidence.iter().filter(|it| cited.contains(it.id.as_str()));
    let passage = |it: &Evidence| {
        let page = result.sources.get(it.source);
        CitedPassage {
            id: it.id.clone(),
            source: page.and_then(|page| sources.number(&page.url)),
            quote: it.quote.clone(),
            span: page.and_then(|page| Some(it.span?.in_chars(&page.text))),
            section: it.section.clone(),
        }
    };
    evidence.map(passage).collect()
}

/// The claims with their places in characters of the report.
pub(super) fn claims_in_chars(result: &CitationResult) -> Vec<Claim> {
    let placed = |claim: &Claim| Claim {
        span: claim.span.map(|span| span.in_chars(&result.report)),
        ..claim.clone()
    };
    result.claims.iter().map(placed).collect()
}
