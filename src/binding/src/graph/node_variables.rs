//! The context variables of a node: a copy of its caller's, in which the call of the
//! node is set. To make one takes a third of the time of a superstep, so one that is
//! still as it was made serves the next call too.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{PyTraverseError, PyVisit};

use crate::ffi::{self, GilCell};

/// The context variables of the code that began a run.
#[derive(Debug)]
pub(crate) struct CallerVariables {
    context: Py<PyAny>,
    spare: GilCell<Option<NodeVariables>>,
}

/// Those of one call of a node at a time.
#[derive(Debug)]
pub(crate) struct NodeVariables {
    context: Py<PyAny>,
    call: Py<PyAny>,
    /// The table behind the context. All copies share it until they are changed, which
    /// puts another one in its place. None if its sharing cannot be determined.
    table: Option<Py<PyAny>>,
}

impl CallerVariables {
    /// Those of the present code.
    pub(crate) fn here(py: Python<'_>) -> PyResult<Self> {
        static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let context = COPY.import(py, "contextvars", "copy_context")?.call0()?;
        Ok(Self { context: context.unbind(), spare: GilCell::default() })
    }

    /// Does `work` in a copy of them.
    pub(crate) fn enter<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        ffi::within(&self.copy(py)?, work)
    }

    pub(crate) fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        ffi::call(method(py, &COPY, ("Context", "copy"))?, [Some(self.context.bind(py))])
    }

    /// Those that an earlier call has given back.
    pub(crate) fn spare(&self, py: Python<'_>) -> Option<NodeVariables> {
        self.spare.replace(py, None)
    }

    /// For the garbage collector.
    ///
    /// # Errors
    /// Its own.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.context)?;
        self.spare.visit(visit, |spare, visit| {
            spare.as_ref().map_or(Ok(()), |spare| spare.traverse(visit))
        })
    }
}

impl NodeVariables {
    /// Those of a call, which stands in them as `call`.
    pub(crate) fn new<'py>(context: Bound<'py, PyAny>, call: Bound<'py, PyAny>) -> Self {
        let table = table_with(&context, &call).map(Bound::unbind);
        Self { context: context.unbind(), call: call.unbind(), table }
    }

    /// What stands for the call in them.
    pub(crate) fn call<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.call.bind(py)
    }

    /// The context that the node is called in.
    pub(crate) fn context<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.context.bind(py)
    }

    /// Keeps them for the next call of the run if they are unchanged and not shared. A task
    /// that outlives its node holds a copy, and that copy must still name the old call.
    pub(crate) fn give_back(self, py: Python<'_>, caller: &CallerVariables) {
        if self.is_unshared(py) {
            caller.spare.replace(py, Some(self));
        }
    }

    fn is_unshared(&self, py: Python<'_>) -> bool {
        let Self { context, call, table: Some(table) } = self else { return false };
        // Beside the references here: of the table one in the context, and of the call one in
        // the table's root. A changed context has another table, whose root holds the call too.
        ffi::is_sole(context.bind(py))
            && ffi::references(table.bind(py)) == 2
            && ffi::references(call.bind(py)) == 2
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.context)?;
        visit.call(&self.table)?;
        visit.call(&self.call)
    }
}

/// The table behind a context, if a value stands in its root. A table is a tree of which
/// changed copies share all but what leads to the change: only what stands in the root is
/// held once for each table, so that its references tell whether there are others.
fn table_with<'py>(
    context: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> Option<Bound<'py, PyAny>> {
    let table = sole_referent(context)?;
    let root = sole_referent(&table)?;
    ffi::referents(&root).iter().any(|held| held.is(value)).then_some(table)
}

/// The one object that another one holds; none if there are several.
fn sole_referent<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let mut referents = ffi::referents(object);
    if referents.len() == 1 { referents.pop() } else { None }
}

/// A method of `contextvars`, looked up once: calling it unbound spares a method
/// object per call.
pub(crate) fn method<'py>(
    py: Python<'py>,
    method: &'static PyOnceLock<Py<PyAny>>,
    (kind, name): (&str, &str),
) -> PyResult<&'py Bound<'py, PyAny>> {
    let found = method.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("contextvars")?.getattr(kind)?.getattr(name)?.unbind())
    })?;
    Ok(found.bind(py))
}
