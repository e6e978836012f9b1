//! Python's side of a run: the state as a dict that nodes see, and the exceptions that
//! they have raised.

use antiphon_core::Fault;
use antiphon_core::channel::ChannelId;
use antiphon_core::graph::Graph;
use antiphon_core::value::Value as _;
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefReference};

use crate::fault::failure;
use crate::graph::engine::Engine;
use crate::value::object::Object;

/// What Python keeps for the length of a run.
#[derive(Debug)]
pub(crate) struct Host {
    /// The run's own graph first, then all graphs nested in it.
    pub(crate) engines: Vec<Py<Engine>>,
    /// The keys of the run's own graph that have a value, in the order of its schema, with
    /// `None` for those that are merged in place. Nodes get a copy, which is cheaper than
    /// building a dict for each.
    pub(crate) master: Py<PyDict>,
    /// The revision of the state that `master` shows.
    shown: u64,
    /// Exceptions that faults refer to, by number from 1.
    pub(crate) errors: Vec<Py<PyBaseException>>,
    /// The supersteps that the run has spent, for routers: they cannot ask the run itself.
    pub(crate) supersteps: u64,
    /// Those of the run's own graph, thread included.
    pub(crate) step: u64,
    /// The run that owns this, for routers that want to reach it.
    pub(crate) run: Option<Py<PyWeakrefReference>>,
}

impl Host {
    pub(crate) fn new(py: Python<'_>, engine: &Bound<'_, Engine>) -> Self {
        let nested = engine.get().nested.iter().map(|nested| nested.clone_ref(py));
        let engines = std::iter::once(engine.clone().unbind()).chain(nested).collect();
        let master = PyDict::new(py);
        let Engine { graph, keys, .. } = engine.get();
        for (key, channel) in keys.iter().zip(graph.channels()) {
            // As in `note`: only lack of memory can fail.
            let _ = match channel.default.as_ref() {
                Some(_) if key.owned => master.set_item(&key.name, py.None()),
                Some(default) => master.set_item(&key.name, default.fresh_copy().0),
                None => Ok(()),
            };
        }
        let master = master.unbind();
        Self { engines, master, shown: 0, errors: Vec::new(), supersteps: 0, step: 0, run: None }
    }

    /// The Python half of a graph.
    pub(crate) fn engine<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph<Object>,
    ) -> PyResult<&Bound<'py, Engine>>
    where
        Self: 'py,
    {
        let found = self.engines.iter().map(|engine| engine.bind(py));
        let mut found = found.filter(|engine| engine.get().graph.host() == graph.host());
        found.next().ok_or_else(|| PyValueError::new_err("a run has met a graph it does not know"))
    }

    /// Whether changes up to `revision` are to be taken over; from now on they are.
    pub(crate) const fn is_behind(&mut self, revision: u64) -> bool {
        let behind = self.shown != revision;
        self.shown = revision;
        behind
    }

    /// The state is that of another run: all of it is to be taken over.
    pub(crate) const fn forget(&mut self) {
        self.shown = u64::MAX;
    }

    /// Takes a change of the run's own graph over.
    pub(crate) fn note(&self, py: Python<'_>, channel: ChannelId, value: Option<&Object>) {
        let Some(engine) = self.engines.first() else { return };
        let Some(key) = engine.get().key(channel) else { return };
        if key.owned {
            return;
        }
        let master = self.master.bind(py);
        // A string key and a live value: only lack of memory can fail.
        let _ = match value {
            Some(value) => engine.get().set_in_order(master, &key.name, value.0.bind(py)),
            None => master.del_item(&key.name),
        };
    }

    /// A copy of the state of a unit, as a dict.
    pub(crate) fn dict<'py, 'v>(
        &self,
        engine: &Bound<'py, Engine>,
        scope: u32,
        get: impl Fn(ChannelId) -> Option<&'v Object>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = engine.py();
        let root = scope == 0;
        let dict = if root { self.master.bind(py).copy()? } else { PyDict::new(py) };
        for (key, id) in engine.get().keys.iter().zip((0_u32..).map(ChannelId)) {
            if !key.owned && root {
                continue;
            }
            match get(id) {
                Some(value) => dict.set_item(&key.name, &value.0)?,
                None if dict.contains(&key.name)? => dict.del_item(&key.name)?,
                None => {}
            }
        }
        Ok(dict)
    }

    /// Keeps an exception and gives the fault that stands for it.
    pub(crate) fn fault(&mut self, py: Python<'_>, error: PyErr) -> Fault {
        failure(py, error, &[], None, &mut self.errors).fault
    }

    /// The exception that is kept for a fault.
    pub(crate) fn raised(&self, fault: &Fault) -> Option<&Py<PyBaseException>> {
        let number = usize::try_from(fault.foreign?).ok()?;
        self.errors.get(number.checked_sub(1)?)
    }
}
