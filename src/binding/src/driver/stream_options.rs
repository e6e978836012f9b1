//! What a caller wants to see of a run, and what the chunks look like.

use std::ops::BitOr;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::ffi;

/// A kind of item that a run can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Values,
    Updates,
    Custom,
    Events,
    /// How tasks begin and end.
    Tasks,
    /// Tokens of messages.
    Messages,
}

impl Mode {
    const ALL: [Self; 6] =
        [Self::Values, Self::Updates, Self::Custom, Self::Events, Self::Tasks, Self::Messages];

    fn name(self, py: Python<'_>) -> &Bound<'_, PyString> {
        match self {
            Self::Values => intern!(py, "values"),
            Self::Updates => intern!(py, "updates"),
            Self::Custom => intern!(py, "custom"),
            Self::Events => intern!(py, "events"),
            Self::Tasks => intern!(py, "tasks"),
            Self::Messages => intern!(py, "messages"),
        }
    }

    fn read(py: Python<'_>, name: &str) -> PyResult<Self> {
        let found = Self::ALL.into_iter().find(|mode| mode.name(py) == name);
        found.ok_or_else(|| PyValueError::new_err(format!("unknown stream mode: {name}")))
    }
}

/// A set of modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes(u8);

impl Modes {
    pub(crate) const fn has(self, mode: Mode) -> bool {
        self.0 & (1 << mode as u8) != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Modes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromIterator<Mode> for Modes {
    fn from_iter<I: IntoIterator<Item = Mode>>(modes: I) -> Self {
        Self(modes.into_iter().fold(0, |set, mode| set | 1 << mode as u8))
    }
}

/// Something that a run shows.
#[derive(Debug)]
pub(crate) enum Item {
    /// The state.
    Values(Py<PyDict>),
    /// A node's name, and what it wrote: a dict, a list of them or nothing.
    Update(Py<PyString>, Option<Py<PyAny>>),
    Custom(Py<PyAny>),
    Event(Py<PyAny>),
    /// That a task begins or ends: superstep, number among the sends, a dict.
    Task(Py<PyAny>),
    /// A token, for the one stream that has this as its `tokens`.
    Token(Py<PyAny>, Py<PyAny>),
}

impl Item {
    pub(crate) const fn mode(&self) -> Mode {
        match self {
            Self::Values(_) => Mode::Values,
            Self::Update(..) => Mode::Updates,
            Self::Custom(_) => Mode::Custom,
            Self::Event(_) => Mode::Events,
            Self::Task(_) => Mode::Tasks,
            Self::Token(..) => Mode::Messages,
        }
    }
}

/// What a caller wants to see of a run, and what the chunks look like.
///
/// Args:
///     modes: of `values`, `updates`, `custom` and `events`.
///     tagged: whether each chunk says its mode.
///     subgraphs: whether nested graphs show too; each chunk then says its
///         namespace, a tuple that is empty for the run's own graph.
///     keys: the keys to show of states and updates; a text shows the bare
///         value of that key, `None` shows all.
///     `make_chunk`: makes a chunk of mode, namespace and payload.
///     `task_chunks`: called when a task begins and when it ends, with its namespace
///         and (superstep, number among the sends, dict); gives the chunks, as
///         pairs of a mode and a payload.
///     tokens: what `Context.token` names this stream by.
///
/// Without `make_chunk` a chunk is the payload, (mode, payload), (namespace, payload) or
/// (namespace, mode, payload).
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct StreamOptions {
    pub(crate) modes: Modes,
    tagged: bool,
    pub(crate) subgraphs: bool,
    keys: Keys,
    make_chunk: Option<Py<PyAny>>,
    task_chunks: Option<Py<PyAny>>,
    pub(crate) tokens: Option<Py<PyAny>>,
}

/// The keys to show.
#[derive(Debug)]
pub(crate) enum Keys {
    All,
    /// Its bare value.
    One(Py<PyString>),
    Many(Vec<Py<PyString>>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Keys {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Self::All);
        }
        if let Ok(key) = given.cast::<PyString>() {
            return Ok(Self::One(key.to_owned().unbind()));
        }
        let keys = given.try_iter()?.map(|key| Ok(key?.cast_into::<PyString>()?.unbind()));
        keys.collect::<PyResult<_>>().map(Self::Many)
    }
}

impl Keys {
    /// What is to be seen of a state.
    fn of<'py>(&self, state: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = state.py();
        match self {
            Self::All => bare(state),
            Self::One(key) => Ok(state.get_item(key)?.unwrap_or_else(|| py.None().into_bound(py))),
            Self::Many(keys) => {
                let shown = PyDict::new(py);
                for key in keys {
                    if let Some(value) = state.get_item(key)? {
                        shown.set_item(key, value)?;
                    }
                }
                Ok(shown.into_any())
            }
        }
    }

    /// What is to be seen of what a node wrote; nothing of what it did not.
    fn written<'py>(&self, update: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(several) = update.cast::<PyList>() {
            let shown = PyList::empty(update.py());
            for one in several {
                let one = self.written(&one)?;
                if !one.is_none() {
                    shown.append(one)?;
                }
            }
            return some(shown.into_any(), true);
        }
        let shown = self.of(update.cast::<PyDict>()?)?;
        some(shown, matches!(self, Self::Many(_)))
    }
}

