//! Results of tools as passages with numbers, so that a model names its sources by number and code
//! knows where they come from.

use std::borrow::Cow;
use std::fmt::Write as _;

use antiphon_core::content::MediaSource;
use antiphon_core::{Content, ContentPart};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::plan::{ExecutionPlan, SearchTask, TaskStatus};
use super::section_number::SectionNumbers;
use crate::delimited_input::cut;

/// Passages of one result that have numbers.
const MOST: usize = 50;
/// Characters of a passage that a source shows.
const EXCERPT: usize = 300;
/// What tools call a text, a title and a place, the usual ones first.
const TEXT: [&str; 9] = [
    "passage",
    "text",
    "snippet",
    "content",
    "body",
    "summary",
    "description",
    "abstract",
    "answer",
];
/// What tools call their list.
const LIST: [&str; 9] =
    ["results", "items", "hits", "matches", "documents", "entries", "records", "data", "rows"];
const TITLE: [&str; 3] = ["title", "name", "heading"];
const LOCATION: [&str; 8] = ["url", "uri", "link", "href", "path", "file", "source", "location"];

/// A passage that an answer relies on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchSource {
    /// Its number in the prompt, counted from 1 over all results.
    pub number: usize,
    /// The task that found it.
    pub task_number: usize,
    /// The tool that returned it.
    pub tool_name: String,
    /// What it is called.
    pub title: Option<String>,
    /// Where it stands: an address, or a path.
    pub location: Option<String>,
    /// Its beginning.
    pub excerpt: String,
}

/// The result of a task, in parts.
pub(super) struct TaskPassages<'p> {
    pub(super) task: &'p SearchTask,
    pub(super) passages: Vec<FoundPassage>,
    /// What the result says beside its passages.
    pub(super) remark: String,
}

/// A part of a result.
#[derive(Default)]
pub(super) struct FoundPassage {
    pub(super) number: usize,
    pub(super) title: Option<String>,
    pub(super) location: Option<String>,
    pub(super) text: String,
    /// The same without the numbers of sections: what a model reads, and an answer may state.
    pub(super) shown_title: Option<String>,
    shown_text: String,
}

/// The passages of all results, numbered in the order of the tasks. Results that tasks share have
/// their numbers once.
pub(super) fn passages(plan: &ExecutionPlan) -> Vec<TaskPassages<'_>> {
    let mut next = 1;
    let own = plan.with_status(TaskStatus::Completed).filter(|it| it.shares_result_of.is_none());
    let own = own.map(|task| {
        let (mut passages, remark) = parts(task.result.as_ref().unwrap_or(&Json::Null));
        for passage in &mut passages {
            passage.number = next;
            next += 1;
        }
        TaskPassages { task, passages, remark }
    });
    let mut all: Vec<TaskPassages<'_>> = own.collect();
    let texts = all.iter().flat_map(|task| &task.passages).map(|passage| passage.text.as_str());
    let numbers = SectionNumbers::of(texts);
    for passage in all.iter_mut().flat_map(|task| &mut task.passages) {
        let title = passage.title.as_deref();
        passage.shown_title = title.map(|title| numbers.removed(title).into_owned());
        passage.shown_text = numbers.removed(&passage.text).into_owned();
    }
    all
}

