//! A live Python object as a value of the engine: passed by reference, never
//! converted, and changed in place only where nobody else holds it.

use antiphon_core::FaultRecord;
use antiphon_core::channel::{Reducer, ValueKind};
use antiphon_core::value::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};
use pyo3::{PyTypeInfo, intern};

use crate::ffi;
use crate::value::isolation::isolate;

/// A reference to a Python object.
#[derive(Debug)]
pub(crate) struct Object(pub(crate) Py<PyAny>);

impl Object {
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> Self {
        Self(value.clone().unbind())
    }
}

impl Clone for Object {
    fn clone(&self) -> Self {
        Python::attach(|py| Self(self.0.clone_ref(py)))
    }
}

impl Value for Object {
    fn fresh_copy(&self) -> Self {
        Python::attach(|py| {
            let shared = self.0.bind(py);
            Self(isolate(shared).unwrap_or_else(|_| shared.clone()).unbind())
        })
    }

    fn agrees_with(&self, other: &Self) -> bool {
        Python::attach(|py| {
            let (one, two) = (self.0.bind(py), other.0.bind(py));
            one.is(two) || (is_json(one, 0) && is_json(two, 0) && one.eq(two).unwrap_or(false))
        })
    }

    /// Declared types are checked by the host, where the value was written.
    fn fits(&self, _: ValueKind) -> bool {
        true
    }

    fn check(merge: &Reducer, old: Option<&Self>, new: &Self) -> Result<(), String> {
        if takes_anything(merge) {
            return Ok(());
        }
        Python::attach(|py| check(merge, old.map(|old| old.0.bind(py)), new.0.bind(py)))
    }

    fn merge(merge: &Reducer, old: Option<Self>, new: Self) -> Self {
        if takes_anything(merge) {
            return new;
        }
        Python::attach(|py| {
            let old = old.map(|old| old.0.into_bound(py));
            let new = new.0.into_bound(py);
            // `check` has let the pair through; what is left is lack of memory.
            let merged = combine(merge, old, &new);
            Self(merged.unwrap_or(new).unbind())
        })
    }

    fn from_fault_record(record: &FaultRecord<'_>) -> Self {
        Python::attach(|py| Self(crate::fault::record(py, record).into_any().unbind()))
    }

    fn from_json(json: serde_json::Value) -> Self {
        Python::attach(|py| {
            // JSON has its counterparts; what may be lacking is memory.
            let made = pythonize::pythonize(py, &json).map(Bound::unbind);
            Self(made.unwrap_or_else(|_| py.None()))
        })
    }

    fn fields(&self) -> Option<Vec<(String, Self)>> {
        Python::attach(|py| {
            let dict = self.0.bind(py).cast::<PyDict>().ok()?;
            let field = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Some((key.extract::<String>().ok()?, Self(value.unbind())))
            };
            dict.iter().map(field).collect()
        })
    }

    fn size(&self) -> usize {
        Python::attach(|py| self.0.bind(py).len().unwrap_or(1))
    }

    fn to_json(&self) -> Option<serde_json::Value> {
        Python::attach(|py| {
            let value = self.0.bind(py);
            if is_json(value, 0) { pythonize::depythonize(value).ok() } else { None }
        })
    }
}

/// Whether a value is made of exact JSON types, so that `==` runs no code of a user.
pub(crate) fn is_json(value: &Bound<'_, PyAny>, depth: u8) -> bool {
    if depth > 64 {
        return false;
    }
    if value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyNone>()
    {
        return true;
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return list.iter().all(|item| is_json(&item, depth + 1));
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return dict.iter().all(|(key, item)| {
            key.is_exact_instance_of::<PyString>() && is_json(&item, depth + 1)
        });
    }
    false
}

const fn takes_anything(merge: &Reducer) -> bool {
    use Reducer::{Foreign, Last, Once, Set};
    matches!(merge, Set | Last | Once | Foreign(_))
}

