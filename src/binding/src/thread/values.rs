//! The values of a thread, for every kind of graph.

use std::sync::Arc;

use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::RecoveredRun;
use antiphon_core::command::Update;
use antiphon_core::graph::Graph;
use antiphon_core::value::Value;
use antiphon_stores::{CheckpointView, ValueCodec};
use pyo3::prelude::*;

/// The graph of a thread, and its values for Python.
pub(crate) trait ThreadValues: Send + Sync + 'static {
    type Value: Value + Send + Sync + 'static;

    fn graph(&self) -> &Arc<Graph<Self::Value>>;

    fn codec(&self) -> &impl ValueCodec<Self::Value>;

    fn value<'py>(&self, py: Python<'py>, value: &Self::Value) -> PyResult<Bound<'py, PyAny>>;

    /// What an update writes; `None` if that is nothing.
    fn written<'py>(
        &self,
        py: Python<'py>,
        update: &Update<Self::Value>,
    ) -> PyResult<Option<Bound<'py, PyAny>>>;

    /// What finished tasks of an open superstep would change.
    fn preview(
        &self,
        py: Python<'_>,
        view: &CheckpointView<Self::Value>,
        tip: RecoveredRun<Self::Value>,
    ) -> Vec<(ChannelId, Self::Value)>;
}
