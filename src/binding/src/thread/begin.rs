//! How a run begins on a thread: with more input, where an earlier run has
//! stopped, or as an edit of what is there.

use antiphon_core::approval::Schemas;
use antiphon_core::checkpoint::{
    Commit, CommitChange, GraphSnapshot, RecoveredRun, TaskSnapshotState,
};
use antiphon_core::command::Update;
use antiphon_core::graph::{END, NodeId};
use antiphon_core::run::{Options, Run as Machine};
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, FaultCode, Seed, Time};
use antiphon_runtime::store::StoreFuture;
use antiphon_stores::{CheckpointWriter, LoadedThread, RunHeader};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::fault::to_exception;
use crate::graph::engine::Engine;
use crate::graph::turn::{Input, Turn};
use crate::graph::update;
use crate::value::codec::ObjectCodec;
use crate::value::command::Command;
use crate::value::object::Object;

/// What the caller wants of a thread.
#[derive(Debug)]
pub(crate) enum Begin {
    /// A new run over what the thread holds, with this input.
    Turn(Input),
    /// What was begun is to go on, with answers to what it asks.
    Resume(Option<Object>),
    /// This is to be written in the name of a node, and nothing is to run.
    Edit(NodeId, Input),
}

/// A run that has found its place in a thread.
pub(crate) struct Begun {
    pub(crate) machine: Machine<Object>,
    pub(crate) run_id: String,
    /// The supersteps of earlier runs.
    pub(crate) before: u64,
    /// There is nothing left to do, and so nothing to be kept.
    pub(crate) idle: bool,
    /// To be waited for before anything else happens.
    pub(crate) answered: Vec<StoreFuture<()>>,
}

impl Begin {
    /// Reads what the run is started with.
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
        let Some(input) = input else { return Ok(Self::Resume(None)) };
        if let Ok(command) = input.cast::<Command>()
            && let Some(answers) = &command.get().resume
        {
            return Ok(Self::Resume(Some(Object(answers.clone_ref(input.py())))));
        }
        Input::read(engine, input).map(Self::Turn)
    }

    /// Why a run cannot begin on a new thread, if it cannot.
    pub(crate) fn refusal(&self, py: Python<'_>) -> Option<PyErr> {
        match self {
            Self::Turn(input) | Self::Edit(_, input) => input.refusal(py),
            Self::Resume(_) => None,
        }
    }

    /// Begins on what was found. `named` says that the caller has said what the
    /// run is called.
    pub(crate) fn on(
        self,
        found: Option<LoadedThread<Object>>,
        checkpoint_writer: &mut CheckpointWriter<Object, ObjectCodec>,
        (engine, options, named): (&Engine, Options, bool),
        now: Time,
    ) -> Result<Begun, Fault> {
        let graph = std::sync::Arc::clone(&engine.graph);
        let (before, options, machine) = match (self, found) {
            (Self::Resume(_), None) => return Err(nothing()),
            (Self::Resume(answers), Some(found)) => {
                let going = Going { checkpoint_writer, engine, options, named };
                return going.resume(found, answers.as_ref(), now);
            }
            (Self::Turn(input), None) => {
                (0, options.clone(), Machine::new(graph, input.first(), options, now))
            }
            (Self::Turn(input), Some(found)) => {
                let graph_snapshot = found.memory.root;
                let before = graph_snapshot.step + 1;
                let input = input.further();
                (before, options.clone(), Machine::turn(graph, graph_snapshot, input, options, now))
            }
            (Self::Edit(node, input), found) => {
                let (graph_snapshot, update) = match found {
                    Some(found) => (found.memory.root, input.further()),
                    None => (GraphSnapshot::new(&graph), input.first()),
                };
                let before = graph_snapshot.step + 1;
                let machine =
                    Machine::edit(graph, graph_snapshot, (node, update), options.clone(), now);
                (before, options, machine)
            }
        };
        checkpoint_writer.begin(&header(engine, &options));
        let run_id = options.run_id;
        Ok(Begun { machine, run_id, before, idle: false, answered: Vec::new() })
    }
}

/// What somebody writes in the name of a node.
fn edited(engine: &Bound<'_, Engine>, input: Option<&Bound<'_, PyAny>>) -> PyResult<Input> {
    let Some(input) = input else { return Ok(Input::plain(Update::default())) };
    if input.is_instance_of::<Turn>() {
        return Input::read(engine, input);
    }
    Ok(Input::plain(match update::outcome(engine, None, input)? {
        TaskOutcome::Done(update) => update,
        _ => Update::default(),
    }))
}

/// What it takes to go on.
struct Going<'a> {
    checkpoint_writer: &'a mut CheckpointWriter<Object, ObjectCodec>,
    engine: &'a Engine,
    options: Options,
    named: bool,
}