fn check(
    merge: &Reducer,
    old: Option<&Bound<'_, PyAny>>,
    new: &Bound<'_, PyAny>,
) -> Result<(), String> {
    let is_list = |value: &Bound<'_, PyAny>| value.is_exact_instance_of::<PyList>();
    let is_dict = |value: &Bound<'_, PyAny>| value.is_exact_instance_of::<PyDict>();
    match merge {
        Reducer::Set | Reducer::Last | Reducer::Once | Reducer::Foreign(_) => Ok(()),
        Reducer::Append => expect(old, is_list, "a list to add to"),
        Reducer::Extend | Reducer::Messages => {
            expect(old, is_list, "a list to add to")?;
            expect(Some(new), is_list, "a list")
        }
        Reducer::Record | Reducer::Fields => {
            expect(old, is_dict, "a dict to merge into")?;
            expect(Some(new), is_dict, "a dict")
        }
        Reducer::Upsert { key } => {
            expect(old, is_list, "a list to add to")?;
            if field(new, key).is_some() {
                return Ok(());
            }
            Err(format!("needs a dict with the key: {key}"))
        }
        Reducer::Put => {
            expect(old, is_list, "a list to write into")?;
            if slot(new).is_some() {
                return Ok(());
            }
            Err(format!("needs a pair of an index and a value, found: {}", kind(new)))
        }
        Reducer::Sum => match old {
            None => Ok(()),
            Some(old) if addable(old, new) => Ok(()),
            Some(old) => Err(format!("cannot add {} to: {}", kind(new), kind(old))),
        },
        Reducer::Max => {
            expect(old, is_number, "a number to compare with")?;
            expect(Some(new), is_number, "a number")
        }
    }
}

fn expect(
    value: Option<&Bound<'_, PyAny>>,
    fits: impl Fn(&Bound<'_, PyAny>) -> bool,
    what: &str,
) -> Result<(), String> {
    match value {
        Some(value) if !fits(value) => Err(format!("needs {what}, found: {}", kind(value))),
        _ => Ok(()),
    }
}

fn is_number(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>()
}

/// Whether `+` of the two runs no code of a user.
fn addable(old: &Bound<'_, PyAny>, new: &Bound<'_, PyAny>) -> bool {
    fn both<T: PyTypeInfo>(old: &Bound<'_, PyAny>, new: &Bound<'_, PyAny>) -> bool {
        old.is_exact_instance_of::<T>() && new.is_exact_instance_of::<T>()
    }
    both::<PyList>(old, new)
        || both::<PyString>(old, new)
        || both::<PyTuple>(old, new)
        || (is_number(old) && is_number(new))
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().qualname().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

fn field<'py>(value: &Bound<'py, PyAny>, key: &str) -> Option<Bound<'py, PyAny>> {
    value.cast::<PyDict>().ok()?.get_item(key).ok()?
}

/// The index and the value of a pair.
fn slot<'py>(pair: &Bound<'py, PyAny>) -> Option<(usize, Bound<'py, PyAny>)> {
    pair.extract::<(usize, Bound<'py, PyAny>)>().ok().filter(|(index, _)| *index < MAX_SLOTS)
}

/// Bounds what a single sparse write may allocate.
const MAX_SLOTS: usize = 1 << 20;

fn combine<'py>(
    merge: &Reducer,
    old: Option<Bound<'py, PyAny>>,
    new: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match merge {
        Reducer::Append => {
            list(new.py(), old).and_then(|list| list.append(new).map(|()| list.into_any()))
        }
        Reducer::Extend => extend(old, new),
        Reducer::Record | Reducer::Fields => record(old, new),
        Reducer::Upsert { key } => upsert(list(new.py(), old)?, key, new),
        Reducer::Put => put(list(new.py(), old)?, new),
        Reducer::Sum => match old {
            Some(list) if list.is_exact_instance_of::<PyList>() => extend(Some(list), new),
            Some(old) => old.add(new),
            None => Ok(new.clone()),
        },
        Reducer::Max => match old {
            Some(old) if old.gt(new)? => Ok(old),
            _ => Ok(new.clone()),
        },
        Reducer::Messages => messages(old, new),
        Reducer::Set | Reducer::Last | Reducer::Once | Reducer::Foreign(_) => Ok(new.clone()),
    }
}

