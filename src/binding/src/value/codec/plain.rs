//! Recognizes values that can always be stored, without encoding them.

use antiphon_stores::codec::ByteReader;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use super::write::{MOST, exact, is};

/// No character takes more bytes, and nothing else so many beside its text.
const WIDEST: usize = 4;
const BESIDE: usize = 16;

/// Whether a value consists of texts, numbers, lists and dicts of texts that the
/// format has room for. Of any other only writing it tells.
pub(super) fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    PlainCheck { room: MOST, depth: 0 }.at(value)
}

struct PlainCheck {
    /// Bytes that may still be written.
    room: usize,
    depth: usize,
}

impl PlainCheck {
    fn at(&mut self, value: &Bound<'_, PyAny>) -> bool {
        if let Some(text) = exact::<PyString>(value) {
            self.has_room(text)
        } else if let Some(dict) = exact::<PyDict>(value) {
            self.deeper(|look| {
                dict.iter().all(|(key, value)| {
                    exact::<PyString>(&key).is_some_and(|key| look.has_room(key)) && look.at(&value)
                })
            })
        } else if let Some(list) = exact::<PyList>(value) {
            self.deeper(|look| list.iter().all(|item| look.at(&item)))
        } else {
            let is_small = is::<PyFloat>(value) || value.is_none() || is::<PyBool>(value);
            (is_small || is_word(value)) && self.takes(0)
        }
    }

    fn has_room(&mut self, text: &Bound<'_, PyString>) -> bool {
        text.len().is_ok_and(|length| self.takes(length))
    }

    fn takes(&mut self, characters: usize) -> bool {
        let left = characters.checked_mul(WIDEST).and_then(|bytes| bytes.checked_add(BESIDE));
        let left = left.and_then(|bytes| self.room.checked_sub(bytes));
        left.is_some_and(|left| {
            self.room = left;
            true
        })
    }

    fn deeper(&mut self, look: impl FnOnce(&mut Self) -> bool) -> bool {
        if self.depth >= ByteReader::DEPTH || !self.takes(0) {
            return false;
        }
        self.depth += 1;
        let is_plain = look(self);
        self.depth -= 1;
        is_plain
    }
}

/// A whole number of 64 bits.
fn is_word(value: &Bound<'_, PyAny>) -> bool {
    is::<PyInt>(value) && value.extract::<i64>().is_ok()
}
