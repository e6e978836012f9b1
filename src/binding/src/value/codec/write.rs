//! Python objects to bytes.

use antiphon_stores::codec::{ByteReader, ByteWriter};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};
use pyo3::{PyTypeInfo, intern};
use smallvec::SmallVec;

use super::kind;
use super::type_codec::TypeCodec;
use super::value_fault::{ValueFault, type_name};

/// No store takes more in one piece.
pub(super) const MOST: usize = 1_000_000_000;

type WriteResult = Result<(), ValueFault>;
type Pairs<'py> = SmallVec<[(Bound<'py, PyAny>, Bound<'py, PyAny>); 8]>;

/// One value on its way into a [`ByteWriter`].
pub(super) struct ObjectEncoder<'a, 'py> {
    out: &'a mut ByteWriter,
    registry: &'a Bound<'py, PyAny>,
    depth: usize,
}

impl<'a, 'py> ObjectEncoder<'a, 'py> {
    pub(super) const fn to(out: &'a mut ByteWriter, registry: &'a Bound<'py, PyAny>) -> Self {
        Self { out, registry, depth: 0 }
    }

    /// Writes an object by its exact type: an instance of a subclass would come
    /// back as something else. The types are in the order of how common they are.
    pub(super) fn value(&mut self, value: &Bound<'_, PyAny>) -> WriteResult {
        if let Some(text) = exact::<PyString>(value) {
            self.text(text)
        } else if let Some(dict) = exact::<PyDict>(value) {
            self.deeper(|to| to.dict(dict))
        } else if let Some(list) = exact::<PyList>(value) {
            self.deeper(|to| to.list(list))
        } else if let Some(number) = exact::<PyInt>(value) {
            self.integer(number)
        } else if let Some(number) = exact::<PyFloat>(value) {
            self.out.float(number.value());
            Ok(())
        } else if value.is_none() {
            self.out.nil();
            Ok(())
        } else if let Some(flag) = exact::<PyBool>(value) {
            self.out.flag(flag.is_true());
            Ok(())
        } else {
            self.rarer(value)
        }
    }

    fn rarer(&mut self, value: &Bound<'_, PyAny>) -> WriteResult {
        if let Some(tuple) = exact::<PyTuple>(value) {
            self.deeper(|to| to.items(kind::TUPLE, tuple.iter()))
        } else if let Some(bytes) = exact::<PyBytes>(value) {
            self.fits(bytes.as_bytes().len())?;
            self.out.bytes(bytes.as_bytes());
            Ok(())
        } else if is::<PySet>(value) {
            self.deeper(|to| to.set(kind::SET, value))
        } else if is::<PyFrozenSet>(value) {
            self.deeper(|to| to.set(kind::FROZENSET, value))
        } else {
            self.deeper(|to| to.formed(value))
        }
    }

