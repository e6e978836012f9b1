//! Starting a run: everything that is settled before its first superstep.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use antiphon_core::Time;
use antiphon_core::budget::Limits;
use antiphon_core::checkpoint::key_salt;
use antiphon_core::command::Update;
use antiphon_core::run::{Breakpoints, Options, Run as Machine};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::SystemClock;
use pyo3::prelude::*;

use crate::driver::begin_subrun::SubrunStart;
use crate::driver::parent_task::ParentTask;
use crate::driver::phase::RunPhase;
use crate::driver::run::{Run, RunSettings};
use crate::driver::run_id::RunId;
use crate::driver::run_state::RunState;
use crate::driver::seeds;
use crate::driver::standby_driver::stand_in;
use crate::driver::stream::{NestedStreams, ParentStream, Stream};
use crate::driver::stream_options::StreamOptions;
use crate::fault::to_exception;
use crate::graph::engine::Engine;
use crate::graph::host::Host;
use crate::graph::task_context::TaskContext;
use crate::graph::update;
use crate::thread::session::ThreadSession;
use crate::thread::thread_ref::ThreadRef;
use crate::value::object::Object;

/// What a run is asked for, beside its input.
#[derive(Debug)]
pub(crate) struct StartOptions {
    pub(crate) config: Option<Py<PyAny>>,
    pub(crate) context: Option<Py<PyAny>>,
    pub(crate) limits: Limits,
    pub(crate) max_concurrency: Option<usize>,
    pub(crate) stream_options: Option<Py<StreamOptions>>,
    /// The task that starts it.
    pub(crate) parent: Option<Arc<TaskContext>>,
    pub(crate) on_enter: Option<Py<PyAny>>,
    pub(crate) on_task: Option<Py<PyAny>>,
    pub(crate) step_timeout: Option<Duration>,
    pub(crate) breakpoints: Option<Arc<Breakpoints>>,
    /// Whether events are kept.
    pub(crate) events: bool,
    /// Where it is kept.
    pub(crate) thread_ref: Option<Py<ThreadRef>>,
    /// Which types it may hold, if it is kept with the task that starts it.
    pub(crate) registry: Option<Py<PyAny>>,
    pub(crate) id: Option<Arc<str>>,
    pub(crate) seed: Option<u64>,
}

impl StartOptions {
    /// Starts the run; nothing happens yet.
    pub(crate) fn start<'py>(
        self,
        engine: &Bound<'py, Engine>,
        input: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Run>> {
        let py = engine.py();
        let clock = Arc::new(SystemClock::new());
        let now = clock.began();
        let seed = seeds::draw(self.seed);
        let named = self.id.is_some();
        let id = RunId::new(self.id, seed, now);
        let thread_ref = self.thread_ref.as_ref().map(|thread_ref| thread_ref.bind(py).get());
        let shown =
            self.parent.as_ref().filter(|cx| !cx.run.get().settings.nested_streams.is_empty());
        let parent_stream = shown.map(|cx| {
            let name = format!("{}:{}", cx.name, id.get());
            ParentStream::new(weak(cx), &cx.run.get().settings.nested_streams, name)
        });
        let further = shown.map(|cx| &cx.run.get().settings.nested_streams);
        let own = self.stream_options.as_ref().map(Py::get);
        let nested_streams = NestedStreams::new(py, own, further);
        let mut stream = Stream::new(self.stream_options, parent_stream, self.events);
        stream.listen(self.on_task);
        stream.look_within(!engine.get().nested.is_empty());
        let kept_in = self.parent.as_ref().and_then(|cx| cx.run.get().settings.kept_in.clone());
        let settings = RunSettings {
            config: self.config.unwrap_or_else(|| py.None()),
            context: Mutex::new(self.context.unwrap_or_else(|| py.None())),
            on_enter: self.on_enter,
            is_live: stream.is_live() || !nested_streams.is_empty() || self.step_timeout.is_some(),
            nested_streams,
            thread: thread_ref.map(|thread_ref| thread_ref.thread.clone()),
            parent: self.parent.as_ref().map(weak),
            kept_in: thread_ref.map(|thread_ref| thread_ref.thread.clone()).or(kept_in),
        };
        let events = stream.wants_events();
        let run_id = match thread_ref {
            Some(_) => id.foreseen(),
            None if events => id.get().to_string(),
            None => String::new(),
        };
        let options = Options {
            key_salt: call_key_salt(self.seed, &run_id, now),
            run_id,
            seed,
            limits: self.limits,
            max_concurrency: self.max_concurrency,
            commits: thread_ref.is_some(),
            events,
            event_options: stream.notices(),
            step_timeout: self.step_timeout,
            schemas: Some(&JsonSchemas),
            breakpoints: self.breakpoints,
        };
        let parts = RunParts { clock, now, stream, options, settings, id };
        match (self.thread_ref, self.parent) {
            (Some(thread_ref), _) => {
                parts.in_thread(engine, input, (thread_ref.bind(py).get(), named))
            }
            (None, Some(cx)) => parts.within(engine, input, (&cx, self.registry)),
            (None, None) => parts.alone(engine, input),
        }
    }
}

