//! Driving a run on the caller's own event loop: the run is itself what the
//! caller awaits, and a single node is stepped in the caller's task with no
//! hop in between.

mod delegated_node;

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use antiphon_core::Time;
use antiphon_core::task::TaskId;
use pyo3::exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::coroutine::NodeCoroutine;
use crate::driver::fork_guard::ForkGuard;
use crate::driver::mailbox::Answer;
use crate::driver::node_deadline::NodeDeadline;
use crate::driver::pool;
use crate::driver::run::{Goal, Run};
use crate::driver::step::raised_by;
use crate::driver::task_handle::TaskHandle;
use crate::driver::turn::{Driver, Next};
use crate::driver::wake::Wake;
use crate::fault::{busy, without_stop};
use crate::ffi::{self, CollectionPause, Step};
use crate::graph::call::{Call, is_awaitable, steppable};
use crate::graph::call_kind::CallKind;

/// Supersteps, and time, after which other tasks of the loop get their turn.
const SUPERSTEPS: u32 = 64;
const TIME: Duration = Duration::from_millis(5);

/// So many tasks hold about as many objects as the garbage collector lets pass: 700.
const MANY_TASKS: usize = 64;

/// One wait for a run until its end; or its items, with a wait for each, which
/// is this object too.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Drive {
    run: Py<Run>,
    goal: Goal,
    state: Mutex<State>,
    /// The process whose event loop waits.
    guard: ForkGuard,
}

#[derive(Debug)]
struct State {
    current: CurrentAwait,
    event_loop: Option<Py<PyAny>>,
    /// Raised once the run has come to rest: the caller was cancelled.
    cancelled: Option<Box<PyErr>>,
    /// The present node was asked to leave, and may still be cleaning up.
    leaving: bool,
    deadline: Option<Py<NodeDeadline>>,
    /// Thrown into the present node when the run's time was over.
    expired: Option<Box<PyErr>>,
    /// Since other tasks of the loop last had their turn.
    supersteps: u32,
    /// The first turn since then.
    since: Option<Time>,
}

impl State {
    fn new() -> Self {
        Self {
            current: CurrentAwait::Nothing,
            event_loop: None,
            cancelled: None,
            leaving: false,
            deadline: None,
            expired: None,
            supersteps: 0,
            since: None,
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let Some(deadline) = self.deadline.take() else { return };
        Python::try_attach(|py| deadline.get().stop(py));
    }
}

/// What a step of the wait gives the caller's event loop.
enum DriveStep {
    /// Something to wait for.
    Waits(Py<PyAny>),
    /// What was waited for: the next item, or the outcome of the run.
    Done(Py<PyAny>),
    /// What is raised instead.
    Raise(PyErr),
}

/// What is awaited right now.
#[derive(Debug)]
enum CurrentAwait {
    Nothing,
    /// A node, stepped in the caller's own task.
    Node(Call, Py<PyAny>),
    /// A future that something outside completes, and the timer beside it.
    Arrival(Option<Py<PyAny>>),
}

/// What progress of one thing that a turn asked for.
enum CallProgress {
    Nothing,
    /// The caller's event loop is to wait for this.
    Waits(Py<PyAny>),
    /// A node is done, not yet taken over.
    Done(TaskId, Answer),
}

impl Drive {
    pub(crate) fn new(run: &Bound<'_, Run>, goal: Goal) -> PyResult<Self> {
        // Taken here rather than at the first step, so that a second awaiter
        // is turned away at once.
        let _probe = run.get().begin(run.py())?;
        let state = Mutex::new(State::new());
        Ok(Self { run: run.clone().unbind(), goal, state, guard: ForkGuard::new() })
    }

    /// The state, which is never waited for: a caller that enters while a step
    /// is being taken gets an error.
    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| busy())
    }

    /// Continues: steps what is awaited, then what follows it.
    fn go(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<DriveStep> {
        let step = Stepper { drive: self, state: &mut *self.state()? }.go(py, value);
        step.map_err(|error| without_stop(py, error))
    }
}

/// A step of a drive, its state in hand.
struct Stepper<'a> {
    drive: &'a Drive,
    state: &'a mut State,
}

