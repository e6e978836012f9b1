//! What a run on a thread is started with, as Python passes it.

use antiphon_core::command::Update;
use antiphon_core::graph::{END, NodeId};
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Answers, StartMode};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::fault::to_exception;
use crate::graph::engine::Engine;
use crate::graph::turn_input::{ThreadInput, TurnInput};
use crate::graph::update;
use crate::value::command::Command;
use crate::value::object::Object;

/// The input of a run on a thread whose contents are not known yet.
#[derive(Debug)]
pub(crate) enum RunInput {
    Turn(ThreadInput),
    Resume(Answers<Object>),
    Edit(NodeId, ThreadInput),
}

impl RunInput {
    pub(crate) fn read(
        engine: &Bound<'_, Engine>,
        input: Option<&Bound<'_, PyAny>>,
        as_node: Option<&str>,
    ) -> PyResult<Self> {
        if let Some(name) = as_node {
            let Some(node) = engine.get().graph.node_id(name) else {
                return Err(to_exception(engine.py(), &unknown_node(name)));
            };
            return edited(engine, input).map(|input| Self::Edit(node, input));
        }
        let Some(input) = input else { return Ok(Self::Resume(Answers::NONE)) };
        if let Ok(command) = input.cast::<Command>()
            && let Some(given) = &command.get().resume
        {
            return Ok(Self::Resume(answers(given.bind(input.py()))));
        }
        ThreadInput::read(engine, input).map(Self::Turn)
    }

    /// Why a run cannot start with it on a new thread, or on one that holds something, if it cannot.
    pub(crate) fn refusal(&self, py: Python<'_>, is_new: bool) -> Option<PyErr> {
        match self {
            Self::Turn(input) | Self::Edit(_, input) => input.refusal(py, is_new),
            Self::Resume(_) => None,
        }
    }

    /// The start of a run on a new thread, or on one that holds something. `named` says that
    /// the caller has given the run an id.
    pub(crate) fn start_mode(self, is_new: bool, named: bool) -> StartMode<Object> {
        let update = |input: ThreadInput| if is_new { input.first() } else { input.further() };
        match self {
            Self::Turn(input) => StartMode::Turn(update(input)),
            Self::Resume(answers) if named => StartMode::ResumeAs(answers),
            Self::Resume(answers) => StartMode::Resume(answers),
            Self::Edit(node, input) => StartMode::Edit(node, update(input)),
        }
    }
}

/// Writes in the name of a node.
fn edited(engine: &Bound<'_, Engine>, input: Option<&Bound<'_, PyAny>>) -> PyResult<ThreadInput> {
    let Some(input) = input else { return Ok(ThreadInput::plain(Update::default())) };
    if input.is_instance_of::<TurnInput>() {
        return ThreadInput::read(engine, input);
    }
    Ok(ThreadInput::plain(match update::outcome(engine, None, input)? {
        TaskOutcome::Done(update) => update,
        _ => Update::default(),
    }))
}

/// A dict whose keys are all ids of questions answers by id; any other value answers the
/// only question.
fn answers(given: &Bound<'_, PyAny>) -> Answers<Object> {
    by_id(given).map_or_else(|| Answers::Only(Object::of(given)), Answers::ById)
}

fn by_id(given: &Bound<'_, PyAny>) -> Option<Vec<(String, Object)>> {
    let dict = given.cast_exact::<PyDict>().ok().filter(|dict| !dict.is_empty())?;
    let pair = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key = key.cast_exact::<PyString>().ok()?.to_str().ok()?.to_owned();
        let is_id = key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| (key, Object(value.unbind())))
    };
    dict.iter().map(pair).collect()
}

fn unknown_node(name: &str) -> Fault {
    let message = format!("the graph does not have the node: {name}");
    Fault::new(FaultCode::TargetUnknown, message)
        .with("target", name)
        .hint(format!("pass the name of a node other than `{END}`"))
}
