//! The threads of a compiled graph, as their histories show them.

use std::sync::Arc;

use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::RecoveredRun;
use antiphon_core::command::Update;
use antiphon_core::graph::Graph;
use antiphon_stores::{CheckpointView, ValueCodec};
use pyo3::prelude::*;

use crate::driver::stream_items;
use crate::graph::engine::Engine;
use crate::graph::host::Host;
use crate::graph::rules::PyRules;
use crate::thread::values::ThreadValues;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// A compiled graph, and how the values of one of its threads are stored.
pub(crate) struct EngineThread {
    pub(crate) engine: Py<Engine>,
    pub(crate) codec: ObjectCodec,
}

impl ThreadValues for EngineThread {
    type Value = Object;

    fn graph(&self) -> &Arc<Graph<Object>> {
        &self.engine.get().graph
    }

    fn codec(&self) -> &impl ValueCodec<Object> {
        &self.codec
    }

    fn value<'py>(&self, py: Python<'py>, value: &Object) -> PyResult<Bound<'py, PyAny>> {
        Ok(value.0.bind(py).clone())
    }

    fn written<'py>(
        &self,
        py: Python<'py>,
        update: &Update<Object>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        stream_items::written(self.engine.bind(py), update)
    }

    fn preview(
        &self,
        py: Python<'_>,
        view: &CheckpointView<Object>,
        tip: RecoveredRun<Object>,
    ) -> Vec<(ChannelId, Object)> {
        let mut host = Host::new(py, self.engine.bind(py));
        view.preview(self.graph(), tip, &mut PyRules { py, host: &mut host })
    }
}
