//! Building the graph of a system, each node and router with the code that it runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::agent::{AgentSpec, AgentTool};
use antiphon_core::channel::ChannelId;
use antiphon_core::command::Destinations;
use antiphon_core::graph::{Graph, GraphBuilder, Node, NodeWork};
use antiphon_core::task::Failure;
use antiphon_core::{Fault, Message, Schema, ToolSpec};
use antiphon_reply::CompiledSchema;
use async_trait::async_trait;
use serde_json::Value as Json;

use crate::node::{NodeContext, NodeExit, StateView};
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::reply::{AnyReplyParser, RoleReply};
use crate::role::{RoleImplementation, RoleModel, Roles, TemperatureChoice};
use crate::role_schema::narrow;
use crate::state::declare;
use crate::system::System;

/// The code of a node.
#[async_trait]
pub(crate) trait NodeCode<S: System>: Send + Sync {
    async fn execute(&self, cx: NodeContext<S>) -> Result<NodeExit<S::State>, Failure>;
}

struct NodeFunction<F>(F);

#[async_trait]
impl<S, F, R, E> NodeCode<S> for NodeFunction<F>
where
    S: System,
    F: Fn(NodeContext<S>) -> R + Send + Sync,
    R: Future<Output = Result<E, Fault>> + Send,
    E: Into<NodeExit<S::State>>,
{
    async fn execute(&self, cx: NodeContext<S>) -> Result<NodeExit<S::State>, Failure> {
        Ok((self.0)(cx).await?.into())
    }
}

/// The code of a router.
pub(crate) type RouterCode =
    Box<dyn Fn(&StateView<'_, '_>) -> Result<Destinations<Json>, Fault> + Send + Sync>;

/// Turns the reply of a role into writes to the state.
pub type ConcludeReply<S> =
    fn(&NodeContext<S>, RoleReply) -> Result<Patch<<S as System>::State>, Fault>;

/// A node in which a role does a piece of work: an agent loop if the role is a model, a call if
/// it is code.
pub struct RoleNode<S: System> {
    /// The role, by its name in [`System::ROLES`].
    pub role: &'static str,
    /// The schema of the reply.
    pub schema: Schema,
    /// Calls of tools per attempt, unless the role sets its own.
    pub max_tool_calls: u32,
    /// Runs when the work starts, for events.
    pub begin: fn(&NodeContext<S>),
    /// The conversation up to where the model has to speak. Called twice per execution with the
    /// same state, so it has no effects.
    pub conversation: fn(&NodeContext<S>) -> Result<Vec<Message>, Fault>,
    /// What the code of the role is given; the builder adds `schema`.
    pub brief: fn(&NodeContext<S>) -> Result<Json, Fault>,
    /// Turns the reply into writes to the state.
    pub conclude: ConcludeReply<S>,
}

/// Settings that apply to all roles of a system.
#[derive(Clone, Copy, Debug)]
pub struct RoleDefaults {
    /// 0 is the least random; by default the model's own.
    pub temperature: Option<f64>,
    /// How often a model is asked again for a reply that does not fit.
    pub max_reasks: u32,
    /// How long a call of a tool may take that sets no limit itself.
    pub tool_timeout: Option<Duration>,
}

/// Collects the graph of a system. Names of nodes may be used before they are defined.
pub struct SystemBuilder<S: System> {
    graph: GraphBuilder<Json>,
    roles: Roles,
    defaults: RoleDefaults,
    /// The most tokens of a reply of a small model that sets no limit itself.
    small_reply_tokens: Option<u32>,
    error: Option<ChannelId>,
    table: CodeTable<S>,
    /// Of the role that is being added.
    accepts_any_reply: bool,
    /// Whether the role that is being added is asked beside its work.
    is_aside: bool,
    /// Whether the role that is being added has its tools.
    has_tools: bool,
}

/// The code of a graph, by node and by router.
pub(crate) struct CodeTable<S: System> {
    pub(crate) nodes: BTreeMap<Arc<str>, Box<dyn NodeCode<S>>>,
    pub(crate) roles: BTreeMap<Arc<str>, RoleNode<S>>,
    /// What the replies of roles that are code are read by.
    pub(crate) parsers: BTreeMap<Arc<str>, CompiledSchema>,
    pub(crate) routers: Vec<RouterCode>,
}

impl<S: System> fmt::Debug for SystemBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemBuilder").field("graph", &self.graph).finish_non_exhaustive()
    }
}