impl TaskPassages<'_> {
    /// The sources with these numbers.
    pub(super) fn sources(&self, wanted: impl Fn(usize) -> bool) -> Vec<SearchSource> {
        let chosen = self.passages.iter().filter(|passage| wanted(passage.number));
        let source = |passage: &FoundPassage| SearchSource {
            number: passage.number,
            task_number: self.task.task_number,
            tool_name: self.task.tool_name.clone(),
            title: passage.title.clone(),
            location: passage.location.clone(),
            excerpt: passage.text.chars().take(EXCERPT).collect(),
        };
        chosen.map(source).collect()
    }

    /// The result as a model reads it, in about `room` characters.
    pub(super) fn shown(&self, room: usize) -> String {
        let mut text = String::new();
        for (passage, shown) in self.shown_passages(room) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[{}]{}", passage.number, passage.heading());
            let _ = writeln!(text, "{shown}");
        }
        if !self.remark.is_empty() {
            text.push_str(&self.remark);
        }
        text
    }

    /// Each passage with what is shown of it in about `room` characters for all.
    pub(super) fn shown_passages(
        &self,
        room: usize,
    ) -> impl Iterator<Item = (&FoundPassage, Cow<'_, str>)> {
        let sizes: Vec<usize> =
            self.passages.iter().map(|passage| passage.shown_text.chars().count()).collect();
        let shares = shares(&sizes, room);
        self.passages.iter().zip(shares).map(|(it, room)| (it, cut(&it.shown_text, room)))
    }

    /// How long the result is.
    pub(super) fn size(&self) -> usize {
        self.passages.iter().map(|passage| passage.shown_text.chars().count()).sum()
    }
}

impl FoundPassage {
    fn heading(&self) -> String {
        let mut heading = String::new();
        for part in [&self.shown_title, &self.location].into_iter().flatten() {
            heading.push(if heading.is_empty() { ' ' } else { ',' });
            heading.push_str(if heading.len() > 1 { " " } else { "" });
            heading.push_str(part);
        }
        heading
    }
}

/// Splits `total` evenly; what one does not need goes to the others.
pub(super) fn shares(sizes: &[usize], total: usize) -> Vec<usize> {
    let mut order: Vec<(usize, usize)> = sizes.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, size)| *size);
    let (mut left, mut waiting) = (total, sizes.len());
    let mut shares = vec![0; sizes.len()];
    for (index, size) in order {
        let share = size.min(left / waiting.max(1));
        if let Some(own) = shares.get_mut(index) {
            *own = share;
        }
        (left, waiting) = (left - share, waiting - 1);
    }
    shares
}

/// A result without what tools put around it: structured content before texts, and JSON that
/// stands in a text as its value.
pub(super) fn plain_value(result: &Json) -> Cow<'_, Json> {
    if let Some(content) = Content::of_result(result) {
        let text = match content {
            Content::Parts(parts) => match parts.as_slice() {
                [ContentPart::Data { value }] => return Cow::Owned(value.clone()),
                parts => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
            },
            Content::Text(text) => text,
        };
        return Cow::Owned(json_in(&text).unwrap_or(Json::String(text)));
    }
    match result {
        Json::String(text) => json_in(text).map_or(Cow::Borrowed(result), Cow::Owned),
        // A reply of JSON-RPC, or what the SDK of MCP makes of a plain value.
        Json::Object(fields) if fields.len() == 1 || fields.contains_key("jsonrpc") => {
            fields.get("result").map_or(Cow::Borrowed(result), plain_value)
        }
        Json::Object(fields) => match fields.get("structuredContent") {
            Some(value) if !value.is_null() => Cow::Borrowed(value),
            _ => Cow::Borrowed(result),
        },
        _ => Cow::Borrowed(result),
    }
}

fn part_text(part: &ContentPart) -> String {
    if let Some(text) = part.as_text() {
        return text.into_owned();
    }
    match part {
        ContentPart::Image(media) | ContentPart::File { media, .. } => {
            let size = match &media.source {
                MediaSource::Base64(data) => format!(", {} bytes", data.len() / 4 * 3),
                _ => String::new(),
            };
            format!("[{}{size}]", media.mime_type.as_deref().unwrap_or("a file"))
        }
        _ => String::new(),
    }
}

fn json_in(text: &str) -> Option<Json> {
    let text = text.trim();
    let looks = text.starts_with(['{', '[']);
    looks.then(|| serde_json::from_str(text).ok()).flatten()
}

