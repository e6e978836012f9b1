//! What a run can reach of the task that has started it, and that it is a part of.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_core::checkpoint::{RecoveredRun, SubrunCommit};
use antiphon_runtime::store::StoreFuture;
use pyo3::prelude::*;

use crate::driver::stream_options::Item;
use crate::value::object::Object;

/// The task of a node that has started a run.
pub(crate) trait ParentTask: std::fmt::Debug + Send + Sync {
    /// Shows an item in the stream of the task's own run.
    fn show(&self, py: Python<'_>, item: Item, space: Vec<String>);

    /// Stores a commit of the subrun with the task; gives what that has to wait for.
    ///
    /// # Errors
    /// Why it cannot be stored.
    fn commit_subrun(&self, commit: SubrunCommit) -> Result<Option<StoreFuture<()>>, Fault>;

    /// Keeps the subrun for the case that the task begins again in this process.
    fn park_subrun(&self, index: u32, run: Object);

    /// The subrun rests, or is over and came to that.
    fn end_subrun(&self, index: u32, came_to: Option<RecoveredRun<Object>>);

    /// The subrun continues after a rest.
    fn resume_subrun(&self, index: u32);

    /// Nobody will drive the subrun again. A garbage collection may find that out, so it
    /// must not wait for the task's own run.
    fn abandon_subrun(&self, index: u32);

    /// The task's `Context`; none if the task has ended.
    ///
    /// # Errors
    /// What Python raises.
    fn context(self: Arc<Self>, py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>>;
}