/// A list that may be changed: the old one where nobody else holds it.
fn list<'py>(py: Python<'py>, old: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyList>> {
    match old {
        None => Ok(PyList::empty(py)),
        Some(old) if ffi::is_sole(&old) => Ok(old.cast_into()?),
        Some(old) => {
            let list = old.cast::<PyList>()?;
            Ok(list.get_slice(0, list.len()))
        }
    }
}

fn extend<'py>(
    old: Option<Bound<'py, PyAny>>,
    new: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = list(new.py(), old)?;
    if let Ok(new) = new.cast_exact::<PyList>()
        && new.len() == 1
    {
        list.append(new.get_item(0)?)?;
        return Ok(list.into_any());
    }
    list.set_slice(list.len(), list.len(), new)?;
    Ok(list.into_any())
}

/// Adds messages; one whose id is known takes the place of the one that has it.
fn messages<'py>(
    old: Option<Bound<'py, PyAny>>,
    new: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = list(new.py(), old)?;
    let mut index = MessageIndex { list: &list, places: PyDict::new(new.py()), read: 0 };
    for message in new.cast::<PyList>()? {
        let place = message_id(&message).map(|id| index.find(&id)).transpose()?.flatten();
        match place {
            Some(place) => list.set_item(place, message)?,
            None => list.append(message)?,
        }
    }
    Ok(list.into_any())
}

/// Where the messages of a list are, by id. The list is read once, as far as needed.
struct MessageIndex<'a, 'py> {
    list: &'a Bound<'py, PyList>,
    /// The first message of each id that is a text; others cannot always be keys.
    places: Bound<'py, PyDict>,
    read: usize,
}

impl<'py> MessageIndex<'_, 'py> {
    fn find(&mut self, id: &Bound<'py, PyAny>) -> PyResult<Option<usize>> {
        if !id.is_exact_instance_of::<PyString>() {
            let has_id = |message: &Bound<'_, PyAny>| {
                message_id(message).is_some_and(|found| is_same_id(&found, id))
            };
            return Ok(self.list.iter().position(|message| has_id(&message)));
        }
        while self.read < self.list.len() {
            if let Some(known) = message_id(&self.list.get_item(self.read)?)
                && known.is_exact_instance_of::<PyString>()
                && !self.places.contains(&known)?
            {
                self.places.set_item(known, self.read)?;
            }
            self.read += 1;
        }
        self.places.get_item(id)?.map(|place| place.extract()).transpose()
    }
}

/// Whether two ids are of one type and equal: `1` and `True` are two ids, as in JSON.
fn is_same_id(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    one.get_type().is(other.get_type()) && one.eq(other).unwrap_or(false)
}

/// The id of a message: an entry of a dict, an attribute of other objects. One that cannot be read
/// is none, since a message is never lost for its id.
fn message_id<'py>(message: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let name = intern!(message.py(), "id");
    let id = match message.cast::<PyDict>() {
        Ok(fields) => fields.get_item(name),
        Err(_) => message.getattr_opt(name),
    };
    id.ok().flatten().filter(|id| !id.is_none())
}

fn record<'py>(
    old: Option<Bound<'py, PyAny>>,
    new: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let dict = match old {
        None => PyDict::new(new.py()),
        Some(old) if ffi::is_sole(&old) => old.cast_into()?,
        Some(old) => old.cast::<PyDict>()?.copy()?,
    };
    dict.update(new.cast()?)?;
    Ok(dict.into_any())
}

fn upsert<'py>(
    list: Bound<'py, PyList>,
    key: &str,
    new: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let wanted = field(new, key).ok_or_else(|| PyTypeError::new_err("the key is gone"))?;
    for (index, item) in list.iter().enumerate() {
        if let Some(found) = field(&item, key)
            && found.eq(&wanted)?
        {
            list.set_item(index, new)?;
            return Ok(list.into_any());
        }
    }
    list.append(new)?;
    Ok(list.into_any())
}

fn put<'py>(list: Bound<'py, PyList>, pair: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (index, value) = pair.extract::<(usize, Bound<'py, PyAny>)>()?;
    while list.len() <= index {
        list.append(pair.py().None())?;
    }
    list.set_item(index, value)?;
    Ok(list.into_any())
}
