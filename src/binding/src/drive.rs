//! Driving a run on the caller's own event loop: the run is itself what the
//! caller awaits, and a single node is stepped in the caller's task with no
//! hop in between.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use antiphon_core::task::{Task, TaskId};
use pyo3::exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use crate::blocking::keep;
use crate::call::{Call, Kind, is_awaitable};
use crate::context::Entered;
use crate::core::Next;
use crate::coroutine::{NodeCoroutine, returned};
use crate::ffi::{self, Step};
use crate::handle::Handle;
use crate::inbox::Answer;
use crate::object::Object;
use crate::pool;
use crate::run::{Goal, Run};

/// Supersteps, and time, after which other tasks of the loop get their turn.
const SUPERSTEPS: u32 = 64;
const TIME: Duration = Duration::from_millis(5);

/// One wait for a run: until its end, or until its next item.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Drive {
    run: Py<Run>,
    goal: Goal,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: Current,
    event_loop: Option<Py<PyAny>>,
    /// Raised once the run has come to rest: the caller was cancelled.
    cancelled: Option<PyErr>,
    begun: bool,
}

/// What is awaited right now.
#[derive(Debug)]
enum Current {
    Nothing,
    /// A node, stepped in the caller's own task.
    Node(Call, Py<PyAny>),
    /// A future that something outside completes, and the timer beside it.
    Arrival(Py<PyAny>, Option<Py<PyAny>>),
}

impl Drive {
    pub(crate) fn new(run: &Bound<'_, Run>, goal: Goal) -> PyResult<Self> {
        // Taken here rather than at the first step, so that a second awaiter
        // is turned away at once.
        let _probe = run.get().begin()?;
        Ok(Self {
            run: run.clone().unbind(),
            goal,
            state: Mutex::new(State {
                current: Current::Nothing,
                event_loop: None,
                cancelled: None,
                begun: false,
            }),
        })
    }

    fn take(&self) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let blank =
            State { current: Current::Nothing, event_loop: None, cancelled: None, begun: true };
        std::mem::replace(&mut *state, blank)
    }

    fn put(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Goes on: steps what is awaited, then whatever comes after it.
    fn go(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let mut state = self.take();
        let result = Turn { drive: self, state: &mut state }.go(py, value);
        self.put(state);
        result
    }
}

/// A step of a drive, its state in hand.
struct Turn<'a> {
    drive: &'a Drive,
    state: &'a mut State,
}

