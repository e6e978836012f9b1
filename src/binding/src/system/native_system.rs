//! Any ready system as Python holds it: a name, settings and resources in, a result out.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::event::Event as CoreEvent;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::JsonCodec;
use antiphon_systems::registry::{DynOutput, ReadySystem, registry};
use antiphon_systems::sub_task::WorkerTools;
use antiphon_systems::{Drawing, Session, SystemEntry, SystemResult, find};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::{Map, Value as Json};

use crate::driver::event::Event;
use crate::driver::seeds;
use crate::driver::usage::usage_dict;
use crate::driver::wait::{awaitable_result, block_on_native, block_on_result};
use crate::fault::to_exception;
use crate::system::asking::{awaited, wait};
use crate::system::paused_run::PyPausedRun;
use crate::system::question::Question;
use crate::system::resources;
use crate::system::system_history::SystemThread;
use crate::system::user_context::{PyUserContext, RAISED};
use crate::thread::history::History;
use crate::thread::thread_ref::ThreadRef;
use crate::value::json;

/// A ready system, for any number of questions at once.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct NativeSystem {
    entry: &'static SystemEntry,
    system: Arc<dyn ReadySystem>,
}

#[pymethods]
impl NativeSystem {
    /// Checks settings and resources; nothing is called yet. `given` has `roles` and `tools` by
    /// name, `prompts` by name, `sandbox`, an engine with what stops its jobs, and `queue`.
    #[new]
    fn new(name: &str, settings: &Bound<'_, PyDict>, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = settings.py();
        let raise = |fault| to_exception(py, &fault);
        let entry = find(name).map_err(raise)?;
        let settings = read_settings(entry, settings)?;
        let system = entry.open(&settings, resources::read(given)?).map_err(raise)?;
        Ok(Self { entry, system })
    }

    /// Takes a question to where it rests and waits for it. Ctrl-C cancels it. Options:
    /// `thread` (where it is kept), `how` (`once`: a question that the thread holds is not
    /// started again; `again`: unless it has ended; `resume`: the question in the thread goes
    /// on, and the one that is given does not count), `answer` (to the only open question, in a tuple) or
    /// `answers` (pairs of the id of a question and its answer), `attachments` (bytes by name), `call` (answers the calls of code in a
    /// sandbox), `limits` (what it may spend beside the settings), `run_id`, `seed`, `cancel`, `watch` (called with each event), and `about` (what
    /// the Python code of roles sees of the caller).
    #[pyo3(signature = (question, **options))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Question { start, attachments, session, exceptions, watch } =
            Question::read(question, options)?;
        let system = Arc::clone(&self.system);
        let ask = |session| async move { system.run(start, attachments, session).await };
        as_dict(py, wait(py, session, watch, ask)?, &exceptions.0)
    }

    /// The same, awaited. Cancelling the caller's task drops the question at once; `cancel`, a
    /// `CancellationToken`, has it end in order. `watch` is called on separate threads, one event after
    /// the other.
    #[pyo3(signature = (question, **options))]
    fn aask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Question { start, attachments, session, exceptions, watch } =
            Question::read(question, options)?;
        let system = Arc::clone(&self.system);
        let ask = |session| async move { system.run(start, attachments, session).await };
        awaited(py, session, watch, ask, move |py, result| as_dict(py, result, &exceptions.0))
    }

    /// Its prompts as they are read, by `NAME.TIER`.
    #[getter]
    fn prompts(&self) -> BTreeMap<String, String> {
        self.system.prompts().into_iter().collect()
    }

    /// The nodes and edges of its graph, for drawing.
    fn drawing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, &Drawing::of(self.system.graph()))?)
    }

    /// The names of its nodes.
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.system.graph().nodes().iter().skip(1).map(|node| &*node.name).collect()
    }

    /// How a question ended whose graph came to its end in this state.
    fn completed_outcome(&self, state: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let outcome = self.system.completed_outcome(&json::read(state)?);
        Ok(outcome.map_err(|fault| to_exception(state.py(), &fault))?.as_str())
    }

    /// What a thread held at its checkpoints, as `Engine.history` shows it.
    #[pyo3(signature = (place, *, live=false))]
    fn history(&self, place: &Bound<'_, ThreadRef>, live: bool) -> PyResult<History> {
        History::open(SystemThread(Arc::clone(&self.system)), place, live)
    }

    /// The threads in the store of `place` whose last run was one of this system and was lost.
    fn orphans(&self, py: Python<'_>, place: &Bound<'_, ThreadRef>) -> PyResult<Vec<String>> {
        block_on_result(py, place.get().orphans(py, self.system.graph(), JsonCodec)?)
    }

    /// `orphans` on the caller's event loop.
    fn aorphans<'py>(
        &self,
        py: Python<'py>,
        place: &Bound<'_, ThreadRef>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let orphans = place.get().orphans(py, self.system.graph(), JsonCodec)?;
        awaitable_result(py, orphans, |py, names| names.into_pyobject(py).map(Bound::unbind))
    }

    /// Merges values into the state of a thread, in the name of the node that `place` names.
    /// Returns the new checkpoint.
    fn edit(&self, place: &Bound<'_, ThreadRef>, values: &Bound<'_, PyAny>) -> PyResult<u64> {
        let edited = self.editing(place, values)?;
        block_on_native(place.py(), edited)?.map_err(|fault| to_exception(place.py(), &fault))
    }

    /// `edit` on the caller's event loop.
    fn aedit<'py>(
        &self,
        place: &Bound<'py, ThreadRef>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable_result(place.py(), self.editing(place, values)?, |_, checkpoint| Ok(checkpoint))
    }

    fn __repr__(&self) -> String {
        format!("NativeSystem({:?})", self.entry.name)
    }
}

