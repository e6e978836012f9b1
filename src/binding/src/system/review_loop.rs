//! The review loop as Python holds it: settings and roles in, an answer out.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_systems::review_loop::{Answer, Config, ReviewLoop as System};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::driver::event::Event;
use crate::fault::to_exception;
use crate::system::asking::{awaited, wait};
use crate::system::put::{Put, put};
use crate::system::role;
use crate::system::role_call::{Carried, RAISED};

/// The review loop, ready for any number of questions at once.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct ReviewLoop {
    system: Arc<System>,
}

#[pymethods]
impl ReviewLoop {
    /// Checks settings and roles; nothing is called yet.
    #[new]
    fn new(
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        roles: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let settings = crate::value::json::read(settings.as_any())?;
        let config = Config::from_json(&settings).map_err(|fault| to_exception(py, &fault))?;
        let system = System::new(config, role::read(roles)?);
        let system = system.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { system: Arc::new(system) })
    }

    /// Answers a question and waits for it. Ctrl-C stops it. Options: `place`
    /// (where it is kept), `how` (`once`: a question that `place` holds is not
    /// begun again; `again`: unless it is over; `resume`: the question in `place` goes on, whichever it
    /// is, and the one that is given does not count), `file`, `run_id`, `seed`, `watch` (called with each event), and `about` (what
    /// the Python code of roles gets to see of the caller).
    #[pyo3(signature = (question, **options))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Put { wanted, session, carried, watch } = put(question, options)?;
        let system = Arc::clone(&self.system);
        let ask = |session| async move { wanted.of(&system, session).await };
        as_dict(py, wait(py, session, watch, ask)?, &carried.0)
    }

    /// Answers a question, awaited. Cancelling the caller's task drops it at
    /// once; `stop`, a `Stopper`, has it end in order.
    /// Options as for `ask`; `watch` is called on threads of its own, one
    /// event after the other.
    #[pyo3(signature = (question, **options))]
    fn aask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Put { wanted, session, carried, watch } = put(question, options)?;
        let system = Arc::clone(&self.system);
        let ask = |session| async move { wanted.of(&system, session).await };
        awaited(py, session, watch, ask, move |py, answer| as_dict(py, answer, &carried.0))
    }

    fn __repr__(&self) -> String {
        format!("ReviewLoop({:?})", self.system.graph().name())
    }
}

fn as_dict<'py>(
    py: Python<'py>,
    answer: Result<Answer, Fault>,
    carried: &Carried,
) -> PyResult<Bound<'py, PyDict>> {
    let mut answer = answer.map_err(|fault| to_exception(py, &fault))?;
    let id: Arc<str> = answer.run_id.as_str().into();
    let trace = PyList::empty(py);
    for event in std::mem::take(&mut answer.trace) {
        trace.append(Event::new(Arc::clone(&id), Arc::unwrap_or_clone(event)))?;
    }
    // The number means nothing outside.
    if let Some(fault) = &mut answer.state.error {
        fault.details.remove(RAISED);
    }
    let number = answer.error.as_mut().and_then(|fault| fault.details.remove(RAISED));
    let number = number.and_then(|number| usize::try_from(number.as_u64()?).ok());
    let raised = number.and_then(|number| carried.raised(py, number));
    let dict = pythonize::pythonize(py, &answer)?.cast_into::<PyDict>()?;
    dict.set_item("trace", trace)?;
    dict.set_item("raised", raised)?;
    Ok(dict)
}
