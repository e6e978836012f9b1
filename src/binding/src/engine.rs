//! A compiled graph: the engine's half, and the Python callables that belong to it.

use std::sync::Arc;

use antiphon_core::channel::ChannelId;
use antiphon_core::graph::{Graph, NodeId, NodeWork};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};

use crate::agent::AgentEntry;
use crate::fault::Retry;
use crate::object::Object;
use crate::run::Run;

/// A compiled graph; immutable, and shareable between threads and runs.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) graph: Arc<Graph<Object>>,
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) routers: Vec<RouterEntry>,
    pub(crate) reducers: Vec<Py<PyAny>>,
    pub(crate) keys: Vec<KeyEntry>,
    /// Channel positions by name, for keys that are not interned.
    pub(crate) index: Py<PyDict>,
    /// Node ids by name, for routers; none stands for the end.
    pub(crate) places: Py<PyDict>,
    pub(crate) nested: Vec<Py<Self>>,
    pub(crate) adapt: Option<Py<PyAny>>,
}

/// What Python keeps for a node.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a callable")]
pub(crate) struct NodeEntry {
    pub(crate) call: Option<Py<PyAny>>,
    pub(crate) wants_ctx: bool,
    /// A sync callable that may run on the event loop.
    pub(crate) inline: bool,
    /// Whether calling it is known to give a coroutine.
    pub(crate) asynchronous: bool,
    /// A stuck callable must not hold the caller beyond its time-out.
    pub(crate) timed: bool,
    pub(crate) retry: Vec<Py<Retry>>,
    pub(crate) view: Option<Py<PyAny>>,
    pub(crate) agent: Option<Box<AgentEntry>>,
}

/// What Python keeps for a branch.
#[derive(Debug)]
pub(crate) struct RouterEntry {
    pub(crate) call: Py<PyAny>,
    pub(crate) wants_ctx: bool,
    pub(crate) ends: Option<Py<PyDict>>,
    pub(crate) view: Option<Py<PyAny>>,
}

/// What Python keeps for a channel.
#[derive(Debug)]
pub(crate) struct KeyEntry {
    pub(crate) name: Py<PyString>,
    /// Merged in place, so that nothing but the engine may hold the value.
    pub(crate) owned: bool,
    /// Has a merge rule, so that a write may ask to replace instead.
    pub(crate) merged: bool,
    pub(crate) check: Option<Py<PyAny>>,
}

impl Engine {
    pub(crate) fn node(&self, id: NodeId) -> Option<&NodeEntry> {
        self.nodes.get(id.0 as usize)
    }

    pub(crate) fn key(&self, id: ChannelId) -> Option<&KeyEntry> {
        self.keys.get(id.0 as usize)
    }

    /// The channel of a key: by identity where strings are interned, as those
    /// in source code are.
    pub(crate) fn channel(&self, key: &Bound<'_, PyAny>) -> Option<ChannelId> {
        let ids = (0_u32..).map(ChannelId);
        let found =
            self.keys.iter().zip(ids).find(|(entry, _)| entry.name.as_ptr() == key.as_ptr());
        if let Some((_, id)) = found {
            return Some(id);
        }
        let position = self.index.bind(key.py()).get_item(key).ok()??;
        position.extract().ok().map(ChannelId)
    }

    pub(crate) fn is_strict(&self) -> bool {
        !self.graph.habits().lenient
    }
}

#[pymethods]
impl Engine {
    /// The graph's name.
    #[getter]
    fn name(&self) -> &str {
        self.graph.name()
    }

    /// Starts a run. Nothing happens before it is waited for, awaited or iterated.
    #[pyo3(signature = (input=None, **options))]
    fn start<'py>(
        slf: &Bound<'py, Self>,
        input: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, Run>> {
        crate::run::start(slf, input, options)
    }

    /// Nodes, edges, joins, branches and channels, for drawing.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let graph = &self.graph;
        let (nodes, edges, branches) = (PyList::empty(py), PyList::empty(py), PyList::empty(py));
        for (index, node) in graph.nodes().iter().enumerate() {
            let id = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
            if index > 0 {
                let entry = PyDict::new(py);
                entry.set_item("name", &*node.name)?;
                entry.set_item("deferred", node.policy.deferred)?;
                let kind = match node.work {
                    NodeWork::Call => "call",
                    NodeWork::Agent(_) => "agent",
                    NodeWork::Graph(_) => "graph",
                };
                entry.set_item("kind", kind)?;
                nodes.append(entry)?;
            }
            for &target in graph.successors(id) {
                edges.append((&*node.name, &*graph.node_name(target)))?;
            }
            for branch in graph.branches(id) {
                let entry = PyDict::new(py);
                entry.set_item("source", &*node.name)?;
                entry.set_item("name", &*branch.name)?;
                let pair = |(label, target): (&Arc<str>, &Option<NodeId>)| {
                    (label.to_string(), graph.node_name(*target).to_string())
                };
                let targets = branch.targets.as_ref();
                let targets = targets.map(|all| all.iter().map(pair).collect::<Vec<_>>());
                entry.set_item("targets", targets)?;
                branches.append(entry)?;
            }
        }
        let name = |id: &NodeId| graph.node_name(Some(*id)).to_string();
        let joins = graph.joins().iter();
        let joins: Vec<_> = joins
            .map(|join| (join.sources.iter().map(name).collect::<Vec<_>>(), name(&join.target)))
            .collect();
        let description = PyDict::new(py);
        description.set_item("name", graph.name())?;
        description.set_item("nodes", nodes)?;
        description.set_item("edges", edges)?;
        description.set_item("joins", joins)?;
        description.set_item("branches", branches)?;
        let channels: Vec<_> =
            graph.channels().iter().map(|channel| channel.name.to_string()).collect();
        description.set_item("channels", channels)?;
        Ok(description)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for node in &self.nodes {
            visit.call(&node.call)?;
            visit.call(&node.view)?;
            if let Some(agent) = &node.agent {
                agent.traverse(&visit)?;
            }
            for policy in &node.retry {
                visit.call(policy)?;
            }
        }
        for router in &self.routers {
            visit.call(&router.call)?;
            visit.call(&router.ends)?;
            visit.call(&router.view)?;
        }
        for reducer in &self.reducers {
            visit.call(reducer)?;
        }
        for key in &self.keys {
            visit.call(&key.check)?;
        }
        for nested in &self.nested {
            visit.call(nested)?;
        }
        visit.call(&self.adapt)
    }
}
