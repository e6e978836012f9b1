//! What a run shows while it runs: only what was asked for is built.

use std::collections::VecDeque;

use antiphon_core::event::Event as CoreEvent;
use antiphon_core::notice::Shows;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::event::Event;

/// Which items a stream carries.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a set of independent modes")]
pub(crate) struct Modes {
    pub(crate) values: bool,
    pub(crate) updates: bool,
    pub(crate) custom: bool,
    pub(crate) events: bool,
    pub(crate) tasks: bool,
    /// Whether the states of nested graphs are shown among the values.
    pub(crate) within: bool,
}

impl Modes {
    pub(crate) fn read(names: &[String]) -> PyResult<Self> {
        let mut modes = Self::default();
        for name in names {
            *match name.as_str() {
                "values" => &mut modes.values,
                "updates" => &mut modes.updates,
                "custom" => &mut modes.custom,
                "events" => &mut modes.events,
                "tasks" => &mut modes.tasks,
                _ => return Err(PyValueError::new_err(format!("unknown stream mode: {name}"))),
            } = true;
        }
        Ok(modes)
    }

    /// What the engine is to tell for them.
    pub(crate) const fn shows(self) -> Shows {
        Shows { handed_up: self.updates && !self.tasks, tasks: self.tasks, states: self.within }
    }

    /// Whether items can appear in the middle of a superstep.
    pub(crate) const fn is_live(self) -> bool {
        self.custom || self.events
    }
}

/// Items that wait for the consumer, and the events that are kept for the result.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) modes: Modes,
    items: VecDeque<Py<PyAny>>,
    /// Whether events are kept at all.
    pub(crate) record: bool,
    pub(crate) events: Vec<Py<Event>>,
    pub(crate) dropped: u64,
}

impl Stream {
    /// Events that are kept for the result of a run.
    const KEPT: usize = 10_000;

    pub(crate) fn new(modes: Modes, record: bool) -> Self {
        Self { modes, record, ..Self::default() }
    }

    pub(crate) fn push(
        &mut self,
        py: Python<'_>,
        mode: &str,
        namespace: &Bound<'_, PyTuple>,
        payload: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let item = (mode, namespace, payload).into_pyobject(py)?;
        self.items.push_back(item.into_any().unbind());
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Option<Py<PyAny>> {
        self.items.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Keeps events for the result and shows them to who watches.
    pub(crate) fn take_events(
        &mut self,
        py: Python<'_>,
        run_id: &str,
        events: Vec<CoreEvent>,
    ) -> PyResult<()> {
        for event in events {
            let namespace = PyTuple::new(py, event.path.iter().map(|name| &**name))?;
            let event = Py::new(py, Event::new(run_id, event))?;
            if self.modes.events {
                self.push(py, "events", &namespace, event.bind(py).as_any())?;
            }
            if self.record && self.events.len() < Self::KEPT {
                self.events.push(event);
            } else {
                self.dropped += 1;
            }
        }
        Ok(())
    }

    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.items.iter().try_for_each(|item| visit.call(item))
    }
}
