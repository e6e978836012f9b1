//! The keys of dicts that were read: most dicts of a list have the same ones.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// A cached key, which another one with the same index replaces.
type CachedKey<'py, 'd> = Option<(&'d str, Bound<'py, PyString>)>;

/// Longer keys are data rather than names.
const LONGEST: usize = 40;
const SLOTS: usize = 64;

/// The texts of keys and their objects, which know their hashes already.
#[derive(Default)]
pub(super) struct Keys<'py, 'd>(Vec<CachedKey<'py, 'd>>);

impl<'py, 'd> Keys<'py, 'd> {
    /// The object of a key, made the first time.
    pub(super) fn get(&mut self, py: Python<'py>, text: &'d str) -> Bound<'py, PyAny> {
        let made = || PyString::new(py, text);
        if text.len() > LONGEST {
            return made().into_any();
        }
        if self.0.is_empty() {
            self.0.resize_with(SLOTS, || None);
        }
        let Some(slot) = self.0.get_mut(slot_of(text)) else { return made().into_any() };
        match slot {
            Some((known, key)) if *known == text => key.clone().into_any(),
            _ => slot.insert((text, made())).1.clone().into_any(),
        }
    }
}

fn slot_of(text: &str) -> usize {
    let bytes = text.as_bytes();
    let at = |byte: Option<&u8>| byte.copied().map_or(0, usize::from);
    (bytes.len() + 7 * at(bytes.first()) + 31 * at(bytes.last())) % SLOTS
}