impl NativeSystem {
    /// What workers of it do, by role.
    pub(crate) fn worker_tools(&self) -> WorkerTools {
        self.system.worker_tools()
    }

    fn editing(
        &self,
        place: &Bound<'_, ThreadRef>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<impl Future<Output = Result<u64, Fault>> + Send + 'static> {
        let (py, system) = (place.py(), Arc::clone(&self.system));
        let (thread, values) = (place.get().stored_thread(py)?, json::read(values)?);
        let node = place.get().as_node.clone().unwrap_or_default();
        let clock = SystemClock::new();
        let run_id = seeds::draw_run_id(None, clock.now());
        let session = Session { run_id, ..Session::new(Arc::new(clock)) };
        let session = Session { seed: seeds::draw(None), ..session };
        Ok(async move { system.edit(thread, (&node, values), session).await })
    }
}

/// The settings as JSON; a value that is none is refused by its name.
fn read_settings(entry: &SystemEntry, given: &Bound<'_, PyDict>) -> PyResult<Json> {
    let mut settings = Map::new();
    for (key, value) in given {
        let key: String = key.extract()?;
        let value = json::read(&value).map_err(|error| {
            if !error.is_instance_of::<PyTypeError>(given.py()) {
                return error;
            }
            let schema = entry.config_schema();
            let known = schema.pointer("/properties").and_then(Json::as_object);
            let known: Vec<_> = known.into_iter().flat_map(Map::keys).cloned().collect();
            let cause = error.value(given.py());
            let message = format!("`{key}` is no setting, or has no JSON form: {cause}");
            let fault = Fault::new(FaultCode::SystemSettingInvalid, message);
            let fault = fault.hint(format!("its settings are {}", known.join(", ")));
            to_exception(given.py(), &fault)
        })?;
        settings.insert(key, value);
    }
    Ok(Json::Object(settings))
}

/// All ready systems, each as a dict with its name, description, roles and prompts, and the JSON
/// Schemas of its settings, input and output.
#[pyfunction]
pub(crate) fn systems(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for entry in registry() {
        let roles = PyDict::new(py);
        for role in entry.roles {
            roles.set_item(role.name, role.description)?;
        }
        let tools: Vec<_> =
            entry.roles.iter().filter(|role| role.has_tools).map(|role| role.name).collect();
        let prompts: Vec<_> = entry.prompts.iter().map(|prompt| prompt.name).collect();
        let dict = PyDict::new(py);
        dict.set_item("name", entry.name)?;
        dict.set_item("description", entry.description)?;
        dict.set_item("roles", roles)?;
        dict.set_item("tools", tools)?;
        dict.set_item("prompts", prompts)?;
        dict.set_item("config_schema", pythonize::pythonize(py, &entry.config_schema())?)?;
        dict.set_item("input_schema", pythonize::pythonize(py, &entry.input_schema())?)?;
        dict.set_item("output_schema", pythonize::pythonize(py, &entry.output_schema())?)?;
        all.append(dict)?;
    }
    Ok(all)
}

fn as_dict<'py>(
    py: Python<'py>,
    result: Result<SystemResult<DynOutput, DynOutput>, Fault>,
    user_context: &PyUserContext,
) -> PyResult<Bound<'py, PyDict>> {
    let mut result = result.map_err(|fault| to_exception(py, &fault))?;
    let events = events(py, &result.run_id, std::mem::take(&mut result.events))?;
    let paused = result.paused.take();
    let attachments = PyDict::new(py);
    for (id, bytes) in result.attachments.all() {
        attachments.set_item(id, PyBytes::new(py, &bytes))?;
    }
    // The number means nothing outside.
    let number = result.error.as_mut().and_then(|fault| fault.details.remove(RAISED));
    let number = number.and_then(|number| usize::try_from(number.as_u64()?).ok());
    let raised = number.and_then(|number| user_context.raised(py, number));
    let dict = pythonize::pythonize(py, &result)?.cast_into::<PyDict>()?;
    dict.set_item("attachments", attachments)?;
    dict.set_item("events", events)?;
    dict.set_item("usage", usage_dict(py, &result.spent)?)?;
    dict.set_item("raised", raised)?;
    dict.set_item("paused", paused.map(|run| Py::new(py, PyPausedRun(run))).transpose()?)?;
    Ok(dict)
}

fn events<'py>(
    py: Python<'py>,
    run_id: &str,
    kept: Vec<Arc<CoreEvent>>,
) -> PyResult<Bound<'py, PyList>> {
    let id: Arc<str> = run_id.into();
    let list = PyList::empty(py);
    for event in kept {
        list.append(Event::new(Arc::clone(&id), Arc::unwrap_or_clone(event)))?;
    }
    Ok(list)
}
