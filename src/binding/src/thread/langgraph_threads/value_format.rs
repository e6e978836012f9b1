//! Values of another engine's checkpoints as bytes.
//!
//! The first byte says how the rest is written: by our own codec or by a
//! serializer that the caller has given, and whether it is the items of a list,
//! one after the other, so that what was stored of a list is the beginning of a
//! longer one.

use antiphon_core::{Fault, FaultCode};
use antiphon_stores::codec::{ByteReader, ByteWriter, ValueCodec, corrupt, unstorable};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::fault::to_exception;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

const ONE: u64 = 0;
const ITEMS: u64 = 1;
const FOREIGN_ONE: u64 = 2;
const FOREIGN_ITEMS: u64 = 3;

/// How values are written.
#[derive(Debug)]
pub(super) struct ValueFormat {
    own: ObjectCodec,
    /// A serializer with LangGraph's methods `dumps_typed` and `loads_typed`.
    foreign: Option<Py<PyAny>>,
}

/// A list, and where in its bytes each item ends.
#[derive(Debug, Default)]
pub(super) struct StoredList {
    pub(super) items: Vec<Py<PyAny>>,
    pub(super) ends: Vec<usize>,
}

/// Some items of a list as bytes.
pub(super) struct EncodedItems {
    pub(super) bytes: Vec<u8>,
    /// Where in them each item ends.
    pub(super) ends: Vec<usize>,
}

impl ValueFormat {
    pub(super) const fn new(own: ObjectCodec, foreign: Option<Py<PyAny>>) -> Self {
        Self { own, foreign }
    }

    /// A value that is no list; `name` is for the message if it cannot be stored.
    pub(super) fn encode(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let mut out = ByteWriter::new();
        out.number(if self.foreign.is_some() { FOREIGN_ONE } else { ONE });
        self.write(name, value, &mut out)?;
        Ok(out.into_bytes())
    }

    /// What is known beside the state: always in our own form.
    pub(super) fn encode_head(&self, head: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let mut out = ByteWriter::new();
        self.write_own("the checkpoint itself", head, &mut out)?;
        Ok(out.into_bytes())
    }

    /// Items of a list, with what comes before the first one or without.
    pub(super) fn encode_items<'py>(
        &self,
        name: &str,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        begins: bool,
    ) -> PyResult<EncodedItems> {
        let mut out = ByteWriter::new();
        if begins {
            out.number(if self.foreign.is_some() { FOREIGN_ITEMS } else { ITEMS });
        }
        let mut ends = Vec::new();
        for item in items {
            self.write(name, &item, &mut out)?;
            ends.push(out.size());
        }
        Ok(EncodedItems { bytes: out.into_bytes(), ends })
    }

    fn write(&self, name: &str, value: &Bound<'_, PyAny>, out: &mut ByteWriter) -> PyResult<()> {
        let Some(foreign) = &self.foreign else { return self.write_own(name, value, out) };
        let py = value.py();
        let dumped = foreign.bind(py).call_method1(intern!(py, "dumps_typed"), (value,))?;
        let (kind, bytes): (String, Bound<'_, PyAny>) = dumped.extract()?;
        out.text(&kind);
        // Serializers give a `bytearray` back as it is.
        let bytes = match bytes.cast_into::<PyBytes>() {
            Ok(bytes) => bytes,
            Err(error) => PyBytes::new(py, &error.into_inner().extract::<Vec<u8>>()?),
        };
        out.bytes(bytes.as_bytes());
        Ok(())
    }

    fn write_own(
        &self,
        name: &str,
        value: &Bound<'_, PyAny>,
        out: &mut ByteWriter,
    ) -> PyResult<()> {
        let written = self.own.write(&Object::of(value), out);
        written.map_err(|problem| to_exception(value.py(), &unstorable(name, &problem)))
    }

    /// A value; if it is a list, with its items.
    pub(super) fn decode<'py>(
        &self,
        py: Python<'py>,
        bytes: &[u8],
    ) -> PyResult<(Bound<'py, PyAny>, Option<StoredList>)> {
        let mut from = ByteReader::new(bytes);
        let kind = from.number().map_err(|fault| to_exception(py, &fault))?;
        let read = match kind {
            ONE | ITEMS => self.own.read_all(py, from).map_err(|fault| to_exception(py, &fault))?,
            FOREIGN_ONE | FOREIGN_ITEMS => self.decode_foreign(py, from)?,
            _ => return Err(to_exception(py, &corrupt("a value in an unknown form"))),
        };
        if matches!(kind, ONE | FOREIGN_ONE) {
            let [(value, _)] = <[_; 1]>::try_from(read)
                .map_err(|_| to_exception(py, &corrupt("no value, or several")))?;
            return Ok((value, None));
        }
        let ends = read.iter().map(|(_, left)| bytes.len() - left).collect();
        let list = PyList::new(py, read.iter().map(|(value, _)| value))?;
        let items = read.into_iter().map(|(value, _)| value.unbind()).collect();
        Ok((list.into_any(), Some(StoredList { items, ends })))
    }

    pub(super) fn decode_head<'py>(
        &self,
        py: Python<'py>,
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let read = self.own.read_all(py, ByteReader::new(bytes));
        let mut read = read.map_err(|fault| to_exception(py, &fault))?;
        let head = read.pop().and_then(|(head, _)| head.cast_into::<PyTuple>().ok());
        head.filter(|head| head.len() == 2)
            .ok_or_else(|| to_exception(py, &corrupt("a checkpoint of another kind")))
    }

    fn decode_foreign<'py>(
        &self,
        py: Python<'py>,
        mut from: ByteReader<'_>,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, usize)>> {
        let Some(foreign) = &self.foreign else { return Err(to_exception(py, &unknown())) };
        let mut values = Vec::new();
        while !from.is_at_end() {
            let (kind, bytes) = typed(&mut from).map_err(|fault| to_exception(py, &fault))?;
            let typed = (kind, PyBytes::new(py, bytes));
            let value = foreign.bind(py).call_method1(intern!(py, "loads_typed"), (typed,))?;
            values.push((value, from.left()));
        }
        Ok(values)
    }

    pub(super) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(self.own.registry())?;
        visit.call(&self.foreign)
    }
}

fn typed<'a>(from: &mut ByteReader<'a>) -> Result<(&'a str, &'a [u8]), Fault> {
    Ok((from.text()?, from.blob()?))
}

fn unknown() -> Fault {
    let message = "a value was stored by another serializer: pass `serde=`";
    Fault::new(FaultCode::CheckpointMisfit, message)
        .hint("open the saver with the `serde` it was written with")
}
