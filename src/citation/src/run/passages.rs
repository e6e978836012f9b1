//! What may stand in a report at all, and the report of passages in the place of one that no model
//! has written.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::CitationRun;
use crate::block::{BlockKind, blocks};
use crate::claim::{Claim, asks, bare, statements};
use crate::compose::{ComposedText, compose};
use crate::evidence::Evidence;
use crate::hedge::is_noted;
use crate::model_order::{InstructionFilter, plain};
use crate::relevance::TopicWords;
use crate::removal::without_repetitions;
use crate::source::SourceKeys;
use crate::verdict::Verdict;
use crate::word::{content_words, words};

/// What a list of passages begins with.
const LIST: &str = "No report was written. These passages of the sources bear on the question:";
/// Passages of such a list, at most.
const LISTED: usize = 12;
/// Words of a sentence that can repeat a page, at least.
const WORDS: usize = 4;
/// Such sentences of a report that only repeats pages, at least, and their share of all.
const REPEATED: (usize, f64) = (5, 0.7);
/// Pages that were not asked about from which it has them, at least.
const IDLE_PAGES: usize = 2;

/// Why a list of passages stands in the place of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingReport {
    /// No model has written one.
    NoReply,
    /// It only repeated what the pages say, most of which was not asked.
    RepeatsPages,
    /// The sources refute all of it.
    NothingLeft,
    /// It cites nothing, and none of its sentences bears on the question.
    BesideTheQuestion,
}

impl MissingReport {
    /// A clause that says so.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoReply => "no model has written the report",
            Self::RepeatsPages => "the model has only repeated passages of its pages",
            Self::NothingLeft => "its sources refute all that the report said",
            Self::BesideTheQuestion => {
                "the report cites nothing, and does not bear on the question"
            }
        }
    }
}

impl CitationRun {
    /// What a model has written, without repetitions and what pages say to language models, and with
    /// code that states a number of its own as plain text, which is checked.
    pub(super) fn admitted(&self, written: &str) -> String {
        let known = InstructionFilter::of_sources(&self.input.sources);
        let (text, _) = known.removed_from(written);
        self.without_false_code(&without_repetitions(&text))
    }

    /// The same of a report that is a value.
    pub(super) fn admitted_value(&self, value: Json) -> Json {
        let known = InstructionFilter::of_sources(&self.input.sources);
        admitted_texts(value, &known)
    }

    /// Text that looks like code would hide its numbers from all checks.
    fn without_false_code(&self, text: &str) -> String {
        let sources = self.input.sources.iter();
        let known = sources.flat_map(|it| [it.text.as_str(), &it.snippet]);
        let known: Vec<&str> = known.chain([self.input.question.as_str()]).collect();
        let is_known = |number: &str| known.iter().any(|text| has_number(text, number));
        let mut made = text.to_owned();
        for block in blocks(text).into_iter().rev().filter(|it| it.kind == BlockKind::Code) {
            let code = block.lines.of(text).unwrap_or_default();
            if numbers(&without_indices(code)).all(is_known) {
                continue;
            }
            let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
            let lines: Vec<&str> =
                code.lines().map(str::trim_start).filter(|line| !is_fence(line)).collect();
            let plain = format!("\n{}\n\n", lines.join("\n"));
            made.replace_range(block.lines.start..block.lines.end, &plain);
        }
        made
    }

