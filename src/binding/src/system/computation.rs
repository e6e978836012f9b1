//! The computation as Python holds it: settings, a model and an engine of the
//! sandbox in, an answer out.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::sandbox::HostFunction;
use antiphon_runtime::{Clock, Model as ModelPort, SystemClock};
use antiphon_systems::computation::{Answer, Computation as System, Config, Session, Task};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value as Json};

use crate::driver::chance;
use crate::driver::event::Event;
use crate::fault::to_exception;
use crate::graph::options::Keywords;
use crate::sandbox::native_sandbox::outcome_in;
use crate::system::asking::{awaited, wait};
use crate::system::ported_sandbox::{Hands, PortedSandbox};
use crate::system::role::model;
use crate::system::stopper::Stopper;
use crate::value::json;

/// What a question may be put with.
const OPTIONS: [&str; 5] = ["call", "run_id", "seed", "stop", "watch"];

/// The computation, ready for any number of questions at once.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct Computation {
    config: Config,
    model: Arc<dyn ModelPort>,
    engine: Py<PyAny>,
    stopper: Py<PyAny>,
}

#[pymethods]
impl Computation {
    /// Checks the settings; nothing is called yet. `engine` has
    /// `run(job, call, stop)` and `session()`; `stopper` makes what stops a job.
    #[new]
    fn new(
        settings: &Bound<'_, PyDict>,
        role_model: &Bound<'_, PyAny>,
        engine: Py<PyAny>,
        stopper: Py<PyAny>,
    ) -> PyResult<Self> {
        let py = settings.py();
        let config = Config::from_json(&json::read(settings.as_any())?);
        let config = config.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { config, model: model(role_model)?, engine, stopper })
    }

    /// Answers a question and waits for it. Ctrl-C stops it. `task` has
    /// `question`, `context`, `inputs` (tagged), `tables` (Arrow by name) and
    /// `functions`. Options: `call` (answers calls of these functions),
    /// `run_id`, `seed`, `stop`, and `watch` (called with each event).
    #[pyo3(signature = (task, **options))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        task: &Bound<'py, PyDict>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Put { system, task, session, watch } = self.put(task, options)?;
        let ask = |session| async move { system.answer(task, session).await };
        as_dict(py, wait(py, session, watch, ask)?)
    }

    /// Answers a question, awaited. Cancelling the caller's task drops it at
    /// once; `stop`, a `Stopper`, has it end in order. Options as for `ask`;
    /// `watch` is called on threads of its own, one event after the other.
    #[pyo3(signature = (task, **options))]
    fn aask<'py>(
        &self,
        py: Python<'py>,
        task: &Bound<'py, PyDict>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Put { system, task, session, watch } = self.put(task, options)?;
        let ask = |session| async move { system.answer(task, session).await };
        awaited(py, session, watch, ask, as_dict)
    }
}

/// A question as it is put.
struct Put {
    system: System,
    task: Task,
    session: Session,
    watch: Option<Py<PyAny>>,
}

impl Computation {
    fn put<'py>(
        &self,
        task: &Bound<'py, PyDict>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Put> {
        let py = task.py();
        let options = Keywords::new(options, &OPTIONS)?;
        let (stopper, call) = (self.stopper.clone_ref(py), options.get("call")?);
        let hands = Arc::new(Hands { stopper, call });
        let sandbox = Arc::new(PortedSandbox { engine: self.engine.clone_ref(py), hands });
        let system = System::new(self.config.clone(), Arc::clone(&self.model), sandbox);
        let system = system.map_err(|fault| to_exception(py, &fault))?;
        let clock = SystemClock::new();
        let given = options.get("seed")?;
        let seed = chance::seed(given);
        let run_id = options.get("run_id")?.unwrap_or_else(|| chance::run_id(given, clock.now()));
        let stop = options.get::<Bound<'_, Stopper>>("stop")?.map(|stop| stop.get().0.clone());
        let session = Session { seed, run_id, stop, ..Session::new(Arc::new(clock)) };
        Ok(Put { system, task: read(task)?, session, watch: options.get("watch")? })
    }
}

fn read(given: &Bound<'_, PyDict>) -> PyResult<Task> {
    let fields =
        Keywords::new(Some(given), &["question", "context", "inputs", "tables", "functions"])?;
    let map = |name: &str| -> PyResult<Map<String, Json>> {
        let given = fields.get::<Bound<'_, PyAny>>(name)?;
        Ok(given.map(|map| json::read(&map)).transpose()?.unwrap_or_default())
    };
    let mut tables = Vec::new();
    if let Some(given) = fields.get::<Bound<'_, PyDict>>("tables")? {
        for (name, bytes) in given {
            tables.push((name.extract()?, bytes.extract()?));
        }
    }
    let functions = fields.get::<Bound<'_, PyAny>>("functions")?;
    let functions = functions.map(|given| json::read::<Vec<HostFunction>>(&given)).transpose()?;
    Ok(Task {
        question: fields.get("question")?.unwrap_or_default(),
        context: map("context")?,
        inputs: map("inputs")?,
        tables,
        functions: functions.unwrap_or_default(),
        // Whoever answers them is known to the engine.
        host: None,
    })
}

fn as_dict(py: Python<'_>, answer: Result<Answer, Fault>) -> PyResult<Bound<'_, PyDict>> {
    let answer = answer.map_err(|fault| to_exception(py, &fault))?;
    let id: Arc<str> = answer.run_id.as_str().into();
    let trace = PyList::empty(py);
    for event in answer.trace {
        trace.append(Event::new(Arc::clone(&id), Arc::unwrap_or_clone(event)))?;
    }
    let computed = answer.computed.as_ref().map(|outcome| outcome_in(py, outcome)).transpose()?;
    let dict = PyDict::new(py);
    dict.set_item("answer", answer.answer)?;
    dict.set_item("highlights", answer.highlights)?;
    dict.set_item("outcome", answer.outcome.as_str())?;
    dict.set_item("is_summarised", answer.is_summarised)?;
    dict.set_item("attempts", pythonize::pythonize(py, &answer.attempts)?)?;
    dict.set_item("computed", computed)?;
    dict.set_item("error", pythonize::pythonize(py, &answer.fault)?)?;
    dict.set_item("trace", trace)?;
    dict.set_item("trace_dropped", answer.trace_dropped)?;
    dict.set_item("usage", pythonize::pythonize(py, &answer.usage)?)?;
    dict.set_item("run_id", answer.run_id)?;
    Ok(dict)
}
