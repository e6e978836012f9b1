//! A report in a caller's form as Markdown: each text and number becomes a paragraph or an item
//! with citations, so that all stages work on it as on any other report.

use antiphon_figures::{QuantityKind, quantities};
use serde_json::{Map, Number, Value as Json};

use crate::claim::statements;
use crate::compose::{ComposedText, compose};
use crate::correction::citation_score;
use crate::evidence::Evidence;
use crate::field::{FieldKind, ReportField};
use crate::marker::{brackets, indices, words_end};
use crate::report::cited;
use crate::settings::CitationSettings;
use crate::source::{CitedSource, SourceKeys};

/// The end of the names of fields that list sources.
const REFERENCES: &str = "source_refs";
/// The words of a text that only names something, at most.
const NAME: usize = 12;
/// What objects are called by.
const SUBJECTS: [&str; 6] = ["name", "title", "label", "heading", "subject", "topic"];

/// What a value is laid out with.
#[derive(Clone, Copy)]
pub(crate) struct LayoutEvidence<'a> {
    pub(crate) pool: &'a [Evidence],
    pub(crate) sources: &'a [CitedSource],
    pub(crate) settings: &'a CitationSettings,
}

/// Lays a value out. A text has the citations of the evidence that fits each of its sentences best
/// among that of the sources it names, or among all evidence if it names none.
pub(crate) fn lay_out(
    value: &Json,
    evidence: LayoutEvidence<'_>,
    keys: &mut SourceKeys,
) -> (ComposedText, Vec<ReportField>) {
    let composed = ComposedText::default();
    let mut layout = ReportLayout { evidence, keys, composed, fields: Vec::new(), is_list: false };
    layout.put(value, &FieldContext { level: 1, ..FieldContext::default() });
    (layout.composed, layout.fields)
}

/// The numbers of sources in a list of them, which may also be a text.
pub(crate) fn source_numbers(list: &Json, sources: &[CitedSource]) -> Vec<usize> {
    let of_text = |text: &str| -> Vec<usize> {
        let place = sources.iter().position(|source| source.url == text.trim());
        let parts = text.split(|sign: char| !sign.is_ascii_digit());
        let numbers = parts.filter_map(|part| part.parse().ok());
        place.map_or_else(|| numbers.collect(), |place| vec![place + 1])
    };
    match list {
        Json::Array(items) => items.iter().flat_map(|it| source_numbers(it, sources)).collect(),
        Json::String(text) => of_text(text),
        Json::Number(number) => of_text(&number.to_string()),
        _ => Vec::new(),
    }
}

/// Whether a field of that name lists sources.
pub(crate) fn is_references(name: &str) -> bool {
    let rest = name.strip_suffix(REFERENCES);
    rest.is_some_and(|before| before.is_empty() || before.ends_with('_'))
}

/// Where a value stands, and what holds for all that it has.
#[derive(Clone, Default)]
struct FieldContext {
    pointer: String,
    /// What it is called.
    label: String,
    /// The name of the object that it belongs to.
    subject: String,
    references: Option<FieldReferences>,
    /// The level of its heading, less one.
    level: usize,
}

/// The sources of a field.
#[derive(Clone)]
struct FieldReferences {
    pointer: String,
    numbers: Vec<usize>,
    /// Whether they are those of this field alone, and not of all fields of an object.
    is_own: bool,
}

struct ReportLayout<'a> {
    evidence: LayoutEvidence<'a>,
    keys: &'a mut SourceKeys,
    composed: ComposedText,
    fields: Vec<ReportField>,
    /// Whether an item stands last.
    is_list: bool,
}

