//! Building a graph from Python, name by name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::budget::Limits;
use antiphon_core::channel::{Channel, Reducer, ValueKind};
use antiphon_core::graph::{
    END, Graph, GraphBuilder, GraphError, IdleTimeout, MergeOrder, Node, NodePolicy, NodeWork,
    OnError, RouterView, Semantics,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::fault::{Retry, seconds, to_exception};
use crate::graph::agent::{AgentEntry, OPTIONS};
use crate::graph::engine::{Engine, KeyEntry, NodeEntry, ReducerFunction, RouterEntry};
use crate::graph::limits;
use crate::graph::options::Keywords;
use crate::value::object::Object;

/// Numbers graphs, so that a run finds what belongs to which.
static HOSTS: AtomicU32 = AtomicU32::new(1);

/// Collects a graph; `build` checks and freezes it.
#[pyclass(module = "antiphon._antiphon")]
#[derive(Debug)]
pub(crate) struct Builder {
    declarations: Option<GraphDeclarations>,
}

#[derive(Debug)]
struct GraphDeclarations {
    graph: GraphBuilder<Object>,
    nodes: Vec<NodeEntry>,
    routers: Vec<RouterEntry>,
    reducers: Vec<ReducerFunction>,
    keys: Vec<KeyEntry>,
    names: Vec<String>,
    nested: Vec<Py<Engine>>,
    adapt: Option<Py<PyAny>>,
}

/// A default that may be given as anything, `None` included.
enum OptionalDefault {
    Nothing,
    Value(Py<PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for OptionalDefault {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self::Value(value.to_owned().unbind()))
    }
}

/// What a node may be given beside its callable.
pub(crate) struct NodeOptions<'a, 'py>(Keywords<'a, 'py>);

impl<'a, 'py> NodeOptions<'a, 'py> {
    const NAMES: [&'static str; 10] = [
        "wants_ctx",
        "inline",
        "asynchronous",
        "retry",
        "timeout",
        "idle_timeout",
        "heartbeat_only",
        "deferred",
        "limits",
        "view",
    ];

    fn read(options: Option<&'a Bound<'py, PyDict>>) -> PyResult<Self> {
        Keywords::new(options, &Self::NAMES).map(Self)
    }

    /// Options that the caller has checked.
    pub(crate) const fn of(options: Keywords<'a, 'py>) -> Self {
        Self(options)
    }

    fn flag(&self, name: &str) -> PyResult<bool> {
        Ok(self.0.get(name)?.unwrap_or(false))
    }

    pub(crate) fn policy(&self) -> PyResult<NodePolicy> {
        let idle = self.time("idle_timeout")?;
        let strict = self.flag("heartbeat_only")?;
        let given: Option<Bound<'py, PyDict>> = self.0.get("limits")?;
        let retries = self.retries()?;
        let py_policy =
            retries.iter().find(|retry| Python::attach(|py| retry.get().covers_timeouts(py)));
        Ok(NodePolicy {
            retry: py_policy.map(|retry| retry.get().policy.clone()),
            host_retries: !retries.is_empty(),
            timeout: self.time("timeout")?,
            idle: idle.map(|limit| IdleTimeout { limit, strict }),
            limits: given.as_ref().map_or(Ok(Limits::default()), limits::read)?,
            on_error: OnError::Raise,
            deferred: self.flag("deferred")?,
        })
    }

    /// A number of seconds above 0.
    fn time(&self, name: &str) -> PyResult<Option<Duration>> {
        match self.0.get::<f64>(name)? {
            None => Ok(None),
            Some(given) if given > 0.0 => seconds(name, given).map(Some),
            Some(given) => {
                Err(PyValueError::new_err(format!("`{name}` must be positive, found: {given}")))
            }
        }
    }

    pub(crate) fn retries(&self) -> PyResult<Vec<Py<Retry>>> {
        let Some(retry) = self.0.get::<Bound<'py, PyAny>>("retry")? else { return Ok(Vec::new()) };
        match retry.cast::<Retry>() {
            Ok(policy) => Ok(vec![policy.clone().unbind()]),
            Err(_) => retry.extract(),
        }
    }
}

impl Builder {
    fn declarations(&mut self) -> PyResult<&mut GraphDeclarations> {
        self.declarations
            .as_mut()
            .ok_or_else(|| PyRuntimeError::new_err("the graph has been built already"))
    }
}

impl GraphDeclarations {
    fn add_node(
        &mut self,
        name: &str,
        work: NodeWork<Object>,
        policy: NodePolicy,
        entry: NodeEntry,
    ) {
        self.graph.add_node(Node { name: name.into(), work, policy });
        self.nodes.push(entry);
    }
}

#[pymethods]
impl Builder {
    #[new]
    #[pyo3(signature = (name, *, by_name=false, own_sight=false, lenient=false, exclusive=false, full_output=false, adapt=None))]
    #[expect(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "keyword options, one per habit"
    )]
    fn new(
        name: &str,
        by_name: bool,
        own_sight: bool,
        lenient: bool,
        exclusive: bool,
        full_output: bool,
        adapt: Option<Py<PyAny>>,
    ) -> Self {
        let mut graph = Graph::builder(name);
        graph.host(HOSTS.fetch_add(1, Ordering::Relaxed)).semantics(Semantics {
            order: if by_name { MergeOrder::ByName } else { MergeOrder::Listed },
            router_view: if own_sight { RouterView::Own } else { RouterView::Merged },
            lenient,
            exclusive,
            full_output,
        });
        Self {
            declarations: Some(GraphDeclarations {
                graph,
                nodes: vec![NodeEntry::default()],
                routers: Vec::new(),
                reducers: Vec::new(),
                keys: Vec::new(),
                names: Vec::new(),
                nested: Vec::new(),
                adapt,
            }),
        }
    }

    /// Adds a key of the state. A merge function may want the run's context, as a keyword.
    #[pyo3(signature = (
        name, merge=None, *, default=OptionalDefault::Nothing, takes_context=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn channel(
        &mut self,
        py: Python<'_>,
        name: &str,
        merge: Option<&Bound<'_, PyAny>>,
        default: OptionalDefault,
        takes_context: bool,
    ) -> PyResult<()> {
        let declarations = self.declarations()?;
        let merge = merge.map_or(Ok(Reducer::Set), |merge| {
            rule(merge, takes_context, &mut declarations.reducers)
        })?;
        let owned = matches!(
            merge,
            Reducer::Append
                | Reducer::Extend
                | Reducer::Messages
                | Reducer::Record
                | Reducer::Fields
                | Reducer::Upsert { .. }
                | Reducer::Put
                | Reducer::Sum
        );
        let merged = !matches!(merge, Reducer::Set | Reducer::Once | Reducer::Last);
        let default = match default {
            OptionalDefault::Nothing => None,
            OptionalDefault::Value(value) => Some(Object(value)),
        };
        declarations.graph.add_channel(Channel {
            name: name.into(),
            merge,
            default,
            kind: ValueKind::Any,
        });
        declarations.keys.push(KeyEntry {
            name: PyString::intern(py, name).unbind(),
            owned,
            merged,
        });
        declarations.names.push(name.to_owned());
        Ok(())
    }

    /// Adds a callable as a node.
    #[pyo3(signature = (name, call, **options))]
    fn node(
        &mut self,
        name: &str,
        call: Py<PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let options = NodeOptions::read(options)?;
        let policy = options.policy()?;
        let entry = NodeEntry {
            call: Some(call),
            wants_ctx: options.flag("wants_ctx")?,
            inline: options.flag("inline")?,
            asynchronous: options.flag("asynchronous")?,
            retry: options.retries()?,
            view: options.0.get("view")?,
            agent: None,
        };
        self.declarations()?.add_node(name, NodeWork::Call, policy, entry);
        Ok(())
    }

    /// Adds an agent as a node: its loop of model and tool calls runs natively.
    #[pyo3(signature = (name, **options))]
    fn agent(&mut self, name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let options = NodeOptions(Keywords::new(options, &OPTIONS)?);
        let (agent, spec) = AgentEntry::read(&options.0)?;
        let entry = NodeEntry {
            retry: options.retries()?,
            view: options.0.get("view")?,
            agent: Some(Box::new(agent)),
            ..NodeEntry::default()
        };
        let policy = options.policy()?;
        self.declarations()?.add_node(name, NodeWork::Agent(Arc::new(spec)), policy, entry);
        Ok(())
    }

    /// Adds a compiled graph as a node.
    #[pyo3(signature = (name, engine, **options))]
    fn subgraph(
        &mut self,
        py: Python<'_>,
        name: &str,
        engine: &Bound<'_, Engine>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let options = NodeOptions::read(options)?;
        let policy = options.policy()?;
        let entry = NodeEntry { retry: options.retries()?, ..NodeEntry::default() };
        let declarations = self.declarations()?;
        let inner = engine.get();
        declarations.nested.push(engine.clone().unbind());
        declarations.nested.extend(inner.nested.iter().map(|nested| nested.clone_ref(py)));
        declarations.add_node(name, NodeWork::Graph(Arc::clone(&inner.graph)), policy, entry);
        Ok(())
    }

    /// After `source` comes `target`.
    fn edge(&mut self, source: &str, target: &str) -> PyResult<()> {
        self.declarations()?.graph.edge(source, target);
        Ok(())
    }

    /// Once all of `sources` have run comes `target`.
    #[expect(clippy::needless_pass_by_value, reason = "extracted from a Python sequence")]
    fn join(&mut self, sources: Vec<String>, target: &str) -> PyResult<()> {
        let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
        self.declarations()?.graph.join(&sources, target);
        Ok(())
    }

    /// After `source` comes what `router` says.
    #[pyo3(signature = (source, name, router, *, wants_ctx=false, ends=None, view=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn branch(
        &mut self,
        py: Python<'_>,
        source: &str,
        name: &str,
        router: Py<PyAny>,
        wants_ctx: bool,
        ends: Option<Py<PyDict>>,
        view: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let declarations = self.declarations()?;
        let number = u32::try_from(declarations.routers.len()).unwrap_or(u32::MAX);
        let targets = match &ends {
            Some(ends) => Some(ends.bind(py).values().extract::<Vec<String>>()?),
            None => None,
        };
        let pairs: Option<Vec<(&str, &str)>> = targets
            .as_ref()
            .map(|all| all.iter().map(|name| (name.as_str(), name.as_str())).collect());
        declarations.graph.branch(source, name, number, pairs.as_deref());
        declarations.routers.push(RouterEntry { call: router, wants_ctx, ends, view });
        Ok(())
    }

    /// Says what happens when `node` fails for good.
    #[pyo3(signature = (node, policy, *, target=None, channel=None))]
    fn on_error(
        &mut self,
        node: &str,
        policy: &str,
        target: Option<&str>,
        channel: Option<&str>,
    ) -> PyResult<()> {
        let declarations = self.declarations()?;
        let find = |name: &str| {
            let place = declarations.names.iter().position(|known| known == name);
            let place = place.and_then(|place| u32::try_from(place).ok());
            let missing = || PyValueError::new_err(format!("unknown key of the state: {name}"));
            place.map(antiphon_core::channel::ChannelId).ok_or_else(missing)
        };
        let channel = channel.map(find).transpose()?;
        match (policy, target, channel) {
            ("record", None, Some(channel)) => declarations.graph.on_error_record(node, channel),
            ("goto", Some(target), channel) => {
                declarations.graph.on_error_goto(node, target, channel)
            }
            ("handle", Some(target), None) => declarations.graph.on_error_handle(node, target),
            _ => {
                let message = "an error policy is record with a channel, goto with a target, or handle with a target";
                return Err(PyValueError::new_err(format!("{message}, found: {policy}")));
            }
        };
        Ok(())
    }

    /// Checks everything and freezes it.
    fn build(&mut self, py: Python<'_>) -> PyResult<Engine> {
        self.declarations()?;
        let Some(declarations) = self.declarations.take() else {
            return Err(PyRuntimeError::new_err("built"));
        };
        let graph = declarations.graph.build().map_err(|error| invalid(py, &error))?;
        let index = PyDict::new(py);
        for (position, name) in declarations.names.iter().enumerate() {
            index.set_item(name, position)?;
        }
        let places = PyDict::new(py);
        places.set_item(END, py.None())?;
        for (place, node) in graph.nodes().iter().enumerate().skip(1) {
            places.set_item(&*node.name, place)?;
        }
        let names = graph.nodes().iter().map(|node| PyString::intern(py, &node.name).unbind());
        Ok(Engine {
            names: names.collect(),
            graph,
            nodes: declarations.nodes,
            routers: declarations.routers,
            reducers: declarations.reducers,
            keys: declarations.keys,
            index: index.unbind(),
            places: places.unbind(),
            nested: declarations.nested,
            adapt: declarations.adapt,
        })
    }
}