impl Going<'_> {
    fn resume(
        self,
        found: LoadedThread<Object>,
        answers: Option<&Object>,
        now: Time,
    ) -> Result<Begun, Fault> {
        let Self { checkpoint_writer, engine, mut options, named } = self;
        let LoadedThread { mut memory, header: stored, .. } = found;
        if let Some(stored) = stored {
            options.seed = stored.seed;
            options.mark = checkpoint_writer.mark(stored.mark);
            if !named {
                options.run_id = stored.run_id;
            }
        }
        checkpoint_writer.begin(&header(engine, &options));
        let mut answered = Vec::new();
        let schemas = options.schemas;
        for commit in
            answers.map_or_else(|| Ok(Vec::new()), |given| commits(&memory, given, schemas))?
        {
            answered.extend(checkpoint_writer.keep(&commit, || None, now)?);
            memory.fold(&engine.graph, commit)?;
        }
        let pending_work = &memory.root.pending_work;
        // What has nothing left to do but has not said so yet still says it.
        let idle = pending_work.tasks() == 0 && memory.ended.is_some();
        let before = memory.root.step.saturating_sub(memory.spent.supersteps);
        let run_id = options.run_id.clone();
        let graph = std::sync::Arc::clone(&engine.graph);
        let machine = Machine::resume(graph, memory, options, now);
        Ok(Begun { machine, run_id, before, idle, answered })
    }
}

/// The answers that were given, each to the question it is for.
fn commits(
    memory: &RecoveredRun<Object>,
    given: &Object,
    schemas: Schemas,
) -> Result<Vec<Commit<Object>>, Fault> {
    let asking = memory.tasks.values().filter_map(|kept| match &kept.state {
        Some(TaskSnapshotState::Asked(question)) => Some((question, kept)),
        _ => None,
    });
    let asking: Vec<_> = asking.collect();
    // A run that has ended, or has had this answer before, goes on without it. Where the
    // tasks have not run yet, they will ask, and the answer would be lost.
    if memory.tasks.is_empty() && memory.root.pending_work.tasks() > 0 {
        return Err(nothing_asked());
    }
    let ids: Vec<_> = asking.iter().map(|(question, _)| question.id.as_str()).collect();
    let answers = Python::attach(|py| matched(given.0.bind(py), &ids))?;
    // All of them or none: an answer that cannot be taken leaves the pause as it is.
    let commit = |(place, value): (usize, Object)| {
        let (question, kept) = asking.get(place)?;
        let (spent, events) = (memory.spent, memory.events);
        Some(question.taken(value, schemas).map(|value| {
            let change = CommitChange::Answered(kept.task, value);
            Commit { id: 0, within: kept.within.clone(), spent, events, change }
        }))
    };
    answers.into_iter().filter_map(commit).collect()
}

type Matched = Vec<(usize, Object)>;

/// By place among the open questions: what was answered. A dict of nothing but
/// ids answers by id; anything else is the answer to the only question.
fn matched(given: &Bound<'_, PyAny>, open: &[&str]) -> Result<Matched, Fault> {
    let Some(by_id) = ids(given) else {
        return match open {
            [] => Ok(Vec::new()),
            [_] => Ok(vec![(0, Object::of(given))]),
            _ => Err(ambiguous(open)),
        };
    };
    let mut matched = Vec::new();
    for (id, value) in by_id {
        let Some(place) = open.iter().position(|open| *open == id) else {
            return Err(unknown_question(&id));
        };
        matched.push((place, value));
    }
    Ok(matched)
}

/// Answers by the ids of questions, if that is what a value is.
fn ids(given: &Bound<'_, PyAny>) -> Option<Vec<(String, Object)>> {
    let dict = given.cast_exact::<PyDict>().ok().filter(|dict| !dict.is_empty())?;
    let pair = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key = key.cast_exact::<PyString>().ok()?.to_str().ok()?.to_owned();
        let is_id = key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| (key, Object(value.unbind())))
    };
    dict.iter().map(pair).collect()
}

fn header(engine: &Engine, options: &Options) -> RunHeader {
    let graph = engine.graph.name().to_owned();
    let seed = Seed::new(options.seed.number());
    RunHeader { run_id: options.run_id.clone(), seed, graph, mark: options.mark }
}

fn nothing() -> Fault {
    Fault::new(FaultCode::ThreadEmpty, "the thread holds nothing to go on from")
        .hint("begin with an input")
}

fn nothing_asked() -> Fault {
    let message = "nothing has been asked yet at this checkpoint, so there is nothing to answer";
    Fault::new(FaultCode::AnswerInvalid, message)
        .hint("go on from it without an answer; whatever it asks then can be answered")
}

fn ambiguous(open: &[&str]) -> Fault {
    let message = format!("several questions are open, and the answer names none: {}", open.len());
    Fault::new(FaultCode::AnswerInvalid, message)
        .with("questions", serde_json::Value::from(open.to_vec()))
        .hint("answer with a dict from the ids of the questions to the answers")
}

fn unknown_question(id: &str) -> Fault {
    let message = format!("no open question has the id: {id}");
    Fault::new(FaultCode::QuestionUnknown, message)
        .hint("answer the questions that the state of the thread lists")
}

fn unknown_node(name: &str) -> Fault {
    let message = format!("the graph has no such node to write as: {name}");
    Fault::new(FaultCode::TargetUnknown, message)
        .with("target", name)
        .hint(format!("name one of the graph's nodes, and not `{END}`"))
}
