//! What became of the claims of a report, in numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, RevisionKind};
use crate::verdict::Verdict;

/// From which share of unsupported claims on a report warns.
const UNSUPPORTED: f64 = 0.20;
/// The same for contradicted claims.
const CONTRADICTED: f64 = 0.05;

/// The claims of a report by their verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VerdictSummary {
    /// All claims.
    pub total_claims: usize,
    /// Those that the evidence entails.
    pub supported: usize,
    /// In parts.
    pub partial: usize,
    /// Not.
    pub unsupported: usize,
    /// Those that it refutes.
    pub contradicted: usize,
    /// Those that there was nothing to judge by.
    pub abstained_count: usize,
    /// Unsupported claims among those that were judged.
    pub unsupported_rate: f64,
    /// Contradicted claims among those that were judged.
    pub contradicted_rate: f64,
    /// Whether a rate is too high.
    pub warning: bool,
}

impl VerdictSummary {
    /// Counts claims.
    ///
    /// ```
    /// use antiphon_citation::{Claim, Verdict, VerdictSummary};
    /// let claim = |verdict, is_abstained| Claim { verdict, is_abstained, ..Claim::default() };
    /// let mut claims = vec![claim(Some(Verdict::Supported), false); 6];
    /// claims.extend(vec![claim(Some(Verdict::Unsupported), false); 2]);
    /// claims.extend(vec![claim(Some(Verdict::Unsupported), true); 2]);
    /// let summary = VerdictSummary::of(&claims);
    /// assert_eq!((summary.unsupported_rate, summary.warning), (0.25, true));
    /// ```
    #[expect(clippy::cast_precision_loss, reason = "reports have few claims")]
    pub fn of(claims: &[Claim]) -> Self {
        let judged =
            || claims.iter().filter(|claim| !claim.is_abstained && claim.verdict.is_some());
        let count = |verdict| judged().filter(|claim| claim.verdict == Some(verdict)).count();
        let (unsupported, contradicted) =
            (count(Verdict::Unsupported), count(Verdict::Contradicted));
        let all = judged().count();
        let rate = |part: usize| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        Self {
            total_claims: claims.len(),
            supported: count(Verdict::Supported),
            partial: count(Verdict::Partial),
            unsupported,
            contradicted,
            abstained_count: claims.len() - all,
            unsupported_rate: rate(unsupported),
            contradicted_rate: rate(contradicted),
            warning: rate(unsupported) > UNSUPPORTED || rate(contradicted) > CONTRADICTED,
        }
    }
}

/// What the pipeline has done with a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CitationSummary {
    /// The claims as they are delivered.
    #[serde(flatten)]
    pub verdicts: VerdictSummary,
    /// The same before anything was corrected.
    pub initial: Option<VerdictSummary>,
    /// Why nothing was verified.
    pub verification_skipped: Option<String>,
    /// Citations that were changed.
    pub citation_corrections: usize,
    /// Sentences that were changed.
    pub claim_revisions: usize,
    /// Indices, links and brackets of the model that stood for no source.
    pub removed_markers: usize,
    /// Facts that claims were taken apart into.
    pub atomic_facts_total: usize,
    /// Those that were verified.
    pub atomic_facts_verified: usize,
    /// Those that were not.
    pub atomic_facts_softened: usize,
    /// Claims of which all facts were verified.
    pub claims_fully_verified: usize,
    /// Claims of which some facts were.
    pub claims_partially_softened: usize,
    /// Claims of which none was.
    pub claims_fully_softened: usize,
    /// Searches for facts.
    pub external_searches: usize,
    /// Sources that those searches found.
    pub new_sources_added: usize,
}

impl CitationSummary {
    /// Counts what stands in claims.
    pub(crate) fn count(mut self, claims: &[Claim]) -> Self {
        self.verdicts = VerdictSummary::of(claims);
        let revisions = || claims.iter().filter_map(|claim| claim.revision.as_ref());
        let of = |kind| revisions().filter(|revision| revision.kind == kind).count();
        self.claim_revisions = revisions().filter(|it| it.before != it.after).count();
        self.claims_fully_verified = of(RevisionKind::FullyVerified);
        self.claims_partially_softened = of(RevisionKind::PartiallySoftened);
        self.claims_fully_softened = of(RevisionKind::FullySoftened);
        self
    }
}
