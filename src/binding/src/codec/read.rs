//! Bytes to Python objects.

use antiphon_core::Fault;
use antiphon_stores::codec::{Item, Reader, corrupt};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};
use pyo3::{IntoPyObject, intern};

use super::kind;

type Read<'py> = Result<Bound<'py, PyAny>, Fault>;

/// One value on its way out of a [`Reader`].
pub(super) struct Reading<'py> {
    py: Python<'py>,
}

impl<'py> Reading<'py> {
    pub(super) const fn new(py: Python<'py>) -> Self {
        Self { py }
    }

    /// The next value.
    pub(super) fn value(&mut self, from: &mut Reader<'_>) -> Read<'py> {
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

    fn list(&mut self, from: &mut Reader<'_>, length: usize) -> Read<'py> {
        let mut items = from.room(length);
        from.deeper(|from| {
            for _ in 0..length {
                items.push(self.value(from)?);
            }
            Ok(())
        })?;
        self.made(PyList::new(self.py, items))
    }

    fn map(&mut self, from: &mut Reader<'_>, length: usize) -> Read<'py> {
        let dict = PyDict::new(self.py);
        from.deeper(|from| {
            for _ in 0..length {
                let key = PyString::new(self.py, from.text()?);
                let value = self.value(from)?;
                self.made(dict.set_item(key, value).map(|()| dict.clone()))?;
            }
            Ok(())
        })?;
        Ok(dict.into_any())
    }

    fn extension(&mut self, from: &Reader<'_>, kind: i8, bytes: &[u8]) -> Read<'py> {
        let py = self.py;
        match kind {
            kind::INTEGER => self.made(from_two_complement(py, bytes)),
            kind::SURROGATES => {
                let bytes = PyBytes::new(py, bytes);
                let (encoding, errors) = (Some(c"utf-8"), Some(c"surrogatepass"));
                self.made(PyString::from_encoded_object(&bytes, encoding, errors))
            }
            kind::TUPLE => {
                let items = self.items(from, bytes)?;
                self.made(PyTuple::new(py, items))
            }
            kind::DICT => self.dict(from, bytes),
            kind::SET => {
                let items = self.items(from, bytes)?;
                self.made(PySet::new(py, items))
            }
            kind::FROZENSET => {
                let items = self.items(from, bytes)?;
                self.made(PyFrozenSet::new(py, items))
            }
            _ => Err(corrupt(&format!("a value of an unknown type: {kind}"))),
        }
    }

    fn items(&mut self, from: &Reader<'_>, bytes: &[u8]) -> Result<Vec<Bound<'py, PyAny>>, Fault> {
        from.inside(bytes, |inside| {
            let mut items = Vec::new();
            while !inside.is_at_end() {
                items.push(self.value(inside)?);
            }
            Ok(items)
        })
    }

    fn dict(&mut self, from: &Reader<'_>, bytes: &[u8]) -> Read<'py> {
        let dict = PyDict::new(self.py);
        from.inside(bytes, |inside| {
            while !inside.is_at_end() {
                let key = self.value(inside)?;
                let value = self.value(inside)?;
                self.made(dict.set_item(key, value).map(|()| dict.clone()))?;
            }
            Ok(())
        })?;
        Ok(dict.into_any())
    }

    /// What Python made of bytes, unless they say what cannot be: a list as a key, say.
    fn made<T>(&self, made: PyResult<Bound<'py, T>>) -> Read<'py> {
        made.map(Bound::into_any).map_err(|error| {
            let value = error.value(self.py);
            corrupt(&format!("a value that cannot be: {}", super::problem::type_name(value)))
        })
    }
}

fn integer<'py, T>(py: Python<'py>, number: T) -> Read<'py>
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
