//! Why a value cannot be stored, and where inside it the reason is.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// The reason, and the way to it from the outside in.
#[derive(Debug)]
pub(super) struct ValueFault(Box<(Vec<String>, String)>);

impl ValueFault {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(Box::new((Vec::new(), what.into())))
    }

    /// An object of a type that has no stored form.
    pub(super) fn type_of(value: &Bound<'_, PyAny>) -> Self {
        Self::new(format!("an object of type {}", type_name(value)))
    }

    /// What a callable of Python raised.
    pub(super) fn raised(py: Python<'_>, error: &PyErr) -> Self {
        Self::new(format!("{}: {}", type_name(error.value(py)), error.value(py)))
    }

    pub(super) fn in_item(self, index: usize) -> Self {
        self.inside(format!("item {index}"))
    }

    pub(super) fn in_value_of(self, key: &Bound<'_, PyAny>) -> Self {
        self.inside(key_name(key))
    }

    pub(super) fn in_key(self) -> Self {
        self.inside("a key".to_owned())
    }

    /// What stands in the place of an object is not what its owner knows: a
    /// list around the parts is left out, and a record has fields.
    pub(super) fn in_codec(mut self, fields: bool) -> Self {
        let places = &mut self.0.0;
        if places.last().is_some_and(|place| place.starts_with("item ")) {
            places.pop();
        }
        if fields
            && let Some(place) = places.last_mut()
            && let Some(name) = place.strip_prefix("key ")
        {
            *place = format!("field {name}");
        }
        self
    }

    /// The same for a table, whose packed form begins with its columns: the cells of a column of
    /// objects are its first part.
    pub(super) fn in_table(mut self, names: &[String]) -> Self {
        let places = &mut self.0.0;
        let item = |place: &String| place.strip_prefix("item ")?.parse::<usize>().ok();
        let mut path = places.iter().rev().map_while(item);
        let (Some(0), Some(column), part, cell) =
            (path.next(), path.next(), path.next(), path.next())
        else {
            return self.in_codec(false);
        };
        let name = names.get(column).map_or("", String::as_str);
        let row = cell.filter(|_| part == Some(CELLS));
        let known = 2 + usize::from(part.is_some()) + usize::from(row.is_some());
        places.truncate(places.len().saturating_sub(known));
        places.extend(row.map(|row| format!("row {row}")));
        places.push(format!("column `{}`", cut(name)));
        self
    }

    pub(super) fn inside(mut self, place: String) -> Self {
        self.0.0.push(place);
        self
    }
}

impl fmt::Display for ValueFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (places, what) = &*self.0;
        // Collected from the innermost place, displayed from the outermost. The path of a
        // value that is too deep would fill a page.
        let shown = places.iter().rev().take(SHOWN);
        let mut place = shown.map(String::as_str).collect::<Vec<_>>().join(", ");
        if places.len() > SHOWN {
            place.push_str(", …");
        }
        if place.is_empty() { f.write_str(what) } else { write!(f, "{place}: {what}") }
    }
}

/// The most steps of a path that are displayed.
const SHOWN: usize = 8;
/// The most characters of a key that are displayed.
const KEY: usize = 60;

/// The part of a packed column of objects that holds them.
const CELLS: usize = 1;

fn cut(name: &str) -> String {
    name.chars().take(KEY).collect()
}

/// The type of a value, with its module unless that is Python's own.
pub(super) fn type_name(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().fully_qualified_name();
    name.map_or_else(|_| "an unknown type".to_owned(), |name| name.to_string())
}

/// Displays only keys of built-in types: `repr` of others may run any code.
fn key_name(key: &Bound<'_, PyAny>) -> String {
    if key.is_exact_instance_of::<PyString>() {
        return format!("key `{}`", cut(&key.to_string()));
    }
    if key.is_exact_instance_of::<PyInt>() && key.extract::<i64>().is_ok() {
        return format!("key {key}");
    }
    format!("a key of type {}", type_name(key))
}
