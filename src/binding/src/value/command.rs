//! What nodes and routers say beside plain dicts: `Send`, `Command`, `Overwrite`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyDict, PyList, PyTuple};

/// An input on its way to a node: the node runs in the next superstep with
/// `arg` instead of the state, once per `Send`.
///
/// Args:
///     node: the node's name.
///     arg: what it gets, unchanged.
///     timeout: seconds, a timedelta, or a `TimeoutPolicy` with a `run_timeout`; overrides the
///         node's own.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Send {
    #[pyo3(get)]
    pub(crate) node: String,
    #[pyo3(get)]
    pub(crate) arg: Py<PyAny>,
    #[pyo3(get)]
    pub(crate) timeout: Option<f64>,
}

#[pymethods]
impl Send {
    #[new]
    #[pyo3(signature = (node, arg, *, timeout=None))]
    fn new(node: String, arg: Py<PyAny>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self { node, arg, timeout: timeout.map(run_timeout).transpose()? })
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("timeout", self.timeout)?;
        Ok(((&self.node, &self.arg).into_pyobject(py)?, named))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Send(node={:?}, arg={})", self.node, self.arg.bind(py).repr()?))
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let same = self.node == other.node && self.arg.bind(py).eq(other.arg.bind(py))?;
        compared(py, same, op)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyTuple::new(
            py,
            [self.node.as_str().into_pyobject(py)?.into_any(), self.arg.bind(py).clone()],
        )?
        .hash()
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.arg)
    }
}

/// An update and the next nodes in one value: a node returns it, or a graph is resumed with it.
///
/// Args:
///     graph: `Command.PARENT` addresses the enclosing graph.
///     update: writes, as a dict or a list of pairs.
///     resume: answers to open questions.
///     goto: a node's name, a `Send`, or a sequence of those.
///     only: `goto` replaces the edges of the node instead of adding to them.
///     end: the graph ends with this superstep.
#[pyclass(module = "antiphon._antiphon", frozen, generic)]
#[derive(Debug)]
pub(crate) struct Command {
    #[pyo3(get)]
    pub(crate) graph: Option<String>,
    #[pyo3(get)]
    pub(crate) update: Option<Py<PyAny>>,
    #[pyo3(get)]
    pub(crate) resume: Option<Py<PyAny>>,
    #[pyo3(get)]
    pub(crate) goto: Py<PyAny>,
    #[pyo3(get)]
    pub(crate) only: bool,
    #[pyo3(get)]
    pub(crate) end: bool,
}

#[pymethods]
impl Command {
    /// Addresses the enclosing graph.
    #[classattr]
    const PARENT: &'static str = "__parent__";

    #[new]
    #[pyo3(signature = (*, graph=None, update=None, resume=None, goto=None, only=false, end=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword options of a public class")]
    fn new(
        py: Python<'_>,
        graph: Option<String>,
        update: Option<Py<PyAny>>,
        resume: Option<Py<PyAny>>,
        goto: Option<Py<PyAny>>,
        only: bool,
        end: bool,
    ) -> PyResult<Self> {
        if let Some(graph) = &graph
            && graph != Self::PARENT
        {
            let message = format!("`graph` must be `Command.PARENT` or nothing: {graph}");
            return Err(PyTypeError::new_err(message));
        }
        let goto = match goto {
            Some(goto) => goto,
            None => PyTuple::empty(py).into_any().unbind(),
        };
        Ok(Self { graph, update, resume, goto, only, end })
    }

    /// The fields, by which `dataclasses.replace` copies a command.
    #[classattr]
    fn __dataclass_fields__(py: Python<'_>) -> PyResult<Py<PyAny>> {
        let dataclasses = py.import(intern!(py, "dataclasses"))?;
        let named = PyDict::new(py);
        named.set_item("kw_only", true)?;
        let made = dataclasses.call_method(
            intern!(py, "make_dataclass"),
            ("Command", PyList::new(py, FIELDS)?),
            Some(&named),
        )?;
        Ok(made.getattr(intern!(py, "__dataclass_fields__"))?.unbind())
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        Ok((PyTuple::empty(py), self.fields(py)?))
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        compared(py, self.fields(py)?.eq(other.get().fields(py)?)?, op)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.values().to_tuple().hash()
    }

