//! Starting a run: everything that is settled before its first superstep.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::Limits;
use antiphon_core::checkpoint::mark;
use antiphon_core::run::{Options, Run as Machine};
use antiphon_runtime::{Clock, SystemClock};
use pyo3::prelude::*;

use crate::chance;
use crate::context::Errand;
use crate::core::{Core, Phase};
use crate::engine::Engine;
use crate::host::Host;
use crate::kept::Kept;
use crate::place::Place;
use crate::run::{Run, Surroundings};
use crate::run_id::RunId;
use crate::shape::Shape;
use crate::stream::{Above, Below, Stream};
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
        let above = self.above.as_ref().and_then(|errand| Above::new(py, errand, &id));
        let below = Below::new(py, self.shape.as_ref().map(Py::get), above.as_ref());
        let mut stream = Stream::new(self.shape, above, self.events);
        stream.listen(self.on_task);
        stream.look_within(!engine.get().nested.is_empty());
        let around = Surroundings {
            config: self.config.unwrap_or_else(|| py.None()),
            context: self.context.unwrap_or_else(|| py.None()),
            enter: self.enter,
            live: stream.is_live() || !below.is_empty() || self.step_timeout.is_some(),
            below,
            thread: place.map(|place| place.thread.clone()),
        };
        let events = stream.wants_events();
        let run_id = match place {
            Some(_) => id.foreseen(),
            None if events => id.get().to_string(),
            None => String::new(),
        };
        let settings = Options {
            // A run that is kept nowhere does not go on, and need not have an id.
            mark: place.map_or_else(|| now.as_micros(), |_| mark(&run_id)),
            run_id,
            seed,
            limits: self.limits,
            max_concurrency: self.max_concurrency,
            commits: place.is_some(),
            events,
            shows: stream.notices(),
            step_timeout: self.step_timeout,
        };
        let kept = place.map(|place| Kept::begin(engine, input, place, (&settings, named)));
        let kept = kept.transpose()?;
        let input = input.filter(|_| kept.is_none());
        let input = input.map(|input| update::input(engine, input)).transpose()?;
        let graph = Arc::clone(&engine.get().graph);
        let isolates = !graph.habits().exclusive;
        let core = Core {
            machine: Machine::new(graph, input.unwrap_or_default(), settings, now),
            host: Host::new(py, engine),
            clock,
            now,
            stream,
            phase: Phase::Running,
            handles: BTreeMap::new(),
            isolates,
            purposes: BTreeMap::new(),
            before: 0,
            kept,
        };
        Run::new(py, id, core, around)
    }
}
