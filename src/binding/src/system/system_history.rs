//! The threads of a system, as their histories show them.

use std::sync::Arc;

use antiphon_core::channel::{ChannelId, WriteOp};
use antiphon_core::checkpoint::RecoveredRun;
use antiphon_core::command::Update;
use antiphon_core::graph::Graph;
use antiphon_stores::{CheckpointView, JsonCodec, ValueCodec};
use antiphon_systems::SystemRules;
use antiphon_systems::registry::ReadySystem;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

use crate::thread::values::ThreadValues;

/// A system; the values of its threads are JSON.
pub(crate) struct SystemThread(pub(crate) Arc<dyn ReadySystem>);

impl ThreadValues for SystemThread {
    type Value = Json;

    fn graph(&self) -> &Arc<Graph<Json>> {
        self.0.graph()
    }

    fn codec(&self) -> &impl ValueCodec<Json> {
        &JsonCodec
    }

    fn value<'py>(&self, py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, value)?)
    }

    fn written<'py>(
        &self,
        py: Python<'py>,
        update: &Update<Json>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let written = PyDict::new(py);
        for write in &update.writes {
            let (WriteOp::Merge(value) | WriteOp::Replace(value)) = &write.op else { continue };
            if let Some(channel) = self.graph().channel(write.channel) {
                written.set_item(&*channel.name, self.value(py, value)?)?;
            }
        }
        Ok(Some(written.into_any()).filter(|_| !update.writes.is_empty()))
    }

    fn preview(
        &self,
        _: Python<'_>,
        view: &CheckpointView<Json>,
        tip: RecoveredRun<Json>,
    ) -> Vec<(ChannelId, Json)> {
        view.preview(self.graph(), tip, &mut SystemRules)
    }
}
