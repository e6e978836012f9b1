//! A compiled graph: the engine's half, and the Python callables that belong to it.

use std::sync::Arc;

use antiphon_core::channel::ChannelId;
use antiphon_core::graph::{Graph, NodeId};
use antiphon_core::run::Breakpoints;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::fault::Retry;
use crate::graph::agent::{AgentEntry, ModelEntry};
use crate::graph::model::Model;
use crate::graph::tool::NativeTool;
use crate::value::object::Object;

/// A merge function in Python.
#[derive(Debug)]
pub(crate) struct ReducerFunction {
    pub(crate) call: Py<PyAny>,
    /// Whether it takes the run's context as a keyword.
    pub(crate) takes_context: bool,
}

/// A compiled graph; immutable, and shareable between threads and runs.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) graph: Arc<Graph<Object>>,
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) names: Vec<Py<PyString>>,
    pub(crate) routers: Vec<RouterEntry>,
    pub(crate) reducers: Vec<ReducerFunction>,
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
pub(crate) struct NodeEntry {
    pub(crate) call: Option<Py<PyAny>>,
    pub(crate) wants_ctx: bool,
    /// A sync callable that may run on the event loop.
    pub(crate) inline: bool,
    /// Whether calling it is known to give a coroutine.
    pub(crate) asynchronous: bool,
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
}

impl Engine {
    pub(crate) fn node(&self, id: NodeId) -> Option<&NodeEntry> {
        self.nodes.get(id.0 as usize)
    }

    /// The model of an agent, unless it is a callable.
    pub(crate) fn native_model(&self, id: NodeId) -> Option<&Py<Model>> {
        match &self.node(id)?.agent.as_deref()?.model {
            ModelEntry::Native(model) => Some(model),
            ModelEntry::Callable(_) => None,
        }
    }

    /// A tool of an agent, unless it is a callable.
    pub(crate) fn native_tool(&self, id: NodeId, name: &str) -> Option<&Py<NativeTool>> {
        self.node(id)?.agent.as_deref()?.native_tool(name)
    }

    /// A node's name as an object.
    pub(crate) fn name_of(&self, id: NodeId, py: Python<'_>) -> Py<PyString> {
        match self.names.get(id.0 as usize) {
            Some(name) => name.clone_ref(py),
            None => PyString::new(py, "").unbind(),
        }
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

    /// The nodes of these names, before and after which a run stops.
    pub(crate) fn breakpoints(
        &self,
        (before, after): (Vec<String>, Vec<String>),
    ) -> Arc<Breakpoints> {
        let ids =
            |names: Vec<String>| names.iter().filter_map(|name| self.graph.node_id(name)).collect();
        Arc::new(Breakpoints { before: ids(before), after: ids(after) })
    }

    /// Sets a key of a state, whose keys stay in the order of the schema.
    pub(crate) fn set_in_order(
        &self,
        state: &Bound<'_, PyDict>,
        key: &Py<PyString>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let before = state.len();
        state.set_item(key, value)?;
        if state.len() == before {
            return Ok(());
        }
        // A key moves to the end when it is taken out and set again.
        let later = self.keys.iter().skip_while(|known| !known.name.is(key)).skip(1);
        for known in later {
            if let Some(value) = state.get_item(&known.name)? {
                state.del_item(&known.name)?;
                state.set_item(&known.name, value)?;
            }
        }
        Ok(())
    }

    pub(crate) fn is_strict(&self) -> bool {
        !self.graph.semantics().lenient
    }
}