impl Turn<'_> {
    fn run<'py>(&self, py: Python<'py>) -> &Bound<'py, Run>
    where
        Self: 'py,
    {
        self.drive.run.bind(py)
    }

    fn event_loop<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static RUNNING: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        if let Some(event_loop) = &self.state.event_loop {
            return Ok(event_loop.bind(py).clone());
        }
        let event_loop = RUNNING.import(py, "asyncio", "get_running_loop")?.call0()?;
        self.state.event_loop = Some(event_loop.clone().unbind());
        Ok(event_loop)
    }

    fn go(&mut self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let run = self.drive.run.bind(py);
        let this = run.get();
        let _driving = this.begin()?;
        if let Some(waits) = self.step_current(py, value)? {
            return Ok(waits);
        }
        let begun = Instant::now();
        let mut supersteps = 0;
        loop {
            if self.drive.goal == Goal::Item
                && self.state.cancelled.is_none()
                && let Some(item) = this.with(|core| Ok(core.stream.next()))?
            {
                return Err(PyStopIteration::new_err((item,)));
            }
            let next = this.with(|core| core.pump(py, &this.id, &this.inbox))?;
            match next {
                Next::Start(tasks) => {
                    if let Some(waits) = self.start(py, &tasks)? {
                        return Ok(waits);
                    }
                }
                Next::Cancel(stopped) => self.cancel(py, stopped)?,
                Next::Wait(limit) => {
                    if let Some(waits) = self.wait(py, limit)? {
                        return Ok(waits);
                    }
                }
                Next::Rest => return Err(self.rest(py)?),
            }
            supersteps += 1;
            if supersteps >= SUPERSTEPS || (supersteps % 8 == 0 && begun.elapsed() >= TIME) {
                return Ok(py.None());
            }
        }
    }

    /// The end of the wait, as the exception that carries it.
    fn rest(&mut self, py: Python<'_>) -> PyResult<PyErr> {
        if let Some(error) = self.state.cancelled.take() {
            return Ok(error);
        }
        let this = self.drive.run.bind(py).get();
        if self.drive.goal == Goal::Item
            && let Some(item) = this.with(|core| Ok(core.stream.next()))?
        {
            return Ok(PyStopIteration::new_err((item,)));
        }
        this.raise(py)?;
        Ok(match self.drive.goal {
            Goal::Item => PyStopAsyncIteration::new_err(()),
            Goal::End => PyStopIteration::new_err(()),
        })
    }

    /// Steps what is awaited; gives what it waits for in turn.
    fn step_current(
        &mut self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Py<PyAny>>> {
        match std::mem::replace(&mut self.state.current, Current::Nothing) {
            Current::Nothing => Ok(None),
            Current::Node(call, inner) => {
                let stepped = step(py, &call, inner.bind(py), value);
                self.stepped(py, call, inner, stepped)
            }
            Current::Arrival(future, timer) => {
                self.arrived(py, timer)?;
                drop(future);
                Ok(None)
            }
        }
    }

    fn arrived(&self, py: Python<'_>, timer: Option<Py<PyAny>>) -> PyResult<()> {
        self.run(py).get().inbox.forget_waker();
        if let Some(timer) = timer {
            timer.call_method0(py, intern!(py, "cancel"))?;
        }
        Ok(())
    }

    fn stepped(
        &mut self,
        py: Python<'_>,
        call: Call,
        inner: Py<PyAny>,
        stepped: PyResult<Step<'_>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let id = call.errand.id;
        let answer = match stepped {
            Ok(Step::Yield(value)) => {
                self.state.current = Current::Node(call, inner);
                return Ok(Some(value.unbind()));
            }
            Ok(Step::Return(value)) => Answer::Returned(value.unbind()),
            Err(error) => Answer::Raised(error),
        };
        drop(call);
        self.run(py).get().with(|core| core.answer(py, id, answer))?;
        Ok(None)
    }

    fn start(&mut self, py: Python<'_>, tasks: &[Task<Object>]) -> PyResult<Option<Py<PyAny>>> {
        let run = self.drive.run.bind(py).clone();
        let this = run.get();
        let busy = this.with(|core| Ok(!core.handles.is_empty() || core.stream.modes.is_live()))?;
        let alone = tasks.len() == 1 && !busy;
        let mut pooled = false;
        let mut delegated = None;
        for task in tasks {
            let call = match this.with(|core| Ok(Call::new(&run, core, task)))? {
                Ok(Some(call)) => call,
                Ok(None) => continue,
                Err(error) => {
                    this.with(|core| core.answer(py, task.id, Answer::Raised(error)))?;
                    continue;
                }
            };
            match call.kind {
                Kind::Coroutine if alone => delegated = Some(call),
                Kind::Coroutine | Kind::TimedCoroutine => self.spawn(py, call)?,
                Kind::Inline => self.call_here(py, call)?,
                Kind::Blocking | Kind::Timed => {
                    keep(&run, &call, Handle::Pooled)?;
                    this.calls.lock().push_back(call);
                    pooled = true;
                }
            }
        }
        if pooled {
            pool::summon(&run);
        }
        match delegated {
            Some(call) => self.delegate(py, call),
            None => Ok(None),
        }
    }

    /// Steps a node in the caller's own task.
    fn delegate(&mut self, py: Python<'_>, call: Call) -> PyResult<Option<Py<PyAny>>> {
        let id = call.errand.id;
        match call.begin(py) {
            Ok(inner) => {
                let stepped = step(py, &call, &inner, py.None().bind(py));
                self.stepped(py, call, inner.unbind(), stepped)
            }
            Err(error) => {
                self.run(py).get().with(|core| core.answer(py, id, Answer::Raised(error)))?;
                Ok(None)
            }
        }
    }

    fn spawn(&mut self, py: Python<'_>, call: Call) -> PyResult<()> {
        let id = call.errand.id;
        match call.begin(py) {
            Ok(inner) => self.spawn_begun(py, call, inner),
            Err(error) => {
                self.run(py).get().with(|core| core.answer(py, id, Answer::Raised(error)))
            }
        }
    }

    fn spawn_begun(&mut self, py: Python<'_>, call: Call, inner: Bound<'_, PyAny>) -> PyResult<()> {
        let id = call.errand.id;
        let event_loop = self.event_loop(py)?;
        let coroutine = NodeCoroutine::spawn(&event_loop, call, inner)?;
        let handle = Handle::Coroutine(coroutine);
        self.run(py).get().with(|core| Ok(core.handles.insert(id, handle))).map(|_| ())
    }

    fn call_here(&mut self, py: Python<'_>, call: Call) -> PyResult<()> {
        let id = call.errand.id;
        let answer = match call.make(py) {
            Ok(value) if is_awaitable(&value) => {
                let inner = crate::call::steppable(&value)?;
                return self.spawn_begun(py, call, inner);
            }
            Ok(value) => Answer::Returned(value.unbind()),
            Err(error) => Answer::Raised(error),
        };
        self.run(py).get().with(|core| core.answer(py, id, answer))
    }

    fn cancel(&mut self, py: Python<'_>, stopped: Vec<(TaskId, Handle)>) -> PyResult<()> {
        for (id, handle) in stopped {
            handle.cancel(py)?;
            self.run(py).get().with(|core| Ok(core.handles.insert(id, handle)))?;
        }
        Ok(())
    }

    /// Gives the loop a future that is completed by whatever comes first.
    fn wait(&mut self, py: Python<'_>, limit: Option<Duration>) -> PyResult<Option<Py<PyAny>>> {
        let event_loop = self.event_loop(py)?;
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        let wake = Py::new(py, Wake { future: future.clone().unbind() })?.into_any();
        let this = self.drive.run.bind(py).get();
        if !this.inbox.on_arrival(event_loop.clone().unbind(), wake.clone_ref(py)) {
            return Ok(None);
        }
        let timer = match limit {
            Some(limit) => {
                let arguments = (limit.as_secs_f64(), wake);
                Some(event_loop.call_method1(intern!(py, "call_later"), arguments)?.unbind())
            }
            None => None,
        };
        let iterator = future.call_method0(intern!(py, "__await__"))?;
        let yielded = match ffi::send(&iterator, py.None().bind(py))? {
            Step::Yield(yielded) => yielded,
            Step::Return(_) => return Ok(None),
        };
        self.state.current = Current::Arrival(future.unbind(), timer);
        Ok(Some(yielded.unbind()))
    }

    /// The caller's task was cancelled, or something was thrown into it.
    fn thrown(&mut self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let run = self.drive.run.bind(py).clone();
        let this = run.get();
        let raised = raised_by(error)?;
        match std::mem::replace(&mut self.state.current, Current::Nothing) {
            Current::Node(call, inner) => {
                let thrown = {
                    let _entered = Entered::enter(&call.errand);
                    let run = call.variables.bind(py).getattr(intern!(py, "run"))?;
                    let throw = inner.bind(py).getattr(intern!(py, "throw"))?;
                    run.call1((throw, raised.value(py)))
                };
                match thrown {
                    Ok(value) => {
                        self.state.current = Current::Node(call, inner);
                        return Err(Yielded::carry(py, value));
                    }
                    Err(error) => {
                        let answer = match returned(py, &error) {
                            Some(value) => Answer::Returned(value),
                            None => {
                                if is_exit(py, &error) {
                                    self.state.cancelled = Some(error.clone_ref(py));
                                    this.inbox.put(py, |letters| {
                                        letters.cancel = Some("cancelled".into())
                                    });
                                }
                                Answer::Raised(error)
                            }
                        };
                        this.with(|core| core.answer(py, call.errand.id, answer))
                    }
                }
            }
            current => {
                if let Current::Arrival(_, timer) = current {
                    self.arrived(py, timer)?;
                }
                self.state.cancelled = Some(raised);
                this.inbox.put(py, |letters| letters.cancel = Some("cancelled".into()));
                Ok(())
            }
        }
    }
}

