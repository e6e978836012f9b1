//! Evidence: passages of the pages of a run, chosen before the report is written.

use std::collections::{BTreeMap, BTreeSet};

use antiphon_figures::quantities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{BlockKind, TextBlock, blocks};
use crate::model_order::instruction_spans;
use crate::quote::align;
use crate::sentence::{is_ended, sentences};
use crate::settings::CitationSettings;
use crate::source::CitedSource;
use crate::span::TextSpan;
use crate::word::{content_words, share, words};

/// Characters of a passage, at least and at most. One that is told apart by itself may be shorter.
const LENGTH: std::ops::RangeInclusive<usize> = 30..=500;
/// Words of a short passage that state something without a number.
const SEVERAL: usize = 3;
/// How much of two passages may be the same.
const OVERLAP: f64 = 0.8;
/// Sources that the limit of all evidence is reckoned from.
const SOURCES: usize = 10;

/// A passage that may be cited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// Names it in this run.
    pub id: String,
    /// The index of its source.
    pub source: usize,
    /// The passage, as it stands in the stored page.
    pub quote: String,
    /// Where it stands in the text of the source; none for a snippet of a search.
    pub span: Option<TextSpan>,
    /// The heading above it.
    pub section: Option<String>,
    /// From 0 to 1.
    pub relevance: f64,
    /// Whether it states a quantity.
    pub is_numeric: bool,
    /// Whether it is what a search said of a page that could not be fetched.
    pub is_snippet: bool,
}

/// Characters of a passage that an event shows.
const PREVIEW: usize = 200;

impl Evidence {
    /// Its beginning.
    pub(crate) fn preview(&self) -> String {
        self.quote.chars().take(PREVIEW).collect()
    }
}

/// A passage that a model has proposed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProposedSpan {
    /// The words of the page.
    #[serde(alias = "quote_text")]
    pub quote: String,
    /// From 0 to 1.
    pub relevance: f64,
}

/// A piece of a page that is short enough for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageChunk {
    pub(crate) source: usize,
    pub(crate) span: TextSpan,
}

/// The pieces of the pages that are good enough to be cited.
pub(crate) fn chunks(sources: &[CitedSource], settings: &CitationSettings) -> Vec<PageChunk> {
    let readable = accepted(sources);
    let mut found = Vec::new();
    for source in readable {
        let text = sources.get(source).map_or("", |source| &source.text);
        let spans = split(text, settings.chunk_chars, settings.chunk_overlap);
        let spans = spans.into_iter().take(settings.max_chunks);
        found.extend(spans.map(|span| PageChunk { source, span }));
    }
    found
}

/// The pages that are good enough; all if none is.
fn accepted(sources: &[CitedSource]) -> Vec<usize> {
    let has_text = |index: &usize| sources.get(*index).is_some_and(|it| !it.read_text().is_empty());
    let all: Vec<usize> = (0..sources.len()).filter(has_text).collect();
    let is_good =
        |index: &usize| sources.get(*index).is_some_and(|source| is_good_page(&source.text));
    let good: Vec<usize> = all.iter().copied().filter(is_good).collect();
    if good.is_empty() { all } else { good }
}

/// The score of a page that is good enough.
const GOOD: f64 = 0.5;
const PAYWALL: [&str; 6] = [
    "subscribe to continue",
    "subscription required",
    "sign in to read",
    "log in to continue",
    "purchase access",
    "this content is for subscribers",
];

/// How good a page is as a source, from what its text looks like; 0.5 is good enough.
///
/// ```
/// use antiphon_citation::page_score;
/// assert!(page_score("Sign in to read this article.") < 0.5);
/// assert!(page_score(&"In 2023 Acme sold 4,200 cars in Kenya. ".repeat(40)) >= 0.5);
/// ```
pub fn page_score(text: &str) -> f64 {
    // An abstract is never good enough alone.
    form_score(text).map_or(0.2, |(form, length)| with_numbers(form, text) + length)
}

/// Whether a page has a score that is good enough; most have it without their numbers.
fn is_good_page(text: &str) -> bool {
    form_score(text).is_some_and(|(form, length)| {
        form + length >= GOOD || with_numbers(form, text) + length >= GOOD
    })
}

