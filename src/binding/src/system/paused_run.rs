//! A question that waits for a person and is kept in no thread.

use antiphon_systems::PausedRun;
use pyo3::prelude::*;

/// What a result needs to be resumed without a thread, once.
#[pyclass(module = "antiphon._antiphon", name = "PausedRun", frozen)]
#[derive(Debug)]
pub(crate) struct PyPausedRun(pub(crate) PausedRun);