    /// LangGraph's users expect the exception of a frozen dataclass.
    #[expect(clippy::unused_self, reason = "Python calls it on an instance")]
    fn __setattr__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = value;
        Err(frozen(py, name, "assign to"))
    }

    #[expect(clippy::unused_self, reason = "Python calls it on an instance")]
    fn __delattr__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        Err(frozen(py, name, "delete"))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut parts = Vec::new();
        if let Some(graph) = &self.graph {
            parts.push(format!("graph={graph:?}"));
        }
        for (name, value) in [("update", &self.update), ("resume", &self.resume)] {
            if let Some(value) = value {
                parts.push(format!("{name}={}", value.bind(py).repr()?));
            }
        }
        if self.goto.bind(py).is_truthy()? {
            parts.push(format!("goto={}", self.goto.bind(py).repr()?));
        }
        Ok(format!("Command({})", parts.join(", ")))
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.update)?;
        visit.call(&self.resume)?;
        visit.call(&self.goto)
    }
}

impl Command {
    /// All fields by name, in their order.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("graph", &self.graph)?;
        fields.set_item("update", &self.update)?;
        fields.set_item("resume", &self.resume)?;
        fields.set_item("goto", &self.goto)?;
        fields.set_item("only", self.only)?;
        fields.set_item("end", self.end)?;
        Ok(fields)
    }
}

const FIELDS: [&str; 6] = ["graph", "update", "resume", "goto", "only", "end"];

/// Replaces the value of a key, bypassing its reducer.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Overwrite {
    #[pyo3(get)]
    pub(crate) value: Py<PyAny>,
}

#[pymethods]
impl Overwrite {
    #[new]
    const fn new(value: Py<PyAny>) -> Self {
        Self { value }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Overwrite({})", self.value.bind(py).repr()?))
    }

    fn __getnewargs__(&self, py: Python<'_>) -> (Py<PyAny>,) {
        (self.value.clone_ref(py),)
    }

    /// Equality without a hash, as of a dataclass that is not frozen.
    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        compared(py, self.value.bind(py).eq(other.get().value.bind(py))?, op)
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.value)
    }
}

/// The result of `==` or `!=`; other comparisons are not implemented.
fn compared(py: Python<'_>, same: bool, op: CompareOp) -> PyResult<Py<PyAny>> {
    match op {
        CompareOp::Eq => Ok(same.into_pyobject(py)?.to_owned().into_any().unbind()),
        CompareOp::Ne => Ok((!same).into_pyobject(py)?.to_owned().into_any().unbind()),
        _ => Ok(py.NotImplemented()),
    }
}

/// The time-out of a send in seconds: a number, a timedelta, or the `run_timeout` of a policy.
fn run_timeout(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let py = given.py();
    let Some(limit) = given.getattr_opt(intern!(py, "run_timeout"))? else {
        return seconds_of(given);
    };
    let idle = given.getattr_opt(intern!(py, "idle_timeout"))?;
    if limit.is_none() || idle.is_some_and(|idle| !idle.is_none()) {
        let message = format!(
            "the `timeout` of a `Send` is a `run_timeout` alone; set `idle_timeout` on the node: \
             {}",
            given.repr()?
        );
        return Err(PyValueError::new_err(message));
    }
    seconds_of(&limit)
}

fn seconds_of(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let py = given.py();
    match given.getattr_opt(intern!(py, "total_seconds"))? {
        Some(total) => total.call0()?.extract(),
        None => given.extract(),
    }
}

fn frozen(py: Python<'_>, name: &str, what: &str) -> PyErr {
    let kind = py.import("dataclasses").and_then(|module| module.getattr("FrozenInstanceError"));
    match kind.and_then(|kind| kind.call1((format!("cannot {what} field: {name}"),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