/// One step of a node, in its own copy of the context variables.
fn step<'py>(
    py: Python<'py>,
    call: &Call,
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Step<'py>> {
    static ADVANCE: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
    let advance = ADVANCE.import(py, "antiphon._antiphon", "_advance")?;
    let _entered = Entered::enter(&call.errand);
    let stepped =
        call.variables.bind(py).call_method1(intern!(py, "run"), (advance, inner, value))?;
    let (done, value) = stepped.extract::<(bool, Bound<'py, PyAny>)>()?;
    Ok(if done { Step::Return(value) } else { Step::Yield(value) })
}

/// One step of a coroutine: whether it is done, and what it gave.
#[pyfunction]
#[pyo3(name = "_advance")]
pub(crate) fn advance<'py>(
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<(bool, Bound<'py, PyAny>)> {
    Ok(match ffi::send(inner, value)? {
        Step::Yield(value) => (false, value),
        Step::Return(value) => (true, value),
    })
}

/// Completes a future unless something else has.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
struct Wake {
    future: Py<PyAny>,
}

#[pymethods]
impl Wake {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let future = self.future.bind(py);
        if !future.call_method0(intern!(py, "done"))?.is_truthy()? {
            future.call_method1(intern!(py, "set_result"), (py.None(),))?;
        }
        Ok(())
    }
}

