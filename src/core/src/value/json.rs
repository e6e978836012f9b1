//! JSON as a state value, and the built-in merge rules on it.

use serde_json::{Map, Number, Value as Json};

use super::Value;
use crate::channel::{Reducer, ValueKind};
use crate::fault::FaultRecord;

impl Value for Json {
    fn agrees_with(&self, other: &Self) -> bool {
        self == other
    }

    fn fits(&self, kind: ValueKind) -> bool {
        match kind {
            ValueKind::Any => true,
            ValueKind::Text => self.is_string(),
            ValueKind::Integer => self.is_i64() || self.is_u64(),
            ValueKind::Number => self.is_number(),
            ValueKind::Boolean => self.is_boolean(),
            ValueKind::List => self.is_array(),
            ValueKind::Record => self.is_object(),
        }
    }

    fn check(merge: &Reducer, old: Option<&Self>, new: &Self) -> Result<(), String> {
        let needs = |what: &str, found: &Self| Err(format!("needs {what}, found: {}", name(found)));
        let is_list = |value: &Self| value.is_array();
        match merge {
            Reducer::Append | Reducer::Upsert { .. } | Reducer::Put if !old.is_none_or(is_list) => {
                needs("a list to add to", old.unwrap_or(&Self::Null))
            }
            Reducer::Set
            | Reducer::Last
            | Reducer::Once
            | Reducer::Foreign(_)
            | Reducer::Append => Ok(()),
            Reducer::Extend | Reducer::Messages => match old.filter(|old| !old.is_array()) {
                Some(old) => needs("a list to add to", old),
                None if new.is_array() => Ok(()),
                None => needs("a list", new),
            },
            Reducer::Record | Reducer::Fields => match old.filter(|old| !old.is_object()) {
                Some(old) => needs("an object to merge into", old),
                None if new.is_object() => Ok(()),
                None => needs("an object", new),
            },
            Reducer::Upsert { key } if new.get(key).is_some() => Ok(()),
            Reducer::Upsert { key } => Err(format!("needs an object with the key: {key}")),
            Reducer::Put if slot(new).is_some() => Ok(()),
            Reducer::Put => needs("a pair of an index and a value", new),
            Reducer::Sum | Reducer::Max => match old.filter(|old| !old.is_number()) {
                Some(old) => needs("a number to count on", old),
                None if new.is_number() => Ok(()),
                None => needs("a number", new),
            },
        }
    }

    fn merge(merge: &Reducer, old: Option<Self>, new: Self) -> Self {
        match (merge, old) {
            (Reducer::Append, old) => append(list(old), new),
            (Reducer::Extend, old) => extend(list(old), list(Some(new))),
            (Reducer::Messages, old) => messages(list(old), list(Some(new))),
            (Reducer::Record | Reducer::Fields, Some(Self::Object(old))) => record(old, new),
            (Reducer::Upsert { key }, old) => upsert(list(old), key, new),
            (Reducer::Put, old) => put(list(old), &new),
            (Reducer::Sum, Some(Self::Number(old))) => sum(&old, &new),
            (Reducer::Max, Some(old)) if less(&new, &old) => old,
            _ => new,
        }
    }

    fn from_json(json: Json) -> Self {
        json
    }

    fn from_fault_record(record: &FaultRecord<'_>) -> Self {
        let message = || Self::String(record.fault.message.clone());
        serde_json::to_value(record).unwrap_or_else(|_| message())
    }

    fn fields(&self) -> Option<Vec<(String, Self)>> {
        let fields = self.as_object()?;
        Some(fields.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn size(&self) -> usize {
        match self {
            Self::String(text) => text.chars().count(),
            Self::Array(items) => items.len(),
            Self::Object(fields) => fields.len(),
            _ => 1,
        }
    }

    fn to_json(&self) -> Option<Json> {
        Some(self.clone())
    }
}

fn name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

fn list(value: Option<Json>) -> Vec<Json> {
    match value {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn append(mut items: Vec<Json>, new: Json) -> Json {
    items.push(new);
    Json::Array(items)
}

fn extend(mut items: Vec<Json>, new: Vec<Json>) -> Json {
    items.extend(new);
    Json::Array(items)
}

/// A message without an id is always new.
fn messages(items: Vec<Json>, new: Vec<Json>) -> Json {
    let add = |items, message: Json| match message.get("id") {
        Some(Json::Null) | None => append(items, message),
        Some(_) => upsert(items, "id", message),
    };
    new.into_iter().fold(Json::Array(items), |items, message| add(list(Some(items)), message))
}

fn record(mut fields: Map<String, Json>, new: Json) -> Json {
    if let Json::Object(new) = new {
        fields.extend(new);
    }
    Json::Object(fields)
}

fn upsert(mut items: Vec<Json>, key: &str, new: Json) -> Json {
    match items.iter_mut().find(|item| item.get(key) == new.get(key)) {
        Some(item) => *item = new,
        None => items.push(new),
    }
    Json::Array(items)
}

/// The index and the value of a `[index, value]` pair.
fn slot(pair: &Json) -> Option<(usize, &Json)> {
    let [index, value] = pair.as_array()?.as_slice() else { return None };
    let index = usize::try_from(index.as_u64()?).ok()?;
    (index < MAX_SLOTS).then_some((index, value))
}

/// Bounds what a single sparse write may allocate.
const MAX_SLOTS: usize = 1 << 20;

fn put(mut items: Vec<Json>, pair: &Json) -> Json {
    if let Some((index, value)) = slot(pair) {
        if items.len() <= index {
            items.resize(index + 1, Json::Null);
        }
        if let Some(slot) = items.get_mut(index) {
            *slot = value.clone();
        }
    }
    Json::Array(items)
}

fn sum(old: &Number, new: &Json) -> Json {
    let exact = old.as_i64().zip(new.as_i64()).and_then(|(old, new)| old.checked_add(new));
    match exact {
        Some(total) => Json::from(total),
        None => Json::from(old.as_f64().unwrap_or_default() + new.as_f64().unwrap_or_default()),
    }
}

fn less(new: &Json, old: &Json) -> bool {
    match (new.as_i64(), old.as_i64()) {
        (Some(new), Some(old)) => new < old,
        _ => new.as_f64() < old.as_f64(),
    }
}