impl ReportLayout<'_> {
    fn put(&mut self, value: &Json, context: &FieldContext) {
        match value {
            Json::Object(map) => {
                self.heading(context);
                self.object(map, context);
            }
            Json::Array(items) => self.list(items, context),
            Json::String(text) if is_address(text.trim()) => {
                self.fields.push(context.field(FieldKind::Address, String::new()));
            }
            Json::String(text) => self.text(text.trim(), context),
            Json::Number(number) => self.number(number, context),
            Json::Null | Json::Bool(_) => {}
        }
    }

    fn object<'v>(&mut self, map: &'v Map<String, Json>, context: &FieldContext) {
        let shared = map.get(REFERENCES).map(|list| self.references(list, context, REFERENCES));
        let subject = subject(map);
        let child = |(key, value): (&'v String, &'v Json)| {
            let name = format!("{key}_{REFERENCES}");
            let own = map.get(&name).map(|list| self.references(list, context, &name));
            let own = own.map(|it| FieldReferences { is_own: true, ..it });
            let is_subject = subject.is_some_and(|(name, _)| name == key);
            let context = FieldContext {
                pointer: format!("{}/{}", context.pointer, escaped(key)),
                label: readable(key),
                subject: subject.filter(|_| !is_subject).map_or("", |(_, text)| text).to_owned(),
                references: own.or_else(|| shared.clone()).or_else(|| context.references.clone()),
                level: context.level + 1,
            };
            (context, value)
        };
        let named = map.iter().filter(|(key, _)| !is_references(key));
        // A heading takes all that follows: what has none comes first.
        let (items, sections): (Vec<_>, Vec<_>) = named.map(child).partition(|(_, it)| is_item(it));
        for (context, value) in items.into_iter().chain(sections) {
            self.put(value, &context);
        }
    }

    fn list(&mut self, items: &[Json], context: &FieldContext) {
        if items.iter().any(|item| !item.is_number()) {
            self.heading(context);
        }
        for (number, item) in items.iter().enumerate() {
            let name = item.as_object().and_then(subject).map(|(_, name)| name.to_owned());
            let label = match item {
                Json::Object(_) => {
                    name.unwrap_or_else(|| format!("{} {}", context.label, number + 1))
                }
                Json::String(_) => String::new(),
                _ => context.label.clone(),
            };
            let pointer = format!("{}/{number}", context.pointer);
            let item_context =
                FieldContext { pointer, label, level: context.level + 1, ..context.clone() };
            self.put(item, &item_context);
        }
    }

    fn text(&mut self, text: &str, context: &FieldContext) {
        if text.is_empty() {
            return;
        }
        let is_own = context.references.as_ref().is_some_and(|it| it.is_own);
        let names = is_name(text) && !is_own && quantities(text).is_empty();
        let kind = if names { FieldKind::Name } else { FieldKind::Text };
        if is_name(text) || context.label.is_empty() && !text.contains('\n') {
            return self.item(text, context.field(kind, context.prefix()), context);
        }
        self.heading(context);
        self.gap(false);
        let text = self.with_citations(text, context);
        self.add(&text, context.field(kind, String::new()));
    }

    fn number(&mut self, number: &Number, context: &FieldContext) {
        let number = number.to_string();
        let unit = context.label.split(' ').next_back().unwrap_or_default();
        let measured = format!("{number} {unit}");
        let is_plain = |kind| matches!(kind, QuantityKind::Count | QuantityKind::Year);
        let is_unit = quantities(&measured).first().is_some_and(|it| !is_plain(it.kind));
        let text = if is_unit { measured } else { number };
        self.item(&text, context.field(FieldKind::Number, context.prefix()), context);
    }

    fn item(&mut self, text: &str, field: ReportField, context: &FieldContext) {
        self.gap(true);
        self.composed.text.push_str("- ");
        let text = format!("{}{text}", field.label);
        let text = if field.kind == FieldKind::Name {
            without_indices(&text).0
        } else {
            self.with_citations(&text, context)
        };
        self.add(&text, field);
    }

    /// Adds a text as the field that it is.
    fn add(&mut self, text: &str, mut field: ReportField) {
        let LayoutEvidence { pool, sources, .. } = self.evidence;
        let composed = compose(text, pool, sources, self.keys);
        field.span = Some(self.composed.append(composed));
        let keys = &*self.keys;
        let known = |label: &str| keys.source(label).is_some();
        field.written = field.read(&self.composed.text, &known).unwrap_or_default();
        self.fields.push(field);
    }

    fn heading(&mut self, context: &FieldContext) {
        if !context.label.is_empty() {
            self.gap(false);
            let marks = "#".repeat(context.level.clamp(1, 6));
            self.composed.text.extend([&marks, " ", &context.label]);
        }
    }

    fn gap(&mut self, is_item: bool) {
        let is_next = is_item && std::mem::replace(&mut self.is_list, is_item);
        self.is_list = is_item;
        if !self.composed.text.is_empty() {
            self.composed.text.push_str(if is_next { "\n" } else { "\n\n" });
        }
    }

    fn references(&self, list: &Json, context: &FieldContext, name: &str) -> FieldReferences {
        let numbers = source_numbers(list, self.evidence.sources);
        let pointer = format!("{}/{}", context.pointer, escaped(name));
        FieldReferences { pointer, numbers, is_own: false }
    }

    /// A text with the indices of the evidence of its sentences.
    fn with_citations(&self, text: &str, context: &FieldContext) -> String {
        let mut found = text.to_owned();
        for span in statements(text).into_iter().rev() {
            let (sentence, inline) = without_indices(span.of(text).unwrap_or_default());
            let named = context.references.iter().flat_map(|it| it.numbers.clone());
            let named: Vec<usize> = named.chain(inline).collect();
            let marks = self.evidence_for(&sentence, &named);
            // A note stands for a source that has no evidence.
            let marks = if marks.is_empty() && !named.is_empty() {
                vec!["^".to_owned()]
            } else {
                marks.iter().map(usize::to_string).collect()
            };
            let sentence = cited(&sentence, &marks, &|_| false);
            found.replace_range(span.start..span.end, &sentence);
        }
        found
    }

    /// The indices of the evidence that fits a sentence, the best first: one of each source that it
    /// names, if more than the best fits well; the best of all if it fits well and none is named.
    fn evidence_for(&self, sentence: &str, named: &[usize]) -> Vec<usize> {
        let LayoutEvidence { pool, settings, .. } = self.evidence;
        let mut scored: Vec<(f64, usize, usize)> = Vec::new();
        for (index, one) in pool.iter().enumerate() {
            if named.is_empty() || named.contains(&(one.source + 1)) {
                let score = citation_score(sentence, &one.quote, settings.keyword_weight);
                scored.push((score, one.source, index));
            }
        }
        scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.2.cmp(&right.2)));
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (score, source, index) in scored {
            let is_new = found.iter().all(|(_, known)| *known != source);
            let is_first = found.is_empty();
            let fits = score >= settings.citation_threshold;
            if is_new && (fits || is_first && !named.is_empty()) && (is_first || !named.is_empty())
            {
                found.push((index, source));
            }
        }
        found.into_iter().map(|(index, _)| index).collect()
    }
}

