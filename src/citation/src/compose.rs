//! From what a model has written to a report: indices become keys of sources, and all that only
//! looks like a citation goes.

use crate::block::{BlockKind, blocks};
use crate::evidence::Evidence;
use crate::marker::{bracket_positions, brackets, indices, links, words_end};
use crate::source::{CitedSource, SourceKeys};
use crate::span::TextSpan;

/// A citation in a report, with the evidence that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CitedMarker {
    pub(crate) span: TextSpan,
    pub(crate) key: String,
    pub(crate) evidence: Vec<String>,
}

/// A report with keys in place of indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ComposedText {
    pub(crate) text: String,
    pub(crate) markers: Vec<CitedMarker>,
    /// Where citations that stood for nothing were taken out.
    unknown: Vec<usize>,
    /// Citations, links and brackets that stood for nothing.
    pub(crate) removed: usize,
}

/// Makes a report of what a model has written.
pub(crate) fn compose(
    written: &str,
    pool: &[Evidence],
    sources: &[CitedSource],
    keys: &mut SourceKeys,
) -> ComposedText {
    let mut removed = 0;
    let text = unwrapped(written).replace('【', "[").replace('】', "]");
    let text = without_references(&text);
    let text = without_links(&text, sources, pool.is_empty(), &mut removed);
    let mut composed = ComposedText { removed, ..ComposedText::default() };
    let mut from = 0;
    for bracket in brackets(&text) {
        let before = text.get(from..bracket.span.start).unwrap_or_default();
        composed.text.push_str(before);
        from = bracket.span.end;
        match indices(&bracket.label) {
            Some(numbers) => composed.cite(&numbers, pool, sources, keys),
            None => composed.unbracket(&bracket.label),
        }
    }
    composed.text.push_str(text.get(from..).unwrap_or_default());
    composed.trim();
    composed.round_brackets();
    composed
}

impl ComposedText {
    /// The citations of nothing that a sentence had, within it or right at its ends.
    pub(crate) fn unknown_citations(&self, sentence: TextSpan) -> usize {
        let before = self.text.get(..sentence.start).and_then(|text| text.chars().next_back());
        let begins = before.is_none_or(char::is_whitespace);
        let is_own = |at: &&usize| {
            sentence.start < **at && **at <= sentence.end || begins && **at == sentence.start
        };
        self.unknown.iter().filter(is_own).count()
    }

    /// Adds another text with its citations, and says where it stands.
    pub(crate) fn append(&mut self, other: Self) -> TextSpan {
        let start = self.text.len();
        self.text.push_str(&other.text);
        let moved = |span: TextSpan| TextSpan::new(span.start + start, span.end + start);
        let markers = other.markers.into_iter();
        self.markers.extend(markers.map(|it| CitedMarker { span: moved(it.span), ..it }));
        self.unknown.extend(other.unknown.into_iter().map(|at| at + start));
        self.removed += other.removed;
        TextSpan::new(start, self.text.len())
    }

    fn cite(
        &mut self,
        numbers: &[usize],
        pool: &[Evidence],
        sources: &[CitedSource],
        keys: &mut SourceKeys,
    ) {
        let mut has_any = false;
        for number in numbers {
            let found = pool.get(*number).and_then(|one| Some((one, sources.get(one.source)?)));
            let Some((evidence, source)) = found else {
                self.removed += 1;
                continue;
            };
            let key = keys.key(evidence.source, source);
            self.put(&key, &evidence.id);
            has_any = true;
        }
        if !has_any {
            self.text.truncate(words_end(&self.text));
            self.unknown.push(self.text.len());
        }
    }

    /// Adds a marker, or its evidence to the one before it if that has the same key.
    fn put(&mut self, key: &str, evidence: &str) {
        let end = words_end(&self.text);
        let touching: Vec<usize> = self.touching(end);
        for place in touching {
            let Some(marker) = self.markers.get_mut(place).filter(|it| it.key == key) else {
                continue;
            };
            if !marker.evidence.iter().any(|own| own == evidence) {
                marker.evidence.push(evidence.to_owned());
            }
            self.text.truncate(end);
            return;
        }
        let start = self.text.len();
        self.text.push('[');
        self.text.push_str(key);
        self.text.push(']');
        let span = TextSpan::new(start, self.text.len());
        let evidence = vec![evidence.to_owned()];
        self.markers.push(CitedMarker { span, key: key.to_owned(), evidence });
    }

