//! How a run stands.

use antiphon_core::Fault;
use antiphon_core::effect::{Ending, Question};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::value::object::Object;

/// How a run stands.
#[derive(Debug)]
pub(crate) enum RunPhase {
    Running,
    Paused(Vec<Question<Object>>),
    Ended(Ending),
    Failed(Fault),
}

impl RunPhase {
    /// What Python calls it.
    pub(crate) fn name<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        match self {
            Self::Running => intern!(py, "running"),
            Self::Paused(_) => intern!(py, "paused"),
            Self::Ended(Ending::Completed) => intern!(py, "completed"),
            Self::Ended(Ending::Budget(_)) => intern!(py, "budget"),
            Self::Ended(Ending::Cancelled(_)) => intern!(py, "cancelled"),
            Self::Ended(Ending::Breakpoint) => intern!(py, "breakpoint"),
            Self::Failed(_) => intern!(py, "failed"),
        }
    }
}