/// Nothing in place of what is empty.
fn some(shown: Bound<'_, PyAny>, may_be_empty: bool) -> PyResult<Bound<'_, PyAny>> {
    let empty = may_be_empty && shown.is_empty()?;
    Ok(if empty { shown.py().None().into_bound(shown.py()) } else { shown })
}

/// A state, or the one value that it consists of.
fn bare<'py>(state: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let root =
        if state.len() == 1 { state.get_item(intern!(state.py(), "__root__"))? } else { None };
    Ok(root.unwrap_or_else(|| state.clone().into_any()))
}

/// What is to be seen of a state: all of it, one key's bare value, or some keys.
#[pyfunction]
#[pyo3(signature = (state, keys))]
pub(crate) fn select<'py>(state: &Bound<'py, PyDict>, keys: Keys) -> PyResult<Bound<'py, PyAny>> {
    keys.of(state)
}

impl StreamOptions {
    /// Whether an item from there is to be seen.
    pub(crate) fn shows(&self, item: &Item, space: &[String]) -> bool {
        let meant = match (item, &self.tokens) {
            (Item::Token(reader, _), Some(tokens)) => reader.is(tokens),
            _ => true,
        };
        meant && self.modes.has(item.mode()) && (self.subgraphs || space.is_empty())
    }

    /// An item as the caller gets to see it; of a task perhaps nothing, or
    /// several chunks.
    pub(crate) fn chunks(
        &self,
        py: Python<'_>,
        item: &Item,
        space: &[String],
        mut take: impl FnMut(Py<PyAny>),
    ) -> PyResult<()> {
        let payload = match item {
            Item::Values(state) => self.keys.of(state.bind(py))?,
            Item::Update(node, update) => {
                let payload = PyDict::new(py);
                let update = update.as_ref().map(|update| self.keys.written(update.bind(py)));
                payload.set_item(node, update.transpose()?)?;
                payload.into_any()
            }
            Item::Custom(payload) | Item::Event(payload) | Item::Token(_, payload) => {
                payload.bind(py).clone()
            }
            Item::Task(task) => {
                let Some(task_chunks) = &self.task_chunks else { return Ok(()) };
                let (namespace, task) = (PyTuple::new(py, space)?.into_any(), task.bind(py));
                for pair in
                    ffi::call(task_chunks.bind(py), [Some(&namespace), Some(task)])?.try_iter()?
                {
                    let (mode, payload) = pair?.extract::<(Bound<'_, PyString>, _)>()?;
                    take(self.wrapped(&mode, space, payload)?.unbind());
                }
                return Ok(());
            }
        };
        take(self.wrapped(item.mode().name(py), space, payload)?.unbind());
        Ok(())
    }

    fn wrapped<'py>(
        &self,
        mode: &Bound<'py, PyString>,
        space: &[String],
        payload: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = payload.py();
        if let Some(make_chunk) = &self.make_chunk {
            let space = PyTuple::new(py, space)?.into_any();
            return ffi::call(
                make_chunk.bind(py),
                [Some(mode.as_any()), Some(&space), Some(&payload)],
            );
        }
        let chunk = match (self.subgraphs, self.tagged) {
            (false, false) => return Ok(payload),
            (false, true) => (mode, payload).into_pyobject(py)?,
            (true, false) => (PyTuple::new(py, space)?, payload).into_pyobject(py)?,
            (true, true) => (PyTuple::new(py, space)?, mode, payload).into_pyobject(py)?,
        };
        Ok(chunk.into_any())
    }
}

#[pymethods]
impl StreamOptions {
    #[new]
    #[pyo3(signature = (
        modes, *, tagged=false, subgraphs=false, keys=Keys::All, make_chunk=None, task_chunks=None, tokens=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn new(
        py: Python<'_>,
        modes: Vec<String>,
        tagged: bool,
        subgraphs: bool,
        keys: Keys,
        make_chunk: Option<Py<PyAny>>,
        task_chunks: Option<Py<PyAny>>,
        tokens: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let modes = modes.iter().map(|name| Mode::read(py, name)).collect::<PyResult<Vec<_>>>()?;
        let also =
            [task_chunks.as_ref().map(|_| Mode::Tasks), tokens.as_ref().map(|_| Mode::Messages)];
        let modes = modes.into_iter().chain(also.into_iter().flatten()).collect();
        Ok(Self { modes, tagged, subgraphs, keys, make_chunk, task_chunks, tokens })
    }

    /// Names this stream in `Context.token`.
    #[getter]
    fn tokens(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.tokens.as_ref().map(|tokens| tokens.clone_ref(py))
    }

    /// Whether items of that mode are shown.
    fn has(&self, py: Python<'_>, mode: &str) -> PyResult<bool> {
        Ok(self.modes.has(Mode::read(py, mode)?))
    }

    /// A chunk of the run's own graph that carries the payload as it is.
    fn wrap<'py>(
        &self,
        mode: &Bound<'py, PyString>,
        payload: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.wrapped(mode, &[], payload)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.make_chunk)?;
        visit.call(&self.task_chunks)?;
        visit.call(&self.tokens)
    }
}