fn rule(
    merge: &Bound<'_, PyAny>,
    takes_context: bool,
    reducers: &mut Vec<ReducerFunction>,
) -> PyResult<Reducer> {
    if merge.is_callable() {
        reducers.push(ReducerFunction { call: merge.clone().unbind(), takes_context });
        return Ok(Reducer::Foreign(u32::try_from(reducers.len() - 1).unwrap_or(u32::MAX)));
    }
    if let Ok((name, key)) = merge.extract::<(String, String)>()
        && name == "upsert"
    {
        return Ok(Reducer::Upsert { key });
    }
    let name: String = merge.extract()?;
    Ok(match name.as_str() {
        "set" => Reducer::Set,
        "last" => Reducer::Last,
        "once" => Reducer::Once,
        "append" => Reducer::Append,
        "extend" => Reducer::Extend,
        "messages" => Reducer::Messages,
        "merge" => Reducer::Record,
        "fields" => Reducer::Fields,
        "put" => Reducer::Put,
        "sum" | "add" => Reducer::Sum,
        "max" => Reducer::Max,
        _ => return Err(PyValueError::new_err(format!("unknown merge rule: {name}"))),
    })
}

fn invalid(py: Python<'_>, error: &GraphError) -> PyErr {
    to_exception(py, &Fault::new(error.code(), error.to_string()))
}