impl Stepper<'_> {
    fn event_loop<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if let Some(event_loop) = &self.state.event_loop {
            return Ok(event_loop.bind(py).clone());
        }
        let event_loop = RUNNING.import(py, "asyncio", "get_running_loop")?.call0()?;
        self.state.event_loop = Some(event_loop.clone().unbind());
        Ok(event_loop)
    }

    fn go(&mut self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<DriveStep> {
        let run = self.drive.run.bind(py);
        let this = run.get();
        let _driving = this.begin(py)?;
        let mut done = match self.step_current(py, value)? {
            CallProgress::Waits(waits) => return Ok(self.waiting(waits)),
            CallProgress::Done(id, answer) => Some((id, answer)),
            CallProgress::Nothing => None,
        };
        loop {
            let goal = if self.state.cancelled.is_some() { Goal::End } else { self.drive.goal };
            let (driver, taken) = ((Driver::EventLoop, goal), done.take());
            let turned = this.with(|state| Ok((state.turn(run, driver, taken)?, state.now)));
            let (next, now) = turned.map_err(|error| self.drive.guard.check_loop(py, error))?;
            let progress = match next {
                Next::Call(call) => self.call_alone(py, call)?,
                Next::Start(calls) | Next::StartAndHelp(calls) => self.start(py, calls)?,
                Next::Cancel(stopped) => {
                    this.cancel_tasks(py, stopped)?;
                    CallProgress::Nothing
                }
                Next::Wait(limit) => self.wait(py, limit)?,
                Next::Item(item) => return Ok(DriveStep::Done(item)),
                Next::Rest => return self.rest(py),
            };
            match progress {
                CallProgress::Waits(waits) => return Ok(self.waiting(waits)),
                CallProgress::Done(id, answer) => done = Some((id, answer)),
                CallProgress::Nothing => {}
            }
            if self.is_unfair(now) {
                if let Some((id, answer)) = done {
                    this.with(|state| state.answer(py, id, answer))?;
                }
                return Ok(self.waiting(py.None()));
            }
        }
    }

    /// Whether it is time to let other tasks of the loop have their turn.
    fn is_unfair(&mut self, now: Time) -> bool {
        let since = *self.state.since.get_or_insert(now);
        self.state.supersteps += 1;
        self.state.supersteps >= SUPERSTEPS || now.since(since) >= TIME
    }

    /// Other tasks have their turn now.
    fn waiting(&mut self, waits: Py<PyAny>) -> DriveStep {
        self.state.supersteps = 0;
        self.state.since = None;
        DriveStep::Waits(waits)
    }

    /// The end of the wait.
    fn rest(&mut self, py: Python<'_>) -> PyResult<DriveStep> {
        if let Some(deadline) = &self.state.deadline {
            deadline.get().stop(py)?;
        }
        if let Some(error) = self.state.cancelled.take() {
            return Ok(DriveStep::Raise(*error));
        }
        let run = self.drive.run.bind(py).get();
        run.raise(py)?;
        Ok(match self.drive.goal {
            Goal::Item => DriveStep::Raise(PyStopAsyncIteration::new_err(())),
            Goal::End => DriveStep::Done(run.outcome(py)?.into_any().unbind()),
        })
    }

    fn step_current(&mut self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<CallProgress> {
        match std::mem::replace(&mut self.state.current, CurrentAwait::Nothing) {
            CurrentAwait::Nothing => Ok(CallProgress::Nothing),
            CurrentAwait::Node(call, inner) => self.resume(py, call, inner.bind(py), value),
            CurrentAwait::Arrival(timer) => self.arrived(py, timer).map(|()| CallProgress::Nothing),
        }
    }

    fn arrived(&self, py: Python<'_>, timer: Option<Py<PyAny>>) -> PyResult<()> {
        self.drive.run.bind(py).get().mailbox.forget_waker();
        if let Some(timer) = timer {
            timer.call_method0(py, intern!(py, "cancel"))?;
        }
        Ok(())
    }

    /// A call that runs alone needs no separate task.
    fn call_alone(&mut self, py: Python<'_>, call: Call) -> PyResult<CallProgress> {
        match call.kind {
            CallKind::Coroutine if !self.drive.run.get().settings.is_live => {
                self.delegate(py, call)
            }
            CallKind::Inline => self.call_here(py, call),
            _ => self.start(py, vec![call]),
        }
    }

    /// Makes calls: inline ones here, async ones in separate tasks.
    fn start(&mut self, py: Python<'_>, calls: Vec<Call>) -> PyResult<CallProgress> {
        let drive = self.drive;
        let this = drive.run.bind(py).get();
        let mut progress = CallProgress::Nothing;
        let _pause = self.may_pause_collection(py, &calls)?.then(|| CollectionPause::new(py));
        for call in calls {
            let made = match call.kind {
                CallKind::Inline => self.call_here(py, call)?,
                _ => self.spawn(py, call)?,
            };
            if let CallProgress::Done(id, answer) = std::mem::replace(&mut progress, made) {
                this.with(|state| state.answer(py, id, answer))?;
            }
        }
        Ok(progress)
    }

    /// Whether the garbage collector had better not run while these are started: each leaves
    /// some ten objects, all of which stay, so that it would find nothing, many times over. A
    /// factory that steps tasks at once would run the nodes meanwhile.
    fn may_pause_collection(&mut self, py: Python<'_>, calls: &[Call]) -> PyResult<bool> {
        let spawned =
            |call: &Call| matches!(call.kind, CallKind::Coroutine | CallKind::TimedCoroutine);
        if calls.len() < MANY_TASKS || !calls.iter().all(spawned) {
            return Ok(false);
        }
        let factory = self.event_loop(py)?.call_method0(intern!(py, "get_task_factory"));
        Ok(factory.is_ok_and(|factory| factory.is_none()))
    }

    fn spawn(&mut self, py: Python<'_>, mut call: Call) -> PyResult<CallProgress> {
        match call.begin(self.drive.run.bind(py)) {
            Ok(inner) => self.spawn_started(py, call, inner),
            Err(error) => Ok(CallProgress::Done(call.id, call.answer(py, Err(error)))),
        }
    }

    fn spawn_started(
        &mut self,
        py: Python<'_>,
        call: Call,
        inner: Bound<'_, PyAny>,
    ) -> PyResult<CallProgress> {
        let id = call.id;
        let event_loop = self.event_loop(py)?;
        let coroutine = NodeCoroutine::spawn(&event_loop, self.drive.run.bind(py), (call, inner))?;
        self.drive.run.get().keep(id, TaskHandle::Coroutine(coroutine.into_any()))?;
        Ok(CallProgress::Nothing)
    }

    fn call_here(&mut self, py: Python<'_>, mut call: Call) -> PyResult<CallProgress> {
        let id = call.id;
        let made = call.make(self.drive.run.bind(py));
        if let Ok(value) = made.as_ref()
            && is_awaitable(value)
        {
            let inner = steppable(value)?;
            return self.spawn_started(py, call, inner);
        }
        let answer = call.answer(py, made);
        call.finish(self.drive.run.bind(py));
        Ok(CallProgress::Done(id, answer))
    }

    /// Gives the loop a future that the first event completes.
    fn wait(&mut self, py: Python<'_>, limit: Option<Duration>) -> PyResult<CallProgress> {
        let event_loop = self.event_loop(py)?;
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        let wake = Py::new(py, Wake { future: future.clone().unbind() })?.into_any();
        let run = self.drive.run.bind(py);
        pool::cancel_at_exit(run);
        let this = run.get();
        if !this.mailbox.on_arrival(event_loop.clone().unbind(), wake.clone_ref(py)) {
            return Ok(CallProgress::Nothing);
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
            Step::Return(_) => return Ok(CallProgress::Nothing),
        };
        self.state.current = CurrentAwait::Arrival(timer);
        Ok(CallProgress::Waits(yielded.unbind()))
    }

    /// The caller's task was cancelled, or something was thrown into it. Gives
    /// what a node that caught it waits for instead.
    fn thrown(
        &mut self,
        py: Python<'_>,
        error: &Bound<'_, PyTuple>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let raised = raised_by(error)?;
        match std::mem::replace(&mut self.state.current, CurrentAwait::Nothing) {
            CurrentAwait::Node(call, inner) => {
                match self.throw(py, call, inner.bind(py), &raised)? {
                    CallProgress::Waits(waits) => return Ok(Some(waits)),
                    CallProgress::Done(id, answer) => {
                        self.drive.run.bind(py).get().with(|state| state.answer(py, id, answer))?;
                    }
                    CallProgress::Nothing => {}
                }
            }
            CurrentAwait::Arrival(timer) => {
                self.arrived(py, timer)?;
                self.leave(py, raised);
            }
            CurrentAwait::Nothing => self.leave(py, raised),
        }
        Ok(None)
    }

    /// The caller wants to leave: everything is stopped, and awaited, first.
    fn leave(&mut self, py: Python<'_>, error: PyErr) {
        self.state.cancelled = Some(Box::new(error));
        let mailbox = &self.drive.run.get().mailbox;
        mailbox.post(py, |mail| mail.cancel = Some("cancelled".to_owned()));
    }
}

#[pymethods]
impl Drive {
    const fn __await__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    const fn __aiter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __anext__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        if !matches!(slf.state()?.current, CurrentAwait::Nothing) {
            return Err(PyRuntimeError::new_err("the next item is awaited already"));
        }
        Ok(slf)
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(match self.go(py, py.None().bind(py))? {
            DriveStep::Waits(waits) => Some(waits),
            DriveStep::Done(result) => {
                ffi::stop(result.bind(py));
                None
            }
            DriveStep::Raise(error) => return Err(error),
        })
    }

    fn send(&self, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match self.go(value.py(), value)? {
            DriveStep::Waits(waits) => Ok(waits),
            DriveStep::Done(result) => Err(PyStopIteration::new_err((result,))),
            DriveStep::Raise(error) => Err(error),
        }
    }

    #[pyo3(signature = (*error))]
    fn throw(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let thrown = Stepper { drive: self, state: &mut *self.state()? }.thrown(py, error);
        match thrown.map_err(|error| without_stop(py, error))? {
            Some(waits) => Ok(waits),
            None => self.send(py.None().bind(py)),
        }
    }

    /// The caller will not return: what runs is stopped.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let current = std::mem::replace(&mut self.state()?.current, CurrentAwait::Nothing);
        if let CurrentAwait::Node(_, inner) = &current {
            inner.call_method0(py, intern!(py, "close"))?;
        }
        if let Some(deadline) = self.state()?.deadline.take() {
            deadline.get().stop(py)?;
        }
        let handles = self.run.get().with(|state| Ok(std::mem::take(&mut state.handles)))?;
        handles.values().try_for_each(|handle| handle.cancel(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.run)?;
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        visit.call(&state.deadline)?;
        match &state.current {
            CurrentAwait::Node(_, inner) => visit.call(inner),
            CurrentAwait::Nothing | CurrentAwait::Arrival(_) => Ok(()),
        }
    }
}