impl FieldContext {
    /// What stands before a text in an item.
    fn prefix(&self) -> String {
        match (self.subject.as_str(), self.label.as_str()) {
            (_, "") => String::new(),
            ("", label) => format!("{label}: "),
            (subject, label) => format!("{subject}, {}: ", label.to_lowercase()),
        }
    }

    fn field(&self, kind: FieldKind, label: String) -> ReportField {
        let references = self.references.as_ref().map(|it| it.pointer.clone());
        let references = references.filter(|_| kind != FieldKind::Name);
        ReportField {
            pointer: self.pointer.clone(),
            kind,
            label,
            references,
            ..ReportField::default()
        }
    }
}

/// A text without indices in brackets, and the indices.
fn without_indices(text: &str) -> (String, Vec<usize>) {
    let (mut left, mut found) = (text.to_owned(), Vec::new());
    for bracket in brackets(text).into_iter().rev() {
        let Some(numbers) = indices(&bracket.label) else { continue };
        let start = words_end(text.get(..bracket.span.start).unwrap_or_default());
        left.replace_range(start..bracket.span.end, "");
        found.extend(numbers);
    }
    (left, found)
}

/// The name of an object and the field that has it.
fn subject(map: &Map<String, Json>) -> Option<(&str, &str)> {
    let named = |key: &&str| {
        let text = map.get(*key)?.as_str()?.trim();
        // A number in a heading would stand there without its source.
        let is_plain = !text.contains(|sign: char| "[]`#|\n".contains(sign) || sign.is_numeric());
        (is_name(text) && is_plain && !text.is_empty()).then_some(text)
    };
    SUBJECTS.iter().find_map(|key| Some((*key, named(key)?)))
}

/// Whether a text is no sentence.
fn is_name(text: &str) -> bool {
    let ends = text.ends_with(['.', '!', '?', '。', '！', '？']);
    !ends && !text.contains('\n') && text.split_whitespace().count() <= NAME
}

/// Whether a value stands in an item, without a heading.
fn is_item(value: &Json) -> bool {
    match value {
        Json::String(text) => is_name(text.trim()) || is_address(text.trim()),
        Json::Array(_) | Json::Object(_) => false,
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
    }
}

/// Whether a text is an address and nothing else.
fn is_address(text: &str) -> bool {
    let starts = ["http://", "https://", "file://", "www."].iter().any(|it| text.starts_with(it));
    starts && !text.contains(char::is_whitespace)
}

/// The name of a field as people write it: `key_findings` and `keyFindings` are `Key findings`.
fn readable(key: &str) -> String {
    let mut text = String::new();
    let mut before = ' ';
    for sign in key.chars() {
        let is_word = sign.is_uppercase() && before.is_lowercase();
        let is_sign = sign.is_alphanumeric();
        if (is_word || !is_sign) && !text.ends_with(' ') {
            text.push(' ');
        }
        if is_sign && text.is_empty() {
            text.extend(sign.to_uppercase());
        } else if is_sign {
            text.extend(sign.to_lowercase().filter(|_| is_word).chain((!is_word).then_some(sign)));
        }
        before = sign;
    }
    text.trim().to_owned()
}

/// A key in a JSON pointer.
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