    /// An object of a type that the registry knows.
    fn formed(&mut self, value: &Bound<'_, PyAny>) -> WriteResult {
        let py = value.py();
        let raised = |error: PyErr| ValueFault::raised(py, &error);
        let codec_of = intern!(py, "codec_of");
        let codec = self.registry.call_method1(codec_of, (value.get_type(),)).map_err(raised)?;
        let Ok(codec) = codec.cast::<TypeCodec>() else { return Err(ValueFault::type_of(value)) };
        let codec = codec.get();
        let packed = codec.pack.bind(py).call1((value,)).map_err(|error| {
            raised(error).inside(format!("an object of type {}", type_name(value)))
        })?;
        let open = self.out.open(codec.kind);
        if let Some(name) = &codec.name {
            self.out.text(name);
        }
        self.value(&packed).map_err(|problem| codec.locate(value, problem))?;
        self.out.close(open);
        Ok(())
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> WriteResult {
        if let Ok(text) = text.to_str() {
            self.fits(text.len())?;
            self.out.text(text);
            return Ok(());
        }
        let py = text.py();
        let bytes = text.call_method1(intern!(py, "encode"), ("utf-8", "surrogatepass"));
        let bytes = bytes.map_err(|error| ValueFault::raised(py, &error))?;
        self.bytes_of(kind::SURROGATES, &bytes)
    }

    fn integer(&mut self, number: &Bound<'_, PyInt>) -> WriteResult {
        if let Ok(number) = number.extract::<i64>() {
            self.out.signed(number);
            return Ok(());
        }
        let bytes = two_complement(number);
        self.bytes_of(
            kind::INTEGER,
            &bytes.map_err(|error| ValueFault::raised(number.py(), &error))?,
        )
    }

    fn bytes_of(&mut self, kind: i8, bytes: &Bound<'_, PyAny>) -> WriteResult {
        let bytes = bytes.cast::<PyBytes>().map_err(|_| ValueFault::type_of(bytes))?;
        self.fits(bytes.as_bytes().len())?;
        self.out.extension(kind, bytes.as_bytes());
        Ok(())
    }

    fn list(&mut self, list: &Bound<'_, PyList>) -> WriteResult {
        let length = list.len();
        self.out.array(length);
        for index in 0..length {
            let item = list.get_item(index).map_err(|_| changed())?;
            self.value(&item).map_err(|problem| problem.in_item(index))?;
        }
        if list.len() == length { Ok(()) } else { Err(changed()) }
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>) -> WriteResult {
        // A copy: writing a value may let another thread change the dict, which
        // iterating would not survive.
        let pairs: Pairs<'_> = dict.iter().collect();
        if pairs.iter().all(|(key, _)| is::<PyString>(key)) {
            self.out.map(pairs.len());
            return pairs.iter().try_for_each(|(key, value)| self.pair(key, value));
        }
        let open = self.out.open(kind::DICT);
        pairs.iter().try_for_each(|(key, value)| self.pair(key, value))?;
        self.out.close(open);
        Ok(())
    }

    fn pair(&mut self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> WriteResult {
        self.value(key).map_err(ValueFault::in_key)?;
        self.value(value).map_err(|problem| problem.in_value_of(key))
    }

    fn set(&mut self, kind: i8, set: &Bound<'_, PyAny>) -> WriteResult {
        // A copy, for the reason that a dict is copied.
        let items = set.try_iter().and_then(Iterator::collect::<PyResult<Vec<_>>>);
        let items = items.map_err(|error| ValueFault::raised(set.py(), &error))?;
        // Sorted, because the order of a set changes from process to process.
        let mut written = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let mut out = ByteWriter::new();
            let mut apart =
                ObjectEncoder { out: &mut out, registry: self.registry, depth: self.depth };
            apart.value(item).map_err(|problem| problem.in_item(index))?;
            written.push(out.into_bytes());
        }
        written.sort_unstable();
        let open = self.out.open(kind);
        for item in written {
            self.fits(item.len())?;
            self.out.raw(&item);
        }
        self.out.close(open);
        Ok(())
    }

    fn items<'v>(
        &mut self,
        kind: i8,
        items: impl Iterator<Item = Bound<'v, PyAny>>,
    ) -> WriteResult {
        let open = self.out.open(kind);
        for (index, item) in items.enumerate() {
            self.value(&item).map_err(|problem| problem.in_item(index))?;
        }
        self.out.close(open);
        Ok(())
    }

    /// Goes as deep as the reader will: also the end of a list inside itself.
    fn deeper(&mut self, write: impl FnOnce(&mut Self) -> WriteResult) -> WriteResult {
        if self.depth >= ByteReader::DEPTH {
            return Err(ValueFault::new(format!(
                "containers inside one another, more levels than: {}",
                ByteReader::DEPTH
            )));
        }
        self.fits(0)?;
        self.depth += 1;
        let written = write(self);
        self.depth -= 1;
        written
    }

    /// Also the end of few containers that hold one another many times over.
    fn fits(&self, more: usize) -> WriteResult {
        if self.out.size().saturating_add(more) <= MOST {
            return Ok(());
        }
        Err(ValueFault::new(format!("more bytes than a store takes in one piece: {MOST}")))
    }
}

pub(super) fn is<T: PyTypeInfo>(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<T>()
}

/// A cast that costs nothing where it fails.
pub(super) fn exact<'v, 'py, T: PyTypeInfo>(
    value: &'v Bound<'py, PyAny>,
) -> Option<&'v Bound<'py, T>> {
    if is::<T>(value) { value.cast_exact::<T>().ok() } else { None }
}

fn two_complement<'py>(number: &Bound<'py, PyInt>) -> PyResult<Bound<'py, PyAny>> {
    let py = number.py();
    let bits: usize = number.call_method0(intern!(py, "bit_length"))?.extract()?;
    // One bit more for the sign.
    let arguments = (bits / 8 + 1, "little");
    let options = PyDict::new(py);
    options.set_item(intern!(py, "signed"), true)?;
    number.call_method(intern!(py, "to_bytes"), arguments, Some(&options))
}

fn changed() -> ValueFault {
    ValueFault::new("a list that was changed while it was stored")
}