    /// Whether a report only repeats sentences of several pages, most of which do not bear on the
    /// question by their titles either: a small model has copied what it was shown. Where no
    /// passage bears on it, as in another language, nothing can be said.
    pub(super) fn repeats_pages(&self, report: &ComposedText) -> bool {
        let pages = self.input.sources.iter().map(|it| {
            let own = [it.text.as_str(), &it.snippet].map(plain);
            (own, it.title.as_str())
        });
        let notes = self.input.observations.iter().map(|it| ([plain(it), String::new()], ""));
        let known: Vec<([String; 2], &str)> = pages.chain(notes).collect();
        let titles: Vec<String> = self.input.sources.iter().map(|it| plain(&it.title)).collect();
        let topics = self.topic_words();
        let (mut all, mut repeated, mut idle) = (0_usize, 0_usize, 0_usize);
        let mut idle_pages = BTreeSet::new();
        for sentence in statements(&report.text).into_iter().filter_map(|it| it.of(&report.text)) {
            let sentence = bare(sentence, &|_| true);
            if words(&sentence).len() < WORDS {
                continue;
            }
            all += 1;
            let own = untitled(plain(&sentence), &titles);
            let stands =
                |(texts, _): &([String; 2], &str)| texts.iter().any(|it| it.contains(&own));
            let Some(page) = known.iter().position(stands) else { continue };
            repeated += 1;
            let title = known.get(page).map_or("", |(_, title)| title);
            if !topics.bear_on(&sentence, title) && !topics.bear_on(title, "") {
                idle += 1;
                idle_pages.insert(page);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a report has few sentences")]
        let share = repeated as f64 / all.max(1) as f64;
        let is_copied = repeated >= REPEATED.0 && share >= REPEATED.1;
        let is_idle = idle * 2 > repeated && idle_pages.len() >= IDLE_PAGES;
        let bears = |one: &Evidence| topics.bear_on(&one.quote, &self.heading_of(one));
        is_copied && is_idle && self.evidence.iter().any(bears)
    }

    /// Whether a report cites nothing and none of its sentences has to do with the question, nor with
    /// passages that bear most on it. Of code nothing can be said.
    pub(super) fn is_beside_the_question(&self) -> bool {
        let text = self.text();
        if self.value.is_some() || !self.report.claims.iter().all(|it| it.keys.is_empty()) {
            return false;
        }
        let asked = self.weighed_words(&[]);
        let weights = |one: &Evidence| asked.weights(&one.quote, &self.heading_of(one));
        let weights: Vec<Vec<f64>> = self.evidence.iter().map(weights).collect();
        let near = self.evidence.iter().zip(asked.nearest(&weights)).filter(|(_, near)| *near);
        let related: Vec<_> = near.map(|(one, _)| content_words(&one.quote)).collect();
        let is_beside = |said: &str| {
            let own = content_words(said);
            asked.pass_by(said) && related.iter().all(|known| known.is_disjoint(&own))
        };
        let all = blocks(text);
        let mut said = all.iter().filter_map(|block| block.content.of(text));
        let has_code = all.iter().any(|block| block.kind == BlockKind::Code);
        !has_code && !related.is_empty() && !statements(text).is_empty() && said.all(is_beside)
    }

    pub(super) fn topic_words(&self) -> TopicWords {
        self.weighed_words(&self.input.topics)
    }

    fn weighed_words(&self, topics: &[String]) -> TopicWords {
        let texts = self.input.sources.iter().map(|source| {
            if source.read_text().is_empty() { source.snippet.as_str() } else { source.read_text() }
        });
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        TopicWords::new(&self.input.question, topics, &texts)
    }

    /// The title of a passage, and the heading above it.
    pub(super) fn heading_of(&self, one: &Evidence) -> String {
        let title = self.input.sources.get(one.source).map_or("", |source| &source.title);
        format!("{title} {}", one.section.as_deref().unwrap_or_default())
    }

    /// A report of the passages that bear on the question, if no model has written one; it is empty
    /// if none does.
    pub(super) fn write_from_evidence(&mut self, missing: MissingReport) {
        let mut text = String::new();
        let topics = self.topic_words();
        let bears =
            |(_, one): &(usize, &Evidence)| topics.bear_on(&one.quote, &self.heading_of(one));
        let listed: Vec<(usize, &Evidence)> =
            self.evidence.iter().enumerate().filter(bears).take(LISTED).collect();
        let count = listed.len();
        for (number, one) in listed {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- {} [{number}]", in_one_line(&one.quote));
        }
        if count > 0 {
            text.insert_str(0, &format!("{LIST}\n\n"));
        }
        let mut keys = SourceKeys::default();
        let composed = compose(&text, &self.evidence, &self.input.sources, &mut keys);
        self.missing = Some(missing);
        self.note("synthesis_degraded", json!({"passages": count, "reason": missing}));
        self.take_over(composed, keys);
    }

    /// Whether the report states anything that its sources may confirm: a question does not, nor
    /// does what is left of a verified report of which nothing is cited or supported any more.
    pub fn states_something(&self) -> bool {
        let text = self.text();
        if blocks(text).iter().any(|block| block.kind == BlockKind::Code) {
            return true;
        }
        let claims = &self.report.claims;
        let is_confirmed = |claim: &Claim| {
            claim.is_delivered()
                && (!claim.keys.is_empty() || claim.verdict == Some(Verdict::Supported))
        };
        let has_lost_all =
            claims.iter().any(|it| it.verdict.is_some()) && !claims.iter().any(is_confirmed);
        let is_open = |sentence: &str| !is_noted(sentence) && !asks(&bare(sentence, &|_| true));
        let said = statements(text);
        !has_lost_all && said.into_iter().filter_map(|it| it.of(text)).any(is_open)
    }
}

/// The texts of a value without what pages say to language models.
fn admitted_texts(value: Json, known: &InstructionFilter) -> Json {
    match value {
        Json::String(text) => Json::String(known.removed_from(&text).0),
        Json::Array(items) => items.into_iter().map(|it| admitted_texts(it, known)).collect(),
        Json::Object(fields) => {
            fields.into_iter().map(|(key, it)| (key, admitted_texts(it, known))).collect()
        }
        other => other,
    }
}

/// Words without the titles that they begin with.
fn untitled(words: String, titles: &[String]) -> String {
    let mut rest = words;
    while let Some(title) = titles
        .iter()
        .find(|title| title.len() > 2 && rest.len() > title.len() && rest.starts_with(*title))
    {
        rest.drain(..title.len() - 1);
    }
    rest
}

/// A passage as an item of a list: without headings, and with the rows of a table as sentences.
fn in_one_line(quote: &str) -> String {
    let is_rule =
        |line: &str| line.contains('-') && line.trim_matches(['|', '-', ':', ' ']).is_empty();
    let cells = |line: &str| {
        let cells = line.trim().trim_matches('|').split('|').map(str::trim);
        cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(", ")
    };
    let lines =
        quote.lines().map(str::trim).filter(|line| !line.starts_with('#') && !is_rule(line));
    let lines =
        lines.map(|line| if line.starts_with('|') { cells(line) + ";" } else { line.to_owned() });
    let text = lines.collect::<Vec<_>>().join(" ").replace(['[', ']', '`'], " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim_start_matches(['#', '|', '>', ' ']).trim_end_matches(';').to_owned()
}

/// Code without citations, which count nowhere in it.
fn without_indices(code: &str) -> String {
    let is_index = |label: &str| !label.is_empty() && label.bytes().all(|it| it.is_ascii_digit());
    let mut kept = String::with_capacity(code.len());
    for part in code.split_inclusive(']') {
        let label =
            part.rsplit_once('[').and_then(|(head, rest)| Some((head, rest.strip_suffix(']')?)));
        kept.push_str(label.filter(|(_, label)| is_index(label)).map_or(part, |(head, _)| head));
    }
    kept
}

/// The runs of digits of a text.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_ascii_digit()).filter(|run| !run.is_empty())
}

fn has_number(text: &str, number: &str) -> bool {
    text.contains(number) && numbers(text).any(|own| own == number)
}
