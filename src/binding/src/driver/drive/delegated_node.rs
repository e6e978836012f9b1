//! A node that the caller's own task steps, until it ends, is cancelled, or the run's time is over.

use pyo3::exceptions::PyGeneratorExit;
use pyo3::intern;
use pyo3::prelude::*;

use super::{CallProgress, CurrentAwait, Stepper};
use crate::driver::lost_failure;
use crate::driver::node_deadline::{NodeDeadline, current_task};
use crate::driver::step::{self, StepOutcome};
use crate::fault::is_cancellation;
use crate::graph::call::Call;

impl Stepper<'_> {
    /// Steps a node in the caller's own task.
    pub(super) fn delegate(&mut self, py: Python<'_>, mut call: Call) -> PyResult<CallProgress> {
        let stepped = step::begin(self.drive.run.bind(py), &mut call);
        self.stepped(py, call, stepped)
    }

    pub(super) fn resume(
        &mut self,
        py: Python<'_>,
        call: Call,
        inner: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<CallProgress> {
        self.unwatch();
        let stepped = step::resume(&call, inner, value);
        self.stepped(py, call, stepped)
    }

    /// The caller's task was cancelled, by the run's deadline or somebody else.
    pub(super) fn throw(
        &mut self,
        py: Python<'_>,
        call: Call,
        inner: &Bound<'_, PyAny>,
        raised: &PyErr,
    ) -> PyResult<CallProgress> {
        self.unwatch();
        let deadline = self.state.deadline.as_ref().map(Py::get);
        if deadline.is_some_and(|deadline| deadline.has_cancelled(py)) {
            self.drive.run.get().with(|state| {
                state.expire();
                Ok(())
            })?;
            self.state.expired = Some(Box::new(raised.clone_ref(py)));
        } else {
            // The deadline may have cancelled the task in the same instant. `asyncio.timeout` raises
            // `TimeoutError` only if no request but its own is left.
            deadline.map_or(Ok(()), |deadline| deadline.uncancel(py))?;
            self.state.leaving = true;
        }
        let stepped = step::throw(&call, inner, raised);
        self.stepped(py, call, stepped)
    }

    fn stepped(
        &mut self,
        py: Python<'_>,
        call: Call,
        stepped: PyResult<StepOutcome<'_>>,
    ) -> PyResult<CallProgress> {
        let outcome = match stepped {
            Ok(StepOutcome::Waits(inner, value)) => {
                self.state.current = CurrentAwait::Node(call, inner.unbind());
                self.watch(py)?;
                return Ok(CallProgress::Waits(value.unbind()));
            }
            Ok(StepOutcome::Done(value)) => Ok(value),
            Err(error) => Err(error),
        };
        let outcome = match self.state.expired.take() {
            Some(expired) => Err(self.end_expired(py, &call, *expired, outcome.err())?),
            None => outcome,
        };
        if let Err(error) = &outcome
            && self.state.leaving
            && is_callers(py, error)
        {
            self.leave(py, error.clone_ref(py));
        }
        let answer = call.answer(py, outcome);
        self.state.leaving = false;
        let id = call.id;
        call.finish(self.drive.run.bind(py));
        Ok(CallProgress::Done(id, answer))
    }

    /// A node that the run's deadline has stopped has ended: what it returns is not its work.
    fn end_expired(
        &self,
        py: Python<'_>,
        call: &Call,
        expired: PyErr,
        raised: Option<PyErr>,
    ) -> PyResult<PyErr> {
        if let Some(deadline) = &self.state.deadline {
            deadline.get().uncancel(py)?;
        }
        let Some(raised) = raised else { return Ok(expired) };
        lost_failure::log(py, call.name(py), &raised);
        Ok(raised)
    }

    /// A node waits: the run's deadline is to stop it, unless it is being stopped.
    fn watch(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.state.leaving || self.state.expired.is_some() {
            return Ok(());
        }
        let run = &self.drive.run;
        let Some(limit) = run.get().with(|state| Ok(state.remaining()))? else { return Ok(()) };
        if self.state.deadline.is_none() {
            let event_loop = self.event_loop(py)?.unbind();
            let deadline = Py::new(py, NodeDeadline::new(run.clone_ref(py), event_loop))?;
            self.state.deadline = Some(deadline);
        }
        self.state.deadline.iter().try_for_each(|it| NodeDeadline::watch(it.bind(py), limit))
    }

    fn unwatch(&self) {
        self.state.deadline.iter().for_each(|deadline| deadline.get().unwatch());
    }
}

/// Whether the exception that a node raised is the one its caller leaves with. Any other
/// exception in a waiting node was raised by the separate task that it waits for.
fn is_callers(py: Python<'_>, error: &PyErr) -> bool {
    if !is_cancellation(py, error) {
        return error.is_instance_of::<PyGeneratorExit>(py);
    }
    let cancelling = current_task(py).and_then(|task| task.call_method0(intern!(py, "cancelling")));
    // Where no task waits, nobody else can say it.
    !cancelling.and_then(|count| count.extract::<u64>()).is_ok_and(|count| count == 0)
}