/// A result as text.
pub(super) fn result_text(result: &Json) -> String {
    match plain_value(result).as_ref() {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The parts of a result: the items of its list, if they have texts or places; else all of it.
fn parts(result: &Json) -> (Vec<FoundPassage>, String) {
    let value = plain_value(result);
    if is_empty(&value) {
        return (Vec::new(), format!("Nothing was found: {value}"));
    }
    let (items, remark) = match value.as_ref() {
        Json::Array(items) => (Some(items), count(items.len())),
        Json::Object(fields) => list_in(fields),
        _ => (None, String::new()),
    };
    let found: Option<Vec<FoundPassage>> =
        items.filter(|items| !items.is_empty()).and_then(|items| {
            items.iter().take(MOST).map(|item| item.as_object().and_then(item_passage)).collect()
        });
    if let Some(passages) = found {
        return (passages, remark);
    }
    let (title, location) = value
        .as_object()
        .map_or((None, None), |fields| (first(fields, &TITLE), first(fields, &LOCATION)));
    let text = result_text(result);
    (vec![FoundPassage { title, location, text, ..FoundPassage::default() }], String::new())
}

/// Whether a result says that nothing was found.
pub(super) fn finds_nothing(result: &Json) -> bool {
    is_empty(&plain_value(result))
}

/// Whether a result says that nothing was found: then it is no source.
fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.trim().is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => {
            let list = |name: &&str| fields.get(*name).and_then(Json::as_array);
            let says = |name: &&str| fields.get(*name).is_some_and(is_words);
            let has_empty_list = LIST.iter().filter_map(list).any(Vec::is_empty);
            let has_list = LIST.iter().filter_map(list).any(|items| !items.is_empty());
            fields.is_empty() || has_empty_list && !has_list && !TEXT.iter().any(says)
        }
        Json::Bool(_) | Json::Number(_) => false,
    }
}

/// The only list of objects in an object, and its other fields in words.
fn list_in(fields: &Map<String, Json>) -> (Option<&Vec<Json>>, String) {
    let is_list = |value: &&Json| {
        value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Json::is_object))
    };
    let mut lists = fields.values().filter(is_list).filter_map(Json::as_array);
    let only = lists.next().filter(|_| lists.next().is_none());
    let beside = fields.iter().filter(|(_, value)| !is_list(value) && !value.is_null());
    let mut remarks: Vec<String> =
        beside.map(|(name, value)| format!("{name}: {}", words(value))).collect();
    if let Some(items) = only {
        remarks.insert(0, count(items.len()));
    }
    (only, remarks.join(", "))
}

fn item_passage(fields: &Map<String, Json>) -> Option<FoundPassage> {
    let named = |names: &[&'static str]| -> Option<&'static str> {
        names.iter().copied().find(|name| fields.get(*name).is_some_and(is_words))
    };
    let (text, location) = (named(&TEXT), named(&LOCATION));
    if text.is_none() && location.is_none() {
        return None;
    }
    let title = named(&TITLE);
    let taken = [text, location, title];
    let others = fields.iter().filter(|(name, value)| {
        !taken.contains(&Some(name.as_str())) && (value.is_number() || is_words(value))
    });
    let mut lines: Vec<String> = others
        .filter(|(name, _)| *name != "anchor")
        .map(|(name, value)| format!("{name}: {}", words(value)))
        .collect();
    lines.extend(text.and_then(|name| Some(fields.get(name)?.as_str()?.to_owned())));
    let place = location.and_then(|name| fields.get(name)?.as_str());
    let anchor = fields.get("anchor").and_then(Json::as_str);
    let location = place.map(|place| match anchor {
        Some(anchor) if !place.contains('#') => format!("{place}#{anchor}"),
        _ => place.to_owned(),
    });
    let title = title.and_then(|name| Some(fields.get(name)?.as_str()?.to_owned()));
    Some(FoundPassage { title, location, text: lines.join("\n"), ..FoundPassage::default() })
}

fn count(results: usize) -> String {
    if results == 1 { "1 result".to_owned() } else { format!("{results} results") }
}

fn is_words(value: &Json) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn words(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn first(fields: &Map<String, Json>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| Some(fields.get(*name)?.as_str()?.to_owned()))
}
