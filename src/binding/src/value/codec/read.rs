//! Bytes to Python objects.

use antiphon_core::{Fault, FaultCode};
use antiphon_stores::codec::{ByteReader, Item, corrupt};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};
use pyo3::{IntoPyObject, intern};

use super::keys::Keys;
use super::kind;
use super::type_codec::TypeCodec;
use super::value_fault::type_name;

type ReadResult<'py> = Result<Bound<'py, PyAny>, Fault>;

/// One value on its way out of a [`ByteReader`].
pub(super) struct ObjectDecoder<'a, 'py, 'd> {
    py: Python<'py>,
    registry: &'a Bound<'py, PyAny>,
    keys: Keys<'py, 'd>,
}

impl<'a, 'py, 'd> ObjectDecoder<'a, 'py, 'd> {
    pub(super) fn new(registry: &'a Bound<'py, PyAny>) -> Self {
        Self { py: registry.py(), registry, keys: Keys::default() }
    }

    /// The next value.
    pub(super) fn value(&mut self, from: &mut ByteReader<'d>) -> ReadResult<'py> {
        let py = self.py;
        Ok(match from.item()? {
            Item::Nil => py.None().into_bound(py),
            Item::Flag(flag) => PyBool::new(py, flag).to_owned().into_any(),
            Item::Unsigned(number) => integer(py, number)?,
            Item::Signed(number) => integer(py, number)?,
            Item::Float(number) => PyFloat::new(py, number).into_any(),
            Item::Text(text) => PyString::new(py, text).into_any(),
            Item::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Item::Array(length) => self.list(from, length)?,
            Item::Map(length) => self.map(from, length)?,
            Item::Extension(kind, bytes) => self.extension(from, kind, bytes)?,
        })
    }

    fn list(&mut self, from: &mut ByteReader<'d>, length: usize) -> ReadResult<'py> {
        let mut items = from.room(length);
        from.deeper(|from| {
            for _ in 0..length {
                items.push(self.value(from)?);
            }
            Ok(())
        })?;
        self.built(PyList::new(self.py, items))
    }

    fn map(&mut self, from: &mut ByteReader<'d>, length: usize) -> ReadResult<'py> {
        let dict = PyDict::new(self.py);
        from.deeper(|from| {
            for _ in 0..length {
                let key = self.key(from)?;
                let value = self.value(from)?;
                dict.set_item(key, value).map_err(|error| refused(self.py, &error))?;
            }
            Ok(())
        })?;
        Ok(dict.into_any())
    }

    fn key(&mut self, from: &mut ByteReader<'d>) -> ReadResult<'py> {
        match from.item()? {
            Item::Text(text) => Ok(self.keys.get(self.py, text)),
            Item::Extension(kind::SURROGATES, bytes) => {
                self.extension(from, kind::SURROGATES, bytes)
            }
            _ => Err(corrupt("a key that is no text")),
        }
    }

    fn extension(&mut self, from: &ByteReader<'d>, kind: i8, bytes: &'d [u8]) -> ReadResult<'py> {
        let py = self.py;
        match kind {
            kind::INTEGER => self.built(from_two_complement(py, bytes)),
            kind::SURROGATES => {
                let bytes = PyBytes::new(py, bytes);
                let (encoding, errors) = (Some(c"utf-8"), Some(c"surrogatepass"));
                self.built(PyString::from_encoded_object(&bytes, encoding, errors))
            }
            kind::TUPLE => {
                let items = self.items(from, bytes)?;
                self.built(PyTuple::new(py, items))
            }
            kind::DICT => self.dict(from, bytes),
            kind::SET => {
                let items = self.items(from, bytes)?;
                self.built(PySet::new(py, items))
            }
            kind::FROZENSET => {
                let items = self.items(from, bytes)?;
                self.built(PyFrozenSet::new(py, items))
            }
            kind::NAMED => from.inside(bytes, |inside| self.named(inside)),
            kind::PICKLE => from.inside(bytes, |inside| self.pickled(inside)),
            _ => from.inside(bytes, |inside| self.numbered(inside, kind)),
        }
    }

    fn named(&mut self, from: &mut ByteReader<'d>) -> ReadResult<'py> {
        let name = from.text()?;
        let codec = self.codec(intern!(self.py, "codec_named"), name)?;
        let codec = codec.ok_or_else(|| unregistered(name))?;
        let parts = self.value(from)?;
        let unpacked = codec.get().unpack.bind(self.py).call1((parts,));
        unpacked.map_err(|error| misfit(self.py, name, &error))
    }

    fn pickled(&mut self, from: &mut ByteReader<'d>) -> ReadResult<'py> {
        let codec = self.codec(intern!(self.py, "codec_numbered"), kind::PICKLE)?;
        let codec = codec.ok_or_else(unopened)?;
        let parts = self.value(from)?;
        let unpacked = codec.get().unpack.bind(self.py).call1((parts,));
        unpacked.map_err(|error| misfit(self.py, "pickle", &error))
    }

    fn numbered(&mut self, from: &mut ByteReader<'d>, kind: i8) -> ReadResult<'py> {
        let codec = self.codec(intern!(self.py, "codec_numbered"), kind)?;
        let unknown = || corrupt(&format!("a value of an unknown kind: {kind}"));
        let codec = codec.ok_or_else(unknown)?;
        let parts = self.value(from)?;
        self.built(codec.get().unpack.bind(self.py).call1((parts,)))
    }

    /// A codec of the registry, which knows all there are: the bytes only choose.
    fn codec(
        &self,
        method: &Bound<'py, PyString>,
        chosen: impl IntoPyObject<'py>,
    ) -> Result<Option<Bound<'py, TypeCodec>>, Fault> {
        let found = self.registry.call_method1(method, (chosen,));
        let found = found.map_err(|error| missing(self.py, &error))?;
        Ok(found.cast_into().ok())
    }

    fn items(
        &mut self,
        from: &ByteReader<'d>,
        bytes: &'d [u8],
    ) -> Result<Vec<Bound<'py, PyAny>>, Fault> {
        from.inside(bytes, |inside| {
            let mut items = Vec::new();
            while !inside.is_at_end() {
                items.push(self.value(inside)?);
            }
            Ok(items)
        })
    }

    fn dict(&mut self, from: &ByteReader<'d>, bytes: &'d [u8]) -> ReadResult<'py> {
        let dict = PyDict::new(self.py);
        from.inside(bytes, |inside| {
            while !inside.is_at_end() {
                let key = self.value(inside)?;
                let value = self.value(inside)?;
                dict.set_item(key, value).map_err(|error| refused(self.py, &error))?;
            }
            Ok(())
        })?;
        Ok(dict.into_any())
    }

    /// What Python made of bytes, unless they say what cannot be: a list as a key, say.
    fn built<T>(&self, made: PyResult<Bound<'py, T>>) -> ReadResult<'py> {
        made.map(Bound::into_any).map_err(|error| refused(self.py, &error))
    }
}

fn refused(py: Python<'_>, error: &PyErr) -> Fault {
    let value = error.value(py);
    corrupt(&format!("a value that cannot be: {}: {value}", type_name(value)))
}

fn integer<'py, T>(py: Python<'py>, number: T) -> ReadResult<'py>
where
    T: IntoPyObject<'py, Target = PyInt, Output = Bound<'py, PyInt>>,
{
    let number = number.into_pyobject(py).map_err(|_| corrupt("a number that cannot be"))?;
    Ok(number.into_any())
}

fn from_two_complement<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(py);
    options.set_item(intern!(py, "signed"), true)?;
    let arguments = (PyBytes::new(py, bytes), intern!(py, "little"));
    py.get_type::<PyInt>().call_method(intern!(py, "from_bytes"), arguments, Some(&options))
}

fn unregistered(name: &str) -> Fault {
    let message = format!("the type of a stored value is not registered: {name}");
    Fault::new(FaultCode::CheckpointMisfit, message)
        .hint("register it under this name: antiphon.checkpoint.register")
}

fn unopened() -> Fault {
    let message = "a stored value was pickled, and the saver does not unpickle";
    Fault::new(FaultCode::CheckpointMisfit, message)
        .hint("open the saver with `pickle=True` if you trust everyone who has its key")
}

fn misfit(py: Python<'_>, name: &str, error: &PyErr) -> Fault {
    let (kind, value) = (type_name(error.value(py)), error.value(py));
    let message = format!("a stored value no longer matches its type `{name}`: {kind}: {value}");
    Fault::new(FaultCode::CheckpointMisfit, message)
        .hint("give new fields of the type a default, or start a new run")
}

/// A codec whose package is not installed.
fn missing(py: Python<'_>, error: &PyErr) -> Fault {
    let message = format!("a stored value needs a package: {}", error.value(py));
    Fault::new(FaultCode::CheckpointMisfit, message)
        .hint("install the package that the run was stored with")
}
