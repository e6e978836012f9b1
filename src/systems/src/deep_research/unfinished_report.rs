//! What can be shown of a report that did not come to its end.

use std::collections::BTreeMap;

use antiphon_citation::{BlockKind, CitationRun, InstructionFilter, TopicWords, blocks};
use serde_json::json;

use super::draft::{ReportDraft, whole_beginning};
use super::links::LinkedReport;
use super::source::{ResearchSource, SourceRegistry};
use super::state::{Observation, State};
use super::topic::topic_words;
use super::{DeepResearch, citing};
use crate::citation::CitesSources;
use crate::reply::cut_reply;

/// A report that is not what was asked for.
pub(super) struct UnfinishedReport {
    pub(super) text: String,
    pub(super) sources: SourceRegistry,
    pub(super) links_removed: usize,
    /// The stages of citation, ended where they were; their claims are not verified.
    pub(super) citation: Option<CitationRun>,
    /// Whether the text breaks off.
    pub(super) is_cut: bool,
}

impl UnfinishedReport {
    /// The report that the stages of citation hold, else what a model has written of it, else what
    /// the steps have found; none without all of these.
    pub(super) fn of(state: &State, draft: &ReportDraft) -> Option<Self> {
        if !state.citation.text().is_empty() {
            return Some(Self::of_stages(
                state,
                DeepResearch::run(state),
                state.citation.is_composing(),
            ));
        }
        // A reply that was cut off is only in the failure.
        let fault = state.error.as_ref().filter(|_| state.has_synthesis);
        let cut = || whole_beginning(cut_reply(fault)?, "report");
        match draft.text().or_else(cut) {
            Some(written) if state.citation.pending().is_empty() => {
                Some(Self { is_cut: true, ..Self::linked(&state.sources, &written) })
            }
            Some(written) => Some(Self::of_stages(state, with_draft(state, &written), true)),
            None => digest(state).map(|text| Self::linked(&state.sources, &text)),
        }
    }

    fn of_stages(state: &State, mut run: CitationRun, is_cut: bool) -> Self {
        run.conclude();
        let (text, sources) = citing::taken(state, &run);
        Self { text, sources, links_removed: 0, citation: Some(run), is_cut }
    }

    /// A text whose links are held to the sources.
    pub(super) fn linked(sources: &SourceRegistry, text: &str) -> Self {
        let all = sources.all().iter();
        let pages = all.flat_map(|it| [it.content.as_str(), &it.snippet, &it.title]);
        let (text, _) = InstructionFilter::of(pages).removed_from(text);
        let LinkedReport { text, cited, removed } = LinkedReport::new(&text, sources);
        let mut sources = sources.clone();
        for number in cited {
            if let Some(source) = sources.get_mut(number) {
                source.is_cited = true;
            }
        }
        Self { text, sources, links_removed: removed, citation: None, is_cut: false }
    }
}

/// The stages with the beginning of a report in the place of all of it.
fn with_draft(state: &State, written: &str) -> CitationRun {
    let mut run = DeepResearch::run(state);
    let reply = |id: &String| (id.clone(), json!({"report": written}));
    let replies: BTreeMap<_, _> = run.pending().iter().map(|it| reply(&it.id)).collect();
    run.advance(&replies);
    run
}

/// What such a report begins with.
const NOTES: &str = "No report was written. This is what the steps of the research have noted.";

/// What the steps have found, under their titles, with the sources.
fn digest(state: &State) -> Option<String> {
    let (observations, sources) = (&state.all_observations, &state.sources);
    let texts: Vec<&str> = sources.all().iter().map(ResearchSource::text).collect();
    let topics = topic_words(state);
    let part = |it: &Observation| {
        let text = noted(&it.text, &texts, &topics);
        (!text.is_empty()).then(|| format!("## {}\n\n{text}\n", it.step_title))
    };
    let parts: Vec<String> = observations.iter().filter_map(part).collect();
    let numbers = (1..).zip(sources.all()).map(|(number, _)| format!("- [{number}]\n"));
    let list = || numbers.collect::<String>();
    (!parts.is_empty())
        .then(|| format!("{NOTES}\n\n{}\n## Sources\n\n{}", parts.join("\n"), list()))
}

/// An observation without headings of pages, and without blocks that are copied from one and do not
/// bear on the question.
fn noted(text: &str, pages: &[&str], topics: &TopicWords) -> String {
    let is_told = |content: &str| {
        let bare =
            content.split_once("]: ").map_or(content, |(_, rest)| rest).trim_end_matches('…');
        let is_copied = pages.iter().any(|page| page.contains(bare));
        !is_copied || topics.bear_on(bare, "")
    };
    let kept = blocks(text).into_iter().filter(|block| {
        let content = block.content.of(text).unwrap_or_default();
        !matches!(block.kind, BlockKind::Heading(_)) && is_told(content)
    });
    let lines = kept.filter_map(|block| block.lines.of(text));
    lines.map(str::trim_end).collect::<Vec<_>>().join("\n\n")
}