impl<S: System> SystemBuilder<S> {
    pub(crate) fn new(roles: &Roles) -> Result<Self, Fault> {
        let mut graph = Graph::builder(S::NAME);
        let error = declare::<S::State>(&mut graph)?;
        let table = CodeTable {
            nodes: BTreeMap::new(),
            roles: BTreeMap::new(),
            parsers: BTreeMap::new(),
            routers: Vec::new(),
        };
        let defaults = RoleDefaults { temperature: None, max_reasks: 1, tool_timeout: None };
        let roles = roles.clone();
        Ok(Self {
            graph,
            roles,
            defaults,
            small_reply_tokens: None,
            error,
            table,
            accepts_any_reply: false,
            is_aside: false,
            has_tools: true,
        })
    }

    /// Settings of the roles that are added afterwards.
    pub const fn defaults(&mut self, defaults: RoleDefaults) -> &mut Self {
        self.defaults = defaults;
        self
    }

    /// The most tokens of a reply, of the roles that are added afterwards, if a role is a small
    /// model without a limit of its own: such a model may never come to an end.
    pub const fn small_reply_tokens(&mut self, most: u32) -> &mut Self {
        self.small_reply_tokens = Some(most);
        self
    }

    /// The tier whose prompts a role reads.
    pub(crate) fn tier(&self, role: &str) -> ModelTier {
        self.roles.tier(role)
    }

