//! Starting a run: everything that is settled before its first superstep.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_core::budget::Limits;
use antiphon_core::checkpoint::mark;
use antiphon_core::run::{Options, Run as Machine};
use antiphon_runtime::{Clock, SystemClock};
use pyo3::prelude::*;

use crate::chance;
use crate::context::Errand;
use crate::core::{Core, Phase};
use crate::engine::Engine;
use crate::fault::to_exception;
use crate::host::Host;
use crate::kept::Kept;
use crate::place::Place;
use crate::run::{Run, Surroundings};
use crate::run_id::RunId;
use crate::shape::Shape;
use crate::stream::{Above, Below, Stream};
use crate::subrun::Subrun;
use crate::update;

/// What a run is asked for, beside its input.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) config: Option<Py<PyAny>>,
    pub(crate) context: Option<Py<PyAny>>,
    pub(crate) limits: Limits,
    pub(crate) max_concurrency: Option<usize>,
    pub(crate) shape: Option<Py<Shape>>,
    /// The task that starts it.
    pub(crate) above: Option<Arc<Errand>>,
    pub(crate) enter: Option<Py<PyAny>>,
    pub(crate) on_task: Option<Py<PyAny>>,
    pub(crate) step_timeout: Option<Duration>,
    /// Whether events are kept.
    pub(crate) events: bool,
    /// Where it is kept.
    pub(crate) place: Option<Py<Place>>,
    /// Which types it may hold, if it is kept with the task that starts it.
    pub(crate) registry: Option<Py<PyAny>>,
    pub(crate) id: Option<Arc<str>>,
    pub(crate) seed: Option<u64>,
}

impl Request {
    /// Starts the run; nothing happens yet.
    pub(crate) fn start<'py>(
        self,
        engine: &Bound<'py, Engine>,
        input: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Run>> {
        let py = engine.py();
        let clock = Arc::new(SystemClock::new());
        let now = clock.now();
        let seed = chance::seed(self.seed);
        let named = self.id.is_some();
        let id = RunId::new(self.id, seed, now);
        let place = self.place.as_ref().map(|place| place.bind(py).get());
        let above = self.above.as_ref().and_then(|errand| Above::new(errand, &id));
        let below = Below::new(py, self.shape.as_ref().map(Py::get), above.as_ref());
        let mut stream = Stream::new(self.shape, above, self.events);
        stream.listen(self.on_task);
        stream.look_within(!engine.get().nested.is_empty());
        let around = self.above.as_ref().and_then(|errand| errand.run.get().kept_in.clone());
        let around = Surroundings {
            config: self.config.unwrap_or_else(|| py.None()),
            context: self.context.unwrap_or_else(|| py.None()),
            enter: self.enter,
            live: stream.is_live() || !below.is_empty() || self.step_timeout.is_some(),
            below,
            thread: place.map(|place| place.thread.clone()),
            caller: self.above.as_ref().map(Arc::downgrade),
            kept_in: place.map(|place| place.thread.clone()).or(around),
        };
        let events = stream.wants_events();
        let run_id = match place {
            Some(_) => id.foreseen(),
            None if events => id.get().to_string(),
            None => String::new(),
        };
        let mut settings = Options {
            mark: call_mark(self.seed, &run_id, now),
            run_id,
            seed,
            limits: self.limits,
            max_concurrency: self.max_concurrency,
            commits: place.is_some(),
            events,
            shows: stream.notices(),
            step_timeout: self.step_timeout,
        };
        let mut part = match &self.above {
            Some(errand) if place.is_none() => {
                let registry = self.registry.filter(|_| around.kept_in.is_some());
                Subrun::begin(errand, engine, (input, registry), &mut settings)?
            }
            _ => None,
        };
        let known = part.as_mut().map(|part| part.machine(engine.get(), &mut settings, now));
        let known = known.transpose().map_err(|fault| to_exception(py, &fault))?.flatten();
        let kept = place.map(|place| Kept::begin(engine, input, place, (&settings, named)));
        let kept = kept.transpose()?;
        let input = input.filter(|_| kept.is_none() && known.is_none());
        let input = input.map(|input| update::input(engine, input)).transpose()?;
        let graph = Arc::clone(&engine.get().graph);
        let isolates = !graph.habits().exclusive;
        let mut host = Host::new(py, engine);
        let spent = known.as_ref().map(|known| known.budget().spent().supersteps);
        let before = known.as_ref().map_or(0, Machine::supersteps) - spent.unwrap_or_default();
        let machine = match known {
            Some(known) => {
                host.forget();
                known
            }
            None => {
                let graph = Arc::clone(&graph);
                Machine::new(graph, input.unwrap_or_default(), settings, now)
            }
        };
        let core = Core {
            machine,
            host,
            graph,
            subrun: part.map(|part| part.subrun),
            clock,
            now,
            stream,
            phase: Phase::Running,
            handles: BTreeMap::new(),
            isolates,
            purposes: BTreeMap::new(),
            before,
            kept,
        };
        let run = Run::new(py, id, core, around)?;
        run.get().with(|core| core.subrun.as_deref().map_or(Ok(()), |subrun| subrun.park(&run)))?;
        Ok(run)
    }
}

/// The half of the keys of calls that is not the seed's: 64 bits more that nobody
/// can foretell, or, where the seed is given, the same for the same run.
fn call_mark(seed: Option<u64>, run_id: &str, now: Time) -> u64 {
    match seed {
        None => chance::seed(None).number(),
        Some(_) if run_id.is_empty() => now.as_micros(),
        Some(_) => mark(run_id),
    }
}
