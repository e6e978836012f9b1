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

/// Those of some sources that bear most on the question or the step, by their best sentences. A small
/// model writes of whatever it is shown, and most of what a search finds is beside the question.
pub(super) fn related(state: &State, numbers: &[usize]) -> Vec<usize> {
    let step = state.step().map(|step| format!("{} {}", step.title, step.description));
    let texts: Vec<&str> = state.sources.all().iter().map(ResearchSource::text).collect();
    let topics = TopicWords::new(&state.query, step.as_slice(), &texts);
    let weights = |source: &ResearchSource| {
        let text = source.text();
        let said = sentences(text).into_iter().filter_map(|span| span.of(text));
        let said = said.map(|sentence| topics.weights(sentence, &source.title));
        said.reduce(|best, one| best.iter().zip(one).map(|(best, one)| best.max(one)).collect())
            .unwrap_or_default()
    };
    let found: Vec<(usize, Vec<f64>)> =
        state.sources_of(numbers).map(|(number, source)| (number, weights(source))).collect();
    let all: Vec<Vec<f64>> = found.iter().map(|(_, weights)| weights.clone()).collect();
    let near = found.iter().zip(topics.nearest(&all)).filter(|(_, is_near)| *is_near);
    near.map(|((number, _), _)| *number).collect()
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
