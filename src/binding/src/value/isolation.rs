//! Copies of the containers of a state, so that a function that changes what it was given changes it
//! for nobody else.

use std::collections::{HashMap, HashSet};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyTuple};

use crate::ffi;

/// Levels of containers that are copied. What is deeper is shared: the stack of a thread is finite.
const LEVELS: usize = 200;

/// A copy of the lists, dicts, sets and tuples of a value, at any depth. Everything else in it,
/// subclasses of these included, is shared.
pub(crate) fn isolate<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Copies::default().copy(value, LEVELS)
}

/// `isolate` for code in Python.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub(crate) fn isolated<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    isolate(value)
}

/// Whether a copy that `isolate` made of `before` has been changed, at any depth.
#[pyfunction]
#[pyo3(signature = (before, copy, /))]
pub(crate) fn has_changed(before: &Bound<'_, PyAny>, copy: &Bound<'_, PyAny>) -> PyResult<bool> {
    Comparison::default().differs(before, copy, LEVELS)
}

/// The copies by the address of their originals, which outlive them here: a container that stands
/// in two places, or in itself, has one.
#[derive(Default)]
struct Copies<'py>(HashMap<usize, Bound<'py, PyAny>>);

impl<'py> Copies<'py> {
    fn copy(&mut self, value: &Bound<'py, PyAny>, levels: usize) -> PyResult<Bound<'py, PyAny>> {
        if levels == 0 {
            return Ok(value.clone());
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            return self.list(list, levels - 1);
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            return self.dict(dict, levels - 1);
        }
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            return self.tuple(tuple, levels - 1);
        }
        if value.is_exact_instance_of::<PySet>() {
            return self.known(value, |value| value.call_method0(intern!(value.py(), "copy")));
        }
        Ok(value.clone())
    }

    /// The copy of a container; one that is not known yet is made, without its items.
    fn known(
        &mut self,
        value: &Bound<'py, PyAny>,
        make: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = value.as_ptr().addr();
        if let Some(copy) = self.0.get(&at) {
            return Ok(copy.clone());
        }
        let copy = make(value)?;
        self.0.insert(at, copy.clone());
        Ok(copy)
    }

    fn list(&mut self, list: &Bound<'py, PyList>, levels: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut is_new = false;
        let copy = self.known(list, |_| {
            is_new = true;
            Ok(list.get_slice(0, list.len()).into_any())
        })?;
        if is_new && ffi::holds_container(&copy) {
            // The original may be changed by another thread meanwhile.
            let items = copy.cast::<PyList>()?;
            for (index, item) in items.iter().enumerate() {
                let own = self.copy(&item, levels)?;
                if !own.is(&item) {
                    items.set_item(index, own)?;
                }
            }
        }
        Ok(copy)
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>, levels: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut is_new = false;
        let copy = self.known(dict, |_| {
            is_new = true;
            Ok(dict.copy()?.into_any())
        })?;
        if is_new && ffi::holds_container(&copy) {
            let fields = copy.cast::<PyDict>()?;
            // Only values of keys that are there are set, which leaves the iteration intact.
            for (key, value) in fields.iter() {
                let own = self.copy(&value, levels)?;
                if !own.is(&value) {
                    fields.set_item(key, own)?;
                }
            }
        }
        Ok(copy)
    }

    /// A tuple cannot be changed, so that it is copied only for the sake of its items.
    fn tuple(&mut self, tuple: &Bound<'py, PyTuple>, levels: usize) -> PyResult<Bound<'py, PyAny>> {
        if !ffi::holds_container(tuple) {
            return Ok(tuple.clone().into_any());
        }
        let mut is_same = true;
        let mut items = Vec::with_capacity(tuple.len());
        for item in tuple.iter() {
            let own = self.copy(&item, levels)?;
            is_same &= own.is(&item);
            items.push(own);
        }
        if is_same {
            return Ok(tuple.clone().into_any());
        }
        Ok(PyTuple::new(tuple.py(), items)?.into_any())
    }
}

/// The pairs of containers that were compared, which ends at one that holds itself.
#[derive(Default)]
struct Comparison(HashSet<(usize, usize)>);

impl Comparison {
    fn differs(
        &mut self,
        before: &Bound<'_, PyAny>,
        copy: &Bound<'_, PyAny>,
        levels: usize,
    ) -> PyResult<bool> {
        if before.is(copy) {
            return Ok(false);
        }
        if levels == 0 || !before.get_type().is(copy.get_type()) {
            return Ok(true);
        }
        if !self.0.insert((before.as_ptr().addr(), copy.as_ptr().addr())) {
            return Ok(false);
        }
        if let (Ok(one), Ok(two)) = (before.cast_exact::<PyList>(), copy.cast_exact::<PyList>()) {
            if ffi::is_same_list(one, two) {
                return Ok(false);
            }
            let is_other = one.len() != two.len();
            return Ok(is_other || self.any(one.iter().zip(two.iter()), levels - 1)?);
        }
        if let (Ok(one), Ok(two)) = (before.cast_exact::<PyTuple>(), copy.cast_exact::<PyTuple>()) {
            let is_other = one.len() != two.len();
            return Ok(is_other || self.any(one.iter().zip(two.iter()), levels - 1)?);
        }
        if let (Ok(one), Ok(two)) = (before.cast_exact::<PyDict>(), copy.cast_exact::<PyDict>()) {
            return self.fields(one, two, levels - 1);
        }
        if before.is_exact_instance_of::<PySet>() {
            // The items of sets are not copied.
            return before.ne(copy);
        }
        Ok(true)
    }

    fn any<'py>(
        &mut self,
        mut pairs: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
        levels: usize,
    ) -> PyResult<bool> {
        pairs.try_fold(false, |found, (one, two)| Ok(found || self.differs(&one, &two, levels)?))
    }

    /// Whether the keys, their order or their values are others.
    fn fields(
        &mut self,
        before: &Bound<'_, PyDict>,
        copy: &Bound<'_, PyDict>,
        levels: usize,
    ) -> PyResult<bool> {
        if before.len() != copy.len() {
            return Ok(true);
        }
        for ((key, value), (same, own)) in before.iter().zip(copy.iter()) {
            if (!key.is(&same) && key.ne(&same)?) || self.differs(&value, &own, levels)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