    /// Adds a node that runs this function.
    pub fn node<F, R, E>(&mut self, name: &str, code: F) -> &mut Self
    where
        F: Fn(NodeContext<S>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<E, Fault>> + Send + 'static,
        E: Into<NodeExit<S::State>> + 'static,
    {
        self.graph.node(name);
        self.table.nodes.insert(name.into(), Box::new(NodeFunction(code)));
        self
    }

    /// Adds a node in which a role works.
    ///
    /// # Errors
    /// A `Validation` fault: `role_invalid` for an agent whose `output` does not fit the role,
    /// `schema_invalid` for the arguments of a tool.
    pub fn role(&mut self, name: &str, node: RoleNode<S>) -> Result<&mut Self, Fault> {
        let (work, policy) = match self.roles.implementation(node.role)? {
            RoleImplementation::Code(code) => {
                let parser = CompiledSchema::compile(&node.schema)?;
                self.table.parsers.insert(name.into(), parser);
                (NodeWork::Call, code.policy())
            }
            RoleImplementation::Model(model) => {
                (NodeWork::Agent(Arc::new(self.agent(model, &node)?)), model.policy.clone())
            }
        };
        self.graph.add_node(Node { name: name.into(), work, policy });
        self.table.roles.insert(name.into(), node);
        Ok(self)
    }

    /// As [`SystemBuilder::role`], for a node that can work with any reply of a model: one that
    /// does not fit the schema reaches it as the text of its last message, with no value. Only one
    /// that the limit of tokens cut off is asked for again, once, unless `max_reasks` is 0.
    ///
    /// # Errors
    /// As [`SystemBuilder::role`].
    pub fn role_of_any_reply(&mut self, name: &str, node: RoleNode<S>) -> Result<&mut Self, Fault> {
        let defaults = self.defaults;
        self.defaults = RoleDefaults { max_reasks: defaults.max_reasks.min(1), ..defaults };
        self.accepts_any_reply = true;
        let added = self.role(name, node).map(drop);
        (self.defaults, self.accepts_any_reply) = (defaults, false);
        added.map(|()| self)
    }

    /// As [`SystemBuilder::role_of_any_reply`], for a question to a model beside the work of its
    /// role: it calls no tools, and the `output` of an agent does not narrow the schema.
    ///
    /// # Errors
    /// As [`SystemBuilder::role`].
    pub fn role_aside(&mut self, name: &str, node: RoleNode<S>) -> Result<&mut Self, Fault> {
        (self.is_aside, self.has_tools) = (true, false);
        let added = self.role_of_any_reply(name, node).map(drop);
        (self.is_aside, self.has_tools) = (false, true);
        added.map(|()| self)
    }

    /// As [`SystemBuilder::role`], for work that the role does without its tools.
    ///
    /// # Errors
    /// As [`SystemBuilder::role`].
    pub fn role_without_tools(
        &mut self,
        name: &str,
        node: RoleNode<S>,
    ) -> Result<&mut Self, Fault> {
        self.has_tools = false;
        let added = self.role(name, node).map(drop);
        self.has_tools = true;
        added.map(|()| self)
    }

    /// After `source` comes `target`; either may be `START` or `END`.
    pub fn edge(&mut self, source: &str, target: &str) -> &mut Self {
        self.graph.edge(source, target);
        self
    }

    /// After `source` comes what the router says: one of the labels, each with its node.
    pub fn branch(
        &mut self,
        source: &str,
        name: &str,
        targets: &[(&str, &str)],
        router: impl Fn(&StateView<'_, '_>) -> Result<Destinations<Json>, Fault> + Send + Sync + 'static,
    ) -> &mut Self {
        let number = u32::try_from(self.table.routers.len()).unwrap_or(u32::MAX);
        self.table.routers.push(Box::new(router));
        self.graph.branch(source, name, number, Some(targets));
        self
    }

    /// When `node` fails for good, the fault is written to the field `error`, and its edges are
    /// followed.
    pub fn on_error_record(&mut self, node: &str) -> &mut Self {
        if let Some(error) = self.error {
            self.graph.on_error_record(node, error);
        }
        self
    }

    /// When `node` fails for good, the fault is written to the field `error`, and `target` comes
    /// next.
    pub fn on_error_goto(&mut self, node: &str, target: &str) -> &mut Self {
        self.graph.on_error_goto(node, target, self.error);
        self
    }

    /// When `node` fails for good, `handler` takes its place: it sees what was sent to the node, and
    /// the failure in [`NodeCall::handles`](antiphon_runtime::NodeCall::handles).
    pub fn on_error_handle(&mut self, node: &str, handler: &str) -> &mut Self {
        self.graph.on_error_handle(node, handler);
        self
    }

    /// Where the graph goes when its budget is spent, instead of ending.
    pub fn on_budget(&mut self, target: &str) -> &mut Self {
        self.graph.on_budget(target);
        self
    }

    pub(crate) fn build(self) -> Result<(Arc<Graph<Json>>, CodeTable<S>), Fault> {
        let graph =
            self.graph.build().map_err(|error| Fault::new(error.code(), error.to_string()))?;
        Ok((graph, self.table))
    }

    fn agent(&self, model: &RoleModel, node: &RoleNode<S>) -> Result<AgentSpec, Fault> {
        let tools = self.roles.tools(node.role);
        let tools = if self.has_tools { tools } else { &[] };
        let specs = tools.iter().map(|tool| tool.spec().clone());
        let tools = specs.map(|spec| self.tool(spec)).collect::<Result<Vec<_>, Fault>>()?;
        let usual = match node.max_tool_calls {
            0 if model.tools.is_some() && self.has_tools => AgentSpec::MAX_TOOL_CALLS,
            usual => usual,
        };
        let max_tool_calls = model.max_tool_calls.unwrap_or(usual);
        let RoleDefaults { temperature, max_reasks, .. } = self.defaults;
        // Each turn calls a tool, concludes or is asked again, so this many are
        // never spent before one of the other limits.
        let enough = max_tool_calls.saturating_add(max_reasks).saturating_add(2);
        let mut tags = model.tags.clone();
        tags.insert("role".to_owned(), node.role.to_owned());
        let schema = match &model.output {
            Some(own) if !self.is_aside => narrow(node.schema.clone(), own, node.role)?,
            _ => node.schema.clone(),
        };
        let parser = CompiledSchema::compile(&schema)?;
        let is_small = self.roles.tier(node.role) == ModelTier::Small;
        let usual_tokens = self.small_reply_tokens.filter(|_| is_small);
        Ok(AgentSpec {
            tools,
            output: Some(if self.accepts_any_reply {
                Arc::new(AnyReplyParser(parser))
            } else {
                Arc::new(parser)
            }),
            temperature: match model.temperature {
                TemperatureChoice::Shared => temperature,
                TemperatureChoice::Own(own) => own,
            },
            max_output_tokens: model.max_output_tokens.or(usual_tokens),
            max_reasks,
            max_tool_calls,
            max_model_calls: model.max_model_calls.unwrap_or(enough),
            tags,
            ..AgentSpec::default()
        })
    }

    fn tool(&self, mut spec: ToolSpec) -> Result<AgentTool, Fault> {
        spec.timeout = spec.timeout.or(self.defaults.tool_timeout);
        let schema = Schema::new(spec.name.clone(), spec.parameters.clone());
        Ok(AgentTool { arguments: Arc::new(CompiledSchema::compile(&schema)?), spec })
    }
}
