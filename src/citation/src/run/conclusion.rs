//! Clean-up by code alone, then references, summary and audit. What models have said is not
//! believed here: the numbers and quotations of every sentence are compared once more.

use serde_json::json;

use super::{CitationRun, CitationStage, MissingReport};
use crate::audit::{AuditEvidence, AuditReport, audit, is_related, texts, unknown_numbers};
use crate::block::{BlockKind, TextBlock, blocks};
use crate::claim::{Claim, RevisionKind, RevisionRecord};
use crate::hedge::{noted, softened};
use crate::marker::brackets;
use crate::model_order::told_title;
use crate::numeric::{NumberStatus, verdict_after_numbers};
use crate::quotation::missing_quotes;
use crate::report::{TextEdit, cited};
use crate::result::{CitationResult, NOT_FINISHED, Reference};
use crate::settings::ContradictedAction;
use crate::span::TextSpan;
use crate::verdict::Verdict;

/// What becomes of a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentenceTreatment {
    Keep,
    /// It loses its citation and says that it is not certain.
    Soften,
    /// It loses its citation and says that no source confirms it.
    Note,
    Remove,
    /// It says that its evidence refutes it.
    Flag,
}

impl CitationRun {
    /// Cleans the report up and ends the pipeline.
    pub(super) fn finish(&mut self) {
        self.stage = CitationStage::Finished;
        self.rounds = 0;
        self.refresh();
        if self.initial.is_none() && self.counts.verification_skipped.is_none() {
            let reason = if self.input.settings.verifies { NOT_FINISHED } else { "disabled" };
            self.counts.verification_skipped = Some(reason.to_owned());
        }
        let mut has_edits = self.clean_up();
        if self.missing.is_none()
            && !self.input.sources.is_empty()
            && let Some(missing) = self.without_answer()
        {
            self.list_passages(missing);
            has_edits = true;
        }
        let references = self.references();
        for source in &mut self.input.sources {
            source.is_cited = references.iter().any(|it| it.url == source.url);
        }
        self.audit = Some(self.audited(&references));
        let reason = if has_edits { "clean_up" } else { "verified" };
        self.note("content_revised", json!({"text": self.report.text, "reason": reason}));
        let summary = self.summary();
        self.note("verification_summary", json!(summary));
    }

    /// Gives each claim its treatment, and says whether anything was changed.
    fn clean_up(&mut self) -> bool {
        let mut edits = Vec::new();
        for index in 0..self.report.claims.len() {
            let treatment = self.treatment(index);
            edits.extend(self.treat(index, treatment));
        }
        let has_edits = !edits.is_empty();
        self.report.edit(edits);
        self.remove_empty_sections();
        self.trim_end();
        self.refresh();
        has_edits
    }

    /// Why the report answers nothing.
    fn without_answer(&self) -> Option<MissingReport> {
        if self.is_emptied() {
            return Some(MissingReport::NothingLeft);
        }
        self.is_beside_the_question().then_some(MissingReport::BesideTheQuestion)
    }

    /// Whether a report had claims of which none is left, and says nothing else.
    fn is_emptied(&self) -> bool {
        let text = &self.report.text;
        let says =
            |block: &TextBlock| !matches!(block.kind, BlockKind::Heading(_) | BlockKind::TableHead);
        !self.report.claims.is_empty() && !blocks(text).iter().any(says)
    }

    /// Puts the list of passages in the place of a report that answers nothing. What became of its
    /// claims stays on record.
    fn list_passages(&mut self, missing: MissingReport) {
        let mut gone = std::mem::take(&mut self.report.claims);
        for claim in &mut gone {
            claim.span = None;
        }
        self.report.fields.clear();
        self.value = None;
        self.write_from_evidence(missing);
        let count = gone.len();
        let listed = std::mem::take(&mut self.report.claims);
        let renamed = (count + 1..)
            .zip(listed)
            .map(|(number, claim)| Claim { id: format!("c{number}"), ..claim });
        self.report.claims = gone.into_iter().chain(renamed).collect();
        for claim in count..self.report.claims.len() {
            self.classify(claim);
        }
        self.clean_up();
    }

    /// The report with all that is known about it, at any moment.
    pub fn result(&self) -> CitationResult {
        let references = self.references();
        let audit = self.audit.clone().unwrap_or_else(|| self.audited(&references));
        CitationResult {
            report: self.report.text.clone(),
            references,
            claims: self.report.claims.clone(),
            evidence: self.evidence.clone(),
            sources: self.input.sources.clone(),
            corrections: self.corrections.clone(),
            summary: self.summary(),
            audit,
            is_degraded: self.is_degraded(),
            is_finished: self.is_finished(),
        }
    }

    fn audited(&self, references: &[Reference]) -> AuditReport {
        audit(&AuditEvidence {
            report: &self.report,
            evidence: &self.evidence,
            sources: &self.input.sources,
            references,
            question: &self.input.question,
        })
    }