/// The score of a page without its numbers, and what its length adds; none of a mere abstract.
fn form_score(text: &str) -> Option<(f64, f64)> {
    let lower = text.to_lowercase();
    let count = words(text).len();
    let mut score = GOOD;
    if PAYWALL.iter().any(|phrase| lower.contains(phrase)) {
        score -= 0.4;
    }
    if count < 400 && lower.trim_start().starts_with("abstract") {
        return None;
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let short = lines.iter().filter(|line| line.split_whitespace().count() < 4).count();
    if lines.len() > 10 && short * 3 > lines.len() * 2 {
        score -= 0.2;
    }
    if count < 100 {
        score -= 0.2;
    }
    let length = match count {
        1_001.. => 0.2,
        501.. => 0.1,
        _ => 0.0,
    };
    Some((score, length))
}

/// A score with what the numbers of a page add.
fn with_numbers(form: f64, text: &str) -> f64 {
    let numbers = quantities(text.get(..cut(text, 20_000)).unwrap_or_default());
    let mut score = form;
    if !numbers.is_empty() {
        score += 0.2;
    }
    if numbers.iter().any(|number| !number.units.is_empty()) {
        score += 0.15;
    }
    score
}

/// The position of a character boundary at or before a number of bytes.
fn cut(text: &str, most: usize) -> usize {
    let end = most.min(text.len());
    (0..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Pieces of a text of so many characters, which share some and end with a sentence if one ends
/// within their last 200 characters.
fn split(text: &str, size: usize, overlap: usize) -> Vec<TextSpan> {
    const BACK: usize = 200;
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let count = starts.len() - 1;
    let at = |place: usize| starts.get(place).copied().unwrap_or(text.len());
    let (mut found, mut first) = (Vec::new(), 0);
    while first < count {
        let mut last = (first + size.max(1)).min(count);
        if last < count {
            let tail = text.get(at(last.saturating_sub(BACK).max(first))..at(last));
            let ends = |sign: char| matches!(sign, '.' | '!' | '?' | '。' | '\n');
            if let Some(kept) = tail.and_then(|tail| tail.rfind(ends).map(|end| (tail, end))) {
                let (tail, end) = kept;
                last -= tail.get(end..).map_or(0, |rest| rest.chars().count() - 1);
            }
        }
        found.push(TextSpan::new(at(first), at(last)));
        if last == count {
            break;
        }
        first = last.saturating_sub(overlap).max(first + 1);
    }
    found
}

/// Evidence out of what a model has proposed of a piece; what does not stand there is left out.
pub(crate) fn located(
    chunk: PageChunk,
    source: &CitedSource,
    proposed: &[ProposedSpan],
    query: &BTreeSet<String>,
) -> Vec<Evidence> {
    let piece = chunk.span.of(&source.text).unwrap_or_default();
    let mut found = Vec::new();
    for span in proposed {
        let Some(own) = align(&span.quote, piece) else { continue };
        let own = fitted(piece, own);
        let span_of_page = TextSpan::new(chunk.span.start + own.start, chunk.span.start + own.end);
        let Some(evidence) = passage(chunk.source, source, span_of_page) else { continue };
        let keywords = share(query, &content_words(&evidence.quote));
        let rated =
            if query.is_empty() { span.relevance } else { span.relevance.midpoint(keywords) };
        let relevance = scored(rated.max(span.relevance * 0.8), evidence.is_numeric);
        found.push(Evidence { relevance, ..evidence });
    }
    found
}

/// Sentences that have words of the question, those with numbers first. A table is one.
pub(crate) fn by_words(
    chunk: PageChunk,
    source: &CitedSource,
    query: &BTreeSet<String>,
) -> Vec<Evidence> {
    let piece = chunk.span.of(&source.text).unwrap_or_default();
    let mut found = Vec::new();
    for own in statements_of(piece) {
        let span = TextSpan::new(chunk.span.start + own.start, chunk.span.start + own.end);
        let Some(evidence) = passage(chunk.source, source, span) else { continue };
        let keywords = share(query, &content_words(&evidence.quote));
        // A few words of the question, such as a label, are no statement without a number.
        let is_long = evidence.quote.chars().count() >= *LENGTH.start();
        if keywords > 0.0 && (is_long || evidence.is_numeric) {
            let relevance = scored(keywords, evidence.is_numeric);
            found.push(Evidence { relevance, ..evidence });
        }
    }
    found
}

/// The sentences of a page, and its tables; headings are none.
fn statements_of(piece: &str) -> Vec<TextSpan> {
    let is_table =
        |block: &TextBlock| matches!(block.kind, BlockKind::TableHead | BlockKind::TableRow);
    let mut found: Vec<TextSpan> = Vec::new();
    let mut was_table = false;
    for block in blocks(piece) {
        let (starts, content) = (block.content.start, block.content.of(piece).unwrap_or_default());
        match (block.kind, found.last_mut()) {
            (BlockKind::Heading(_), _) => {}
            (_, Some(table)) if is_table(&block) && was_table => table.end = block.content.end,
            _ if is_table(&block) => found.push(block.content),
            _ => found.extend(
                sentences(content)
                    .into_iter()
                    .map(|it| TextSpan::new(starts + it.start, starts + it.end)),
            ),
        }
        was_table = is_table(&block);
    }
    found
}

/// Evidence without what addresses language models: what comes before it stays, if it is long
/// enough.
pub(crate) fn without_instructions(all: Vec<Evidence>, sources: &[CitedSource]) -> Vec<Evidence> {
    let used: BTreeSet<usize> = all.iter().map(|one| one.source).collect();
    let text = |index: usize| sources.get(index).map_or("", |source| source.text.as_str());
    let spans: BTreeMap<usize, Vec<TextSpan>> =
        used.into_iter().map(|index| (index, instruction_spans(text(index)))).collect();
    let cleared = |mut one: Evidence| {
        let orders = match one.span {
            Some(_) => spans.get(&one.source).cloned().unwrap_or_default(),
            None => instruction_spans(&one.quote),
        };
        let own = one.span.unwrap_or_else(|| TextSpan::new(0, one.quote.len()));
        let Some(order) = orders.into_iter().find(|order| order.overlaps(own)) else {
            return Some(one);
        };
        let length = order.start.checked_sub(own.start).filter(|length| *length > 0)?;
        let kept = TextSpan::new(0, length).trimmed(&one.quote);
        one.quote = kept.of(&one.quote).map(str::to_owned)?;
        one.span = one.span.map(|it| TextSpan::new(it.start + kept.start, it.start + kept.end));
        one.is_numeric = !quantities(&one.quote).is_empty();
        (one.quote.chars().count() >= *LENGTH.start()).then_some(one)
    };
    all.into_iter().filter_map(cleared).collect()
}

/// What searches said of pages that could not be read, or of all pages where none was read.
pub(crate) fn snippets(sources: &[CitedSource]) -> Vec<Evidence> {
    let has_none = sources.iter().all(|source| source.read_text().is_empty());
    let is_evidence = |source: &CitedSource| source.is_unreadable || has_none;
    let mut found = Vec::new();
    for (index, source) in sources.iter().enumerate().filter(|(_, source)| is_evidence(source)) {
        let Some(quote) = unread_snippet(source) else { continue };
        found.push(Evidence {
            source: index,
            quote: quote.to_owned(),
            relevance: 0.5,
            is_numeric: !quantities(quote).is_empty(),
            is_snippet: true,
            ..Evidence::default()
        });
    }
    found
}

/// What a search said of a page that was not read.
pub(crate) fn unread_snippet(source: &CitedSource) -> Option<&str> {
    let quote = without_title(source.snippet.trim(), &source.title);
    (source.read_text().is_empty() && !quote.is_empty()).then_some(quote)
}

/// A snippet without the heading that it begins with: a search may show it in one line.
fn without_title<'t>(snippet: &'t str, title: &str) -> &'t str {
    let Some(heading) = snippet.strip_prefix('#') else { return snippet };
    let bare = heading.trim_start_matches('#').trim_start();
    let rest = bare.strip_prefix(title.trim()).filter(|_| !title.trim().is_empty());
    rest.map(str::trim_start).filter(|rest| !rest.is_empty()).unwrap_or(bare)
}

fn scored(relevance: f64, is_numeric: bool) -> f64 {
    (relevance + if is_numeric { 0.2 } else { 0.0 }).clamp(0.0, 1.0)
}

/// A span that is too long without its last sentences.
fn fitted(text: &str, span: TextSpan) -> TextSpan {
    let own = span.of(text).unwrap_or_default();
    if own.chars().count() <= *LENGTH.end() {
        return span;
    }
    let fits = |end: &usize| own.get(..*end).is_some_and(|it| it.chars().count() <= *LENGTH.end());
    let end = sentences(own).into_iter().map(|it| it.end).rfind(fits);
    let end = end.or_else(|| own.char_indices().nth(*LENGTH.end()).map(|(at, _)| at));
    TextSpan::new(span.start, span.start + end.unwrap_or(own.len()))
}

/// The passage at a span of a page, if it is of a good length.
fn passage(index: usize, source: &CitedSource, span: TextSpan) -> Option<Evidence> {
    let span = widened(&source.text, without_headings(&source.text, span));
    let span = fitted(&source.text, span.trimmed(&source.text)).trimmed(&source.text);
    let quote = span.of(&source.text)?;
    let is_numeric = !quantities(quote).is_empty();
    let length = quote.chars().count();
    let fits = LENGTH.contains(&length) || length > 0 && is_sentence(&source.text, span);
    fits.then(|| Evidence {
        source: index,
        quote: quote.to_owned(),
        span: Some(span),
        section: heading_before(&source.text, span.start),
        is_numeric,
        ..Evidence::default()
    })
}

/// A span without the headings that it begins or ends with.
fn without_headings(text: &str, span: TextSpan) -> TextSpan {
    let is_heading = |line: &str| {
        let bare = line.trim_start();
        let rest = bare.trim_start_matches('#');
        bare.len() > rest.len() && (rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let mut span = span.trimmed(text);
    while let Some((first, _)) = span.of(text).and_then(|own| own.split_once('\n')) {
        if !is_heading(first) {
            break;
        }
        span = TextSpan::new(span.start + first.len(), span.end).trimmed(text);
    }
    while let Some((rest, _)) =
        span.of(text).and_then(|own| own.rsplit_once('\n')).filter(|(_, last)| is_heading(last))
    {
        span = TextSpan::new(span.start, span.start + rest.len()).trimmed(text);
    }
    span
}

/// A short passage as the whole sentence of its page, which says what it is about. Words that stand
/// there more than once, and a few without a number, do not tell which.
fn widened(text: &str, span: TextSpan) -> TextSpan {
    let span = span.trimmed(text);
    let quote = span.of(text).unwrap_or_default();
    let says = !quantities(quote).is_empty() || words(quote).len() >= SEVERAL;
    if quote.chars().count() >= *LENGTH.start() || !says || text.match_indices(quote).count() > 1 {
        return span;
    }
    let line = line_of(text, span);
    let around = sentences(line.of(text).unwrap_or_default());
    let whole =
        around.into_iter().map(|it| TextSpan::new(line.start + it.start, line.start + it.end));
    whole.into_iter().find(|it| it.start <= span.start && span.end <= it.end).unwrap_or(span)
}

/// Whether a passage is a sentence of its page. Headings state nothing.
fn is_sentence(text: &str, span: TextSpan) -> bool {
    let line = line_of(text, span);
    let whole = line.of(text).unwrap_or_default();
    let own = TextSpan::new(span.start - line.start, span.end - line.start);
    let ends = span.of(text).is_some_and(is_ended);
    ends && !whole.trim_start().starts_with('#') && sentences(whole).contains(&own)
}

/// The line in which a passage begins, up to where it ends.
fn line_of(text: &str, span: TextSpan) -> TextSpan {
    let start = text.get(..span.start).and_then(|it| it.rfind('\n')).map_or(0, |it| it + 1);
    let rest = text.get(span.end..).unwrap_or_default();
    let end = rest.find('\n').map_or(text.len(), |it| span.end + it);
    TextSpan::new(start, end)
}

fn heading_before(text: &str, at: usize) -> Option<String> {
    let before = text.get(..at)?;
    let line = before.lines().rev().find(|line| line.starts_with('#'))?;
    let heading = line.trim_start_matches('#').trim();
    (!heading.is_empty()).then(|| heading.to_owned())
}

/// The best evidence, without repetitions, in order: at most so many passages of each source, and
/// each source that has any with at least one.
pub(crate) fn ranked(mut all: Vec<Evidence>, settings: &CitationSettings) -> Vec<Evidence> {
    all.retain(|one| one.relevance >= settings.min_relevance);
    sort(&mut all);
    let mut kept: Vec<Evidence> = Vec::new();
    let mut words: Vec<BTreeSet<String>> = Vec::new();
    for one in all {
        let own = content_words(&one.quote);
        let same = kept.iter().zip(&words).any(|(other, their)| {
            other.source == one.source
                && (other.quote.contains(&one.quote)
                    || one.quote.contains(&other.quote)
                    || share(&own, their).max(share(their, &own)) >= OVERLAP
                        && share(&own, their).min(share(their, &own)) >= OVERLAP)
        });
        let count = kept.iter().filter(|other| other.source == one.source).count();
        if !same && count < settings.max_spans_per_source {
            kept.push(one);
            words.push(own);
        }
    }
    let sources: BTreeSet<usize> = kept.iter().map(|one| one.source).collect();
    let most = settings.max_spans_per_source * sources.len().min(SOURCES);
    let most = most.min(settings.max_evidence).max(sources.len().min(settings.max_evidence));
    shared(kept, &sources, most)
}

/// The first of each source, then the best of the rest.
fn shared(all: Vec<Evidence>, sources: &BTreeSet<usize>, most: usize) -> Vec<Evidence> {
    let mut waiting = sources.clone();
    let (first, rest): (Vec<Evidence>, Vec<Evidence>) =
        all.into_iter().partition(|one| waiting.remove(&one.source));
    let mut kept: Vec<Evidence> = first.into_iter().chain(rest).take(most).collect();
    sort(&mut kept);
    kept
}

fn sort(all: &mut [Evidence]) {
    let position = |one: &Evidence| (one.source, one.span.unwrap_or_default().start);
    all.sort_by(|left, right| {
        let order = right.relevance.total_cmp(&left.relevance);
        order.then_with(|| position(left).cmp(&position(right)))
    });
}