    /// The markers that stand side by side up to this position.
    fn touching(&self, mut end: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for (place, marker) in self.markers.iter().enumerate().rev() {
            if marker.span.end != end {
                break;
            }
            found.push(place);
            let before = self.text.get(..marker.span.start).unwrap_or_default();
            end = before.trim_end_matches(' ').len();
        }
        found
    }

    /// Brackets around something else would look like a citation.
    fn unbracket(&mut self, label: &str) {
        self.removed += 1;
        let is_note = label.starts_with(['^', '@', '#']) || label.trim().is_empty();
        if is_note {
            self.text.truncate(words_end(&self.text));
            self.unknown.push(self.text.len());
            return;
        }
        // A name or a number looks like a source; `[sic]` and `[...]` do not.
        if label.contains(|sign: char| sign.is_uppercase() || sign.is_numeric()) {
            self.unknown.push(self.text.len());
        }
        self.text.push('(');
        self.text.push_str(label);
        self.text.push(')');
    }

    /// Square brackets that are left, such as those around a citation, become round ones.
    fn round_brackets(&mut self) {
        for at in bracket_positions(&self.text) {
            let is_ours = |marker: &CitedMarker| marker.span.holds(TextSpan::new(at, at + 1));
            if self.markers.iter().any(is_ours) {
                continue;
            }
            let is_open = self.text.get(at..).is_some_and(|rest| rest.starts_with('['));
            self.text.replace_range(at..=at, if is_open { "(" } else { ")" });
        }
    }

    fn trim(&mut self) {
        self.text.truncate(self.text.trim_end().len());
        let start = self.text.len() - self.text.trim_start().len();
        self.text.drain(..start);
        for marker in &mut self.markers {
            marker.span = TextSpan::new(marker.span.start - start, marker.span.end - start);
        }
        for at in &mut self.unknown {
            *at = at.saturating_sub(start);
        }
    }
}

/// A text without the fence around all of it.
fn unwrapped(text: &str) -> &str {
    let bare = text.trim();
    let inner = bare.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner
        .and_then(|inner| inner.split_once('\n'))
        .filter(|(language, _)| matches!(language.trim(), "" | "markdown" | "md" | "text"));
    inner.map_or(bare, |(_, inner)| if inner.contains("```") { bare } else { inner })
}

/// A text without its own list of references: ours is made from what is cited.
fn without_references(text: &str) -> String {
    const TITLES: [&str; 7] = [
        "references",
        "sources",
        "bibliography",
        "works cited",
        "citations",
        "quellen",
        "literatur",
    ];
    let mut kept = String::with_capacity(text.len());
    let (mut from, mut dropped): (usize, Option<usize>) = (0, None);
    for block in blocks(text) {
        let BlockKind::Heading(level) = block.kind else { continue };
        let title = block.content.of(text).unwrap_or_default();
        let title = title.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
        if dropped.is_some_and(|open| level <= open) {
            (from, dropped) = (block.lines.start, None);
        }
        if dropped.is_none() && TITLES.contains(&title.as_str()) {
            kept.push_str(text.get(from..block.lines.start).unwrap_or_default());
            dropped = Some(level);
        }
    }
    if dropped.is_none() {
        kept.push_str(text.get(from..).unwrap_or_default());
    }
    // Targets of links, and footnotes.
    let is_target =
        |line: &str| line.strip_prefix('[').and_then(|rest| rest.split_once("]:")).is_some();
    kept.split_inclusive('\n').filter(|line| !is_target(line.trim_start())).collect()
}

/// A text without links, except, where nothing else is cited, those to sources of the run.
fn without_links(
    text: &str,
    sources: &[CitedSource],
    keeps_known: bool,
    removed: &mut usize,
) -> String {
    let mut kept = text.to_owned();
    for link in links(text).into_iter().rev() {
        let is_known = sources.iter().any(|source| source.url == link.url);
        if is_known && keeps_known {
            continue;
        }
        let is_address = link.label == link.url || links(&link.label).len() == 1;
        let follows = text.get(link.span.end..).unwrap_or_default();
        // A label alone would hide that an address was there: a note goes as one of nothing.
        let is_marked = !is_known && !is_address && !follows.starts_with('(');
        *removed += usize::from(!is_marked);
        let label = if is_address { "(link removed)" } else { &link.label };
        let mark = if is_marked { "[^link]" } else { "" };
        kept.replace_range(link.span.start..link.span.end, &format!("{label}{mark}"));
    }
    kept
}