    fn summary(&self) -> crate::summary::CitationSummary {
        let mut counts = self.counts.clone();
        counts.initial = self.initial;
        counts.count(&self.report.claims)
    }

    /// The sources that the report cites, in the order of first use.
    fn references(&self) -> Vec<Reference> {
        let mut found: Vec<Reference> = Vec::new();
        for bracket in brackets(&self.report.text) {
            let Some(index) = self.keys.source(&bracket.label) else { continue };
            let Some(source) = self.input.sources.get(index) else { continue };
            if found.iter().any(|it| it.key == bracket.label) {
                continue;
            }
            let delivered = self.report.claims.iter().filter(|claim| claim.is_delivered());
            let mut evidence: Vec<String> = Vec::new();
            for id in delivered.flat_map(|claim| &claim.evidence) {
                let is_own = self.evidence.iter().any(|one| one.id == *id && one.source == index);
                if is_own && !evidence.contains(id) {
                    evidence.push(id.clone());
                }
            }
            found.push(Reference {
                number: found.len() + 1,
                key: bracket.label,
                url: source.url.clone(),
                title: told_title(&source.title).to_owned(),
                origin: source.origin,
                evidence,
            });
        }
        found
    }

    /// What becomes of a claim by its verdict, and by what code finds.
    fn treatment(&mut self, index: usize) -> SentenceTreatment {
        let computed = |checks: &[crate::numeric::NumericVerification], value: &str| {
            checks
                .iter()
                .any(|it| it.status == NumberStatus::Computed && it.normalized_claim == value)
        };
        let mut checks = self.checks(index);
        let (is_related, is_quoted) = (self.fits_evidence(index), self.is_quoted(index));
        let Some(claim) = self.report.claims.get(index) else { return SentenceTreatment::Keep };
        for check in &mut checks {
            if computed(&claim.numbers, &check.normalized_claim) {
                check.status = NumberStatus::Computed;
            }
        }
        if claim.evidence.is_empty() {
            return self.without_evidence(claim);
        }
        let has_numbers = checks.iter().all(|check| check.status.is_match());
        let verdict = claim.verdict.map(|verdict| verdict_after_numbers(verdict, &checks));
        let treatment = match verdict {
            Some(Verdict::Contradicted) => match self.input.settings.contradicted_action {
                ContradictedAction::Remove => SentenceTreatment::Remove,
                ContradictedAction::Flag => SentenceTreatment::Flag,
            },
            _ if !has_numbers || !is_quoted => SentenceTreatment::Note,
            _ if !is_related => self.doubted(claim),
            Some(Verdict::Unsupported) if !claim.is_abstained => self.doubted(claim),
            _ => SentenceTreatment::Keep,
        };
        if let Some(claim) = self.report.claims.get_mut(index) {
            claim.numbers = checks;
            claim.verdict = verdict;
        }
        treatment
    }

    /// What becomes of a claim that loses its citation: without it, nothing may state its numbers.
    fn doubted(&self, claim: &Claim) -> SentenceTreatment {
        let unknown = unknown_numbers(&claim.text, &self.evidence, &self.input.question);
        if unknown.is_empty() { SentenceTreatment::Soften } else { SentenceTreatment::Note }
    }

    fn without_evidence(&self, claim: &Claim) -> SentenceTreatment {
        if claim.verdict == Some(Verdict::Contradicted) {
            return SentenceTreatment::Remove;
        }
        let unknown = unknown_numbers(&claim.text, &self.evidence, &self.input.question);
        let invented = self.missing_quotes(claim, &texts(&self.input.sources));
        if claim.unknown_citations > 0 || !unknown.is_empty() || !invented.is_empty() {
            return SentenceTreatment::Note;
        }
        let is_judged = claim.verdict == Some(Verdict::Unsupported) && !claim.is_abstained;
        if is_judged { SentenceTreatment::Soften } else { SentenceTreatment::Keep }
    }

    fn fits_evidence(&self, index: usize) -> bool {
        let evidence = self.evidence_of(index);
        let quotes: Vec<&str> = evidence.iter().map(|one| one.quote.as_str()).collect();
        let titles = crate::audit::context(&evidence, &self.input.sources);
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let text = self.report.claims.get(index).map_or("", |claim| &claim.text);
        is_related(text, &quotes, &titles)
    }

    /// Whether what it quotes stands in a source that is cited.
    fn is_quoted(&self, index: usize) -> bool {
        let evidence = self.evidence_of(index);
        let pages = evidence.iter().filter_map(|one| self.input.sources.get(one.source));
        let texts: Vec<&str> =
            pages.flat_map(|source| [source.text.as_str(), source.snippet.as_str()]).collect();
        let claim = self.report.claims.get(index);
        claim.is_none_or(|claim| self.missing_quotes(claim, &texts).is_empty())
    }