/// What a run is made of, stored or not.
struct RunParts {
    clock: Arc<SystemClock>,
    now: Time,
    stream: Stream,
    options: Options,
    settings: RunSettings,
    id: RunId,
}

impl RunParts {
    /// A run that is stored in its own thread.
    fn in_thread<'py>(
        mut self,
        engine: &Bound<'py, Engine>,
        input: Option<&Bound<'_, PyAny>>,
        (thread_ref, named): (&ThreadRef, bool),
    ) -> PyResult<Bound<'py, Run>> {
        let session = ThreadSession::open(engine, input, thread_ref, (&self.options, named))?;
        // What it begins with depends on what the thread holds.
        let machine = self.machine(engine, Update::default());
        self.run(engine, machine, |state| state.session = Some(session))
    }

    /// A run that is a part of the node that starts it.
    fn within<'py>(
        mut self,
        engine: &Bound<'py, Engine>,
        input: Option<&Bound<'_, PyAny>>,
        (cx, registry): (&Arc<TaskContext>, Option<Py<PyAny>>),
    ) -> PyResult<Bound<'py, Run>> {
        let registry = registry.filter(|_| self.settings.kept_in.is_some());
        let started = SubrunStart::begin(cx, engine, (input, registry), &mut self.options)?;
        let Some(mut started) = started else { return self.alone(engine, input) };
        let known = started.machine(engine.get(), &mut self.options, self.now);
        let known = known.map_err(|fault| to_exception(engine.py(), &fault))?;
        let continues = known.is_some();
        let machine = match known {
            Some(known) => known,
            None => self.machine(engine, written(engine, input)?),
        };
        let run = self.run(engine, machine, |state| {
            if continues {
                let spent = state.machine.budget().spent().supersteps;
                state.before = state.machine.supersteps().saturating_sub(spent);
                state.host.forget();
            }
            state.subrun = Some(started.subrun);
        })?;
        run.get().with(|state| {
            if let Some(subrun) = &state.subrun {
                subrun.park(run.clone().into_any());
            }
            Ok(())
        })?;
        Ok(run)
    }

    /// A run that is kept nowhere.
    fn alone<'py>(
        mut self,
        engine: &Bound<'py, Engine>,
        input: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Run>> {
        let machine = self.machine(engine, written(engine, input)?);
        self.run(engine, machine, |_| ())
    }

    fn machine(&mut self, engine: &Bound<'_, Engine>, input: Update<Object>) -> Machine<Object> {
        let graph = Arc::clone(&engine.get().graph);
        Machine::new(graph, input, std::mem::take(&mut self.options), self.now)
    }

    fn run<'py>(
        self,
        engine: &Bound<'py, Engine>,
        machine: Machine<Object>,
        finish: impl FnOnce(&mut RunState),
    ) -> PyResult<Bound<'py, Run>> {
        let py = engine.py();
        let Self { clock, now, stream, settings, id, .. } = self;
        let graph = Arc::clone(&engine.get().graph);
        let mut state = RunState {
            machine,
            host: Host::new(py, engine),
            clock,
            now,
            stream,
            phase: RunPhase::Running,
            handles: BTreeMap::new(),
            isolates: !graph.semantics().exclusive,
            graph,
            agent_calls: BTreeMap::new(),
            before: 0,
            session: None,
            subrun: None,
        };
        finish(&mut state);
        Run::new(py, id, state, settings, stand_in)
    }
}

/// The first writes.
fn written(
    engine: &Bound<'_, Engine>,
    input: Option<&Bound<'_, PyAny>>,
) -> PyResult<Update<Object>> {
    input.map_or_else(|| Ok(Update::default()), |input| update::input(engine, input))
}

/// The half of the keys of calls that is not the seed's: 64 bits more that nobody
/// can foretell, or, where the seed is given, the same for the same run.
fn call_key_salt(seed: Option<u64>, run_id: &str, now: Time) -> u64 {
    match seed {
        None => seeds::draw(None).number(),
        Some(_) if run_id.is_empty() => now.as_micros(),
        Some(_) => key_salt(run_id),
    }
}

fn weak(cx: &Arc<TaskContext>) -> Weak<dyn ParentTask> {
    Arc::<TaskContext>::downgrade(cx)
}
