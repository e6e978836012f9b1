//! What a question and its plan are about, and what of a page bears on that.

use antiphon_citation::{BlockKind, InstructionFilter, TopicWords, blocks, sentences};

use super::source::ResearchSource;
use super::state::State;

/// The steps of the plan, a text each.
pub(super) fn plan_topics(state: &State) -> Vec<String> {
    let steps = state.plan().steps;
    steps.iter().map(|step| format!("{} {}", step.title, step.description)).collect()
}

/// The words of the question and its plan, weighed by the sources.
pub(super) fn topic_words(state: &State) -> TopicWords {
    let texts: Vec<&str> = state.sources.all().iter().map(ResearchSource::text).collect();
    TopicWords::new(&state.query, &plan_topics(state), &texts)
}

/// Those of some sources that bear on the question or the step. A small model writes of whatever it
/// is shown, and most of what a search finds is beside the question.
pub(super) fn related(state: &State, numbers: &[usize]) -> Vec<usize> {
    let step = state.step().map(|step| format!("{} {}", step.title, step.description));
    let texts: Vec<&str> = state.sources.all().iter().map(ResearchSource::text).collect();
    let topics = TopicWords::new(&state.query, step.as_slice(), &texts);
    let bears = |source: &ResearchSource| {
        let text = source.text();
        sentences(text).into_iter().any(|span| {
            span.of(text).is_some_and(|sentence| topics.bear_on(sentence, &source.title))
        })
    };
    let found = state.sources_of(numbers).filter(|(_, source)| bears(source));
    found.map(|(number, _)| number).collect()
}

/// The sentences of a source that bear on the question, else its beginning: without headings and
/// without what addresses language models.
pub(super) fn excerpt(source: &ResearchSource, topics: &TopicWords, most: usize) -> String {
    let page = source.text();
    let (text, _) = InstructionFilter::of([page]).removed_from(page);
    let parts = blocks(&text).into_iter().filter(|it| !matches!(it.kind, BlockKind::Heading(_)));
    let parts: Vec<&str> = parts.filter_map(|block| block.content.of(&text)).collect();
    let all =
        parts.iter().flat_map(|part| sentences(part).into_iter().filter_map(|span| span.of(part)));
    let related: Vec<&str> = all.filter(|it| topics.bear_on(it, &source.title)).collect();
    let beginning = || parts.first().copied().unwrap_or_default().to_owned();
    let found = if related.is_empty() { beginning() } else { related.join(" ") };
    shortened(&found, most)
}

/// The beginning of a text, up to its last whole word.
fn shortened(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let head = text.get(..end).unwrap_or_default();
    let whole = head.rfind(char::is_whitespace).and_then(|at| head.get(..at)).unwrap_or(head);
    format!("{}…", whole.trim_end())
}