    fn missing_quotes(&self, claim: &Claim, texts: &[&str]) -> Vec<String> {
        let placed = (claim.span.unwrap_or_default(), &*claim.text);
        missing_quotes(&self.report.text, placed, texts)
    }

    /// The edit that gives a claim its treatment, and what is recorded of it.
    fn treat(&mut self, index: usize, treatment: SentenceTreatment) -> Option<TextEdit> {
        let claim = self.report.claims.get(index)?.clone();
        let span = claim.span?;
        if treatment == SentenceTreatment::Keep {
            return None;
        }
        let keys = self.keys.clone();
        let known = |label: &str| keys.source(label).is_some();
        let bare = cited(&claim.sentence, &[], &known);
        let (span, expected, replacement) = match treatment {
            SentenceTreatment::Remove => {
                let span = self.removed_span(span);
                (span, span.of(&self.report.text)?.to_owned(), String::new())
            }
            SentenceTreatment::Flag => {
                let text = format!("{} *(contradicted by its source)*", claim.sentence);
                (span, claim.sentence.clone(), text)
            }
            SentenceTreatment::Soften => (span, claim.sentence.clone(), softened(&bare)),
            _ => (span, claim.sentence.clone(), noted(&bare)),
        };
        let own = self.report.claims.get_mut(index)?;
        if matches!(treatment, SentenceTreatment::Soften | SentenceTreatment::Note) {
            own.keys.clear();
            own.evidence.clear();
            own.verdict = own.verdict.map(|verdict| verdict.min(Verdict::Unsupported));
        }
        let kind = match treatment {
            SentenceTreatment::Remove => RevisionKind::Removed,
            _ => RevisionKind::FullySoftened,
        };
        let earlier = own.revision.take();
        let (facts, verified) = earlier.as_ref().map_or((1, 0), |it| (it.facts, it.verified));
        let before = earlier.map_or_else(|| claim.sentence.clone(), |it| it.before);
        let after = if treatment == SentenceTreatment::Remove {
            String::new()
        } else {
            replacement.clone()
        };
        own.revision = Some(RevisionRecord { kind, before, after, facts, verified });
        let data = json!({"claim_id": claim.id, "revision_type": kind, "before": claim.sentence, "after": replacement});
        self.note("claim_revised", data);
        (expected != replacement).then_some(TextEdit { span, expected, replacement })
    }

    /// What goes with a sentence: its item or row if nothing else is in it, else the space after it.
    fn removed_span(&self, span: TextSpan) -> TextSpan {
        let text = &self.report.text;
        let block = blocks(text).into_iter().find(|block| block.content.holds(span));
        if let Some(block) = block
            && block.content.trimmed(text) == span.trimmed(text)
        {
            return self.with_gap(block.lines);
        }
        let rest = text.get(span.end..).unwrap_or_default();
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        TextSpan::new(span.start, span.end + spaces)
    }

    /// The lines of a block with the blank lines after them, if there are some before them too.
    fn with_gap(&self, lines: TextSpan) -> TextSpan {
        let before = self.report.text.get(..lines.start).unwrap_or_default();
        let rest = self.report.text.get(lines.end..).unwrap_or_default();
        let gap = rest.len() - rest.trim_start_matches('\n').len();
        let has_gap = before.is_empty() || before.ends_with("\n\n");
        TextSpan::new(lines.start, lines.end + if has_gap { gap } else { 0 })
    }

    /// White space that is left at the end.
    fn trim_end(&mut self) {
        let text = &self.report.text;
        let span = TextSpan::new(text.trim_end().len(), text.len());
        let Some(expected) = span.of(text).filter(|gap| !gap.is_empty()) else { return };
        let expected = expected.to_owned();
        self.report.edit(vec![TextEdit { span, expected, replacement: String::new() }]);
    }

    /// Headings with nothing below them.
    fn remove_empty_sections(&mut self) {
        loop {
            let all = blocks(&self.report.text);
            let is_empty = |place: &usize| {
                let Some(BlockKind::Heading(level)) = all.get(*place).map(|it| it.kind) else {
                    return false;
                };
                match all.get(place + 1).map(|next| next.kind) {
                    None => all.len() > 1,
                    Some(BlockKind::Heading(next)) => next <= level,
                    Some(_) => false,
                }
            };
            let Some(block) = (0..all.len()).find(is_empty).and_then(|place| all.get(place)) else {
                return;
            };
            let span = self.with_gap(block.lines);
            let Some(expected) = span.of(&self.report.text).map(str::to_owned) else { return };
            let edit = TextEdit { span, expected, replacement: String::new() };
            if self.report.edit(vec![edit]).applied == 0 {
                return;
            }
        }
    }
}