/// A value that a thrown-into coroutine yielded, on its way up.
struct Yielded;

impl Yielded {
    fn carry(py: Python<'_>, value: Bound<'_, PyAny>) -> PyErr {
        let error = PyRuntimeError::new_err("yielded");
        // A fresh exception takes any attribute.
        let _ = error.value(py).setattr(intern!(py, "yielded"), value);
        error
    }

    fn unpack(py: Python<'_>, error: &PyErr) -> Option<Py<PyAny>> {
        error.value(py).getattr_opt(intern!(py, "yielded")).ok().flatten().map(Bound::unbind)
    }
}

/// The exception that `throw` was given, in any of its forms.
fn raised_by(error: &Bound<'_, PyTuple>) -> PyResult<PyErr> {
    let first = error.get_item(0)?;
    if first.is_instance_of::<pyo3::types::PyType>() {
        let value = error.get_item(1).ok().filter(|value| !value.is_none());
        let value = match value {
            Some(value) if value.is_instance(&first)? => value,
            Some(value) => first.call1((value,))?,
            None => first.call0()?,
        };
        return Ok(PyErr::from_value(value));
    }
    Ok(PyErr::from_value(first))
}

/// Whether an exception means that the caller wants to leave.
fn is_exit(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<pyo3::exceptions::PyException>(py)
}

#[pymethods]
impl Drive {
    const fn __await__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.go(py, py.None().bind(py))
    }

    fn send(&self, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.go(value.py(), value)
    }

    #[pyo3(signature = (*error))]
    fn throw(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let mut state = self.take();
        let thrown = Turn { drive: self, state: &mut state }.thrown(py, error);
        self.put(state);
        match thrown {
            Ok(()) => self.go(py, py.None().bind(py)),
            Err(error) => match Yielded::unpack(py, &error) {
                Some(value) => Ok(value),
                None => Err(error),
            },
        }
    }

    /// The caller will not come back: what runs is stopped.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.take();
        if let Current::Node(_, inner) = &state.current {
            inner.call_method0(py, intern!(py, "close"))?;
        }
        let handles = self.run.get().with(|core| Ok(std::mem::take(&mut core.handles)))?;
        handles.values().try_for_each(|handle| handle.cancel(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.run)?;
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        match &state.current {
            Current::Node(_, inner) => visit.call(inner),
            Current::Nothing | Current::Arrival(..) => Ok(()),
        }
    }
}
