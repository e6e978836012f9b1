//! A report in a caller's form: what the stages have left of each field is put back into it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::CitationRun;
use crate::claim::Claim;
use crate::field::{FieldKind, ReportField};
use crate::layout::{escaped, is_references, source_numbers};
use crate::source::CitedSource;

impl CitationRun {
    /// The value that was written, as far as the report still says it; none if the report is a
    /// text. Lists of sources have those that the report cites there, by the numbers that the
    /// caller knows them by. A text that is gone is empty and a number null, and elements of lists
    /// of which nothing is left go.
    pub fn value(&self, number: &dyn Fn(&CitedSource) -> Option<usize>) -> Option<Json> {
        let mut value = self.value.clone()?;
        let mut lost: Vec<&str> = Vec::new();
        for field in &self.report.fields {
            let Some(slot) = value.pointer_mut(&field.pointer) else { continue };
            if let Some(left) = self.left_of(field, slot) {
                *slot = left;
            } else {
                let is_number = field.kind == FieldKind::Number;
                *slot = if is_number { Json::Null } else { json!("") };
                lost.push(&field.pointer);
            }
        }
        self.name_sources(&mut value, number);
        for element in self.lost_elements(&value, &lost) {
            let Some((list, place)) = element.rsplit_once('/') else { continue };
            let Ok(place) = place.parse::<usize>() else { continue };
            if let Some(items) = value.pointer_mut(list).and_then(Json::as_array_mut) {
                items.remove(place);
            }
        }
        Some(value)
    }

    /// What the report still says of a field.
    fn left_of(&self, field: &ReportField, before: &Json) -> Option<Json> {
        let known = |label: &str| self.keys.source(label).is_some();
        let read = || field.read(&self.report.text, &known);
        match field.kind {
            FieldKind::Text | FieldKind::Name => read().map(Json::String),
            FieldKind::Number => (read()? == field.written).then(|| before.clone()),
            FieldKind::Address => {
                let url = before.as_str()?.trim();
                self.input.sources.iter().any(|it| it.url == url).then(|| before.clone())
            }
        }
    }

    /// Lists the sources that the fields of the report cite.
    fn name_sources(&self, value: &mut Json, number: &dyn Fn(&CitedSource) -> Option<usize>) {
        let mut done: BTreeSet<&str> = BTreeSet::new();
        for pointer in self.report.fields.iter().filter_map(|it| it.references.as_deref()) {
            if !done.insert(pointer) {
                continue;
            }
            let own = self.report.fields.iter();
            let own = own.filter(|it| it.references.as_deref() == Some(pointer));
            let mut numbers: Vec<usize> = Vec::new();
            for source in own.flat_map(|field| self.sources_of(field)) {
                numbers.extend(number(source).filter(|it| !numbers.contains(it)));
            }
            if let Some(list) = value.pointer_mut(pointer) {
                *list = in_form_of(list, &numbers);
            }
        }
        self.forget_unknown(value, "", &done);
    }

    /// The sources that the claims of a field cite, in order.
    fn sources_of(&self, field: &ReportField) -> Vec<&CitedSource> {
        let Some(span) = field.span else { return Vec::new() };
        let is_own = |claim: &&Claim| claim.span.is_some_and(|it| span.holds(it));
        let keys = self.report.claims.iter().filter(is_own).flat_map(|claim| &claim.keys);
        let indices = keys.filter_map(|key| self.keys.source(key));
        indices.filter_map(|index| self.input.sources.get(index)).collect()
    }

    /// Other lists of sources keep those that there are.
    fn forget_unknown(&self, value: &mut Json, pointer: &str, done: &BTreeSet<&str>) {
        let sources = &self.input.sources;
        match value {
            Json::Object(map) => {
                for (key, child) in map.iter_mut() {
                    let key_in_pointer = escaped(key);
                    let place = format!("{pointer}/{key_in_pointer}");
                    if !is_references(key) {
                        self.forget_unknown(child, &place, done);
                    } else if !done.contains(place.as_str()) {
                        let mut known = source_numbers(child, sources);
                        known.retain(|it| (1..=sources.len()).contains(it));
                        *child = in_form_of(child, &known);
                    }
                }
            }
            Json::Array(items) => {
                for (place, child) in items.iter_mut().enumerate() {
                    self.forget_unknown(child, &format!("{pointer}/{place}"), done);
                }
            }
            _ => {}
        }
    }

    /// The elements of lists of which nothing is left but names, the last and innermost first.
    fn lost_elements(&self, value: &Json, lost: &[&str]) -> Vec<String> {
        let mut found: BTreeSet<(usize, usize, &str)> = BTreeSet::new();
        for pointer in lost {
            for (end, _) in pointer.match_indices('/').skip(1).chain([(pointer.len(), "/")]) {
                let element = pointer.get(..end).unwrap_or_default();
                let Some((list, place)) = element.rsplit_once('/') else { continue };
                let is_element = value.pointer(list).is_some_and(Json::is_array);
                let is_within = |field: &&ReportField| {
                    let rest = field.pointer.strip_prefix(element);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                let mut fields = self.report.fields.iter().filter(is_within);
                let is_lost = fields.all(|field| {
                    field.kind == FieldKind::Name || lost.contains(&field.pointer.as_str())
                });
                if is_element && is_lost {
                    let depth = element.matches('/').count();
                    found.insert((depth, place.parse().unwrap_or_default(), element));
                }
            }
        }
        found.into_iter().rev().map(|(_, _, element)| element.to_owned()).collect()
    }
}

/// Numbers of sources in the form that a list of them had: numbers, texts, or one text.
fn in_form_of(list: &Json, numbers: &[usize]) -> Json {
    let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match list {
        Json::Array(items) if items.first().is_some_and(Json::is_number) => json!(numbers),
        Json::String(_) => json!(texts.join(", ")),
        Json::Number(_) => numbers.first().map_or(Json::Null, |it| json!(it)),
        _ => json!(texts),
    }
}
