//! The nodes of a system as the driver calls them.

use std::sync::Arc;

use antiphon_core::agent::AgentResult;
use antiphon_core::command::{Destinations, Update};
use antiphon_core::event::content::MAX_TEXT;
use antiphon_core::graph::Graph;
use antiphon_core::reply::{ReplyParser, UnreadableReply, Violation};
use antiphon_core::rules::{NoRules, ReducerSite, Rules};
use antiphon_core::state::View;
use antiphon_core::task::{Failure, TaskOutcome};
use antiphon_core::{Fault, FaultCode, Message};
use antiphon_runtime::{Host, Model, NodeCall, TaskReporter, Tool};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::builder::{CodeTable, RoleNode};
use crate::escaped_tool::EscapedTool;
use crate::node::{NodeContext, NodeExit, RunScope, StateView};
use crate::patch::Patch;
use crate::reply::RoleReply;
use crate::role::{RoleContext, RoleImplementation};
use crate::state::is_passing;
use crate::system::System;

/// The code of a graph, and what one run shares.
pub(crate) struct SystemHost<S: System> {
    pub(crate) code: Arc<CodeTable<S>>,
    pub(crate) scope: Arc<RunScope<S>>,
}

impl<S: System> SystemHost<S> {
    /// A state that does not hold together is found here in debug builds, before a role works
    /// on it.
    fn context_of_role(&self, call: NodeCall) -> Result<NodeContext<S>, Fault> {
        let cx = NodeContext::new(call, &self.scope)?;
        if cfg!(debug_assertions) {
            S::verify(&cx.state)?;
        }
        Ok(cx)
    }

    async fn execute(&self, call: NodeCall) -> Result<TaskOutcome<Json>, Failure> {
        let (notes, graph) = (call.reporter.clone(), Arc::clone(call.state.graph()));
        let exit = if let Some(node) = self.code.roles.get(&call.node) {
            self.act(node, &self.context_of_role(call)?).await?.into()
        } else {
            let code = self.code.nodes.get(&call.node).ok_or_else(|| no_code(&call))?;
            code.execute(NodeContext::new(call, &self.scope)?).await?
        };
        Ok(match exit {
            NodeExit::Done(patch) => TaskOutcome::Done(self.commit(patch, &notes, &graph)?),
            NodeExit::Ask(question) => TaskOutcome::Ask(question),
        })
    }

    /// Has the caller's own code do the work of its role.
    async fn act(
        &self,
        node: &RoleNode<S>,
        cx: &NodeContext<S>,
    ) -> Result<Patch<S::State>, Failure> {
        let implementation = self.scope.system.resources().roles.implementation(node.role)?;
        let RoleImplementation::Code(role) = implementation else {
            return Err(no_code(&cx.call).into());
        };
        (node.begin)(cx);
        let mut brief = (node.brief)(cx)?;
        if let Some(fields) = brief.as_object_mut() {
            fields.insert("schema".to_owned(), node.schema.json.clone());
        }
        let scope = &self.scope;
        let context = RoleContext::new(&cx.call, &scope.run_id, scope.user_context.as_ref());
        let reply = role.act(brief, context).await?;
        cx.note(ROLE_REPLIED, json!({"role": node.role, "reply": shown(&reply)}));
        let parser = self.code.parsers.get(&cx.call.node).ok_or_else(|| no_code(&cx.call))?;
        let read = parser.parse(&reply.to_string());
        let read = read.map_err(|unreadable| unfit_reply(node.role, &unreadable))?;
        let reply = RoleReply { value: Some(read.value), ..RoleReply::default() };
        Ok((node.conclude)(cx, reply)?)
    }

    fn commit(
        &self,
        mut patch: Patch<S::State>,
        notes: &TaskReporter,
        graph: &Graph<Json>,
    ) -> Result<Update<Json>, Fault> {
        patch.save(&self.scope.tools);
        if self.scope.is_kept {
            patch.store(&self.scope.attachments);
        }
        patch.commit(notes, graph)
    }

    fn role(&self, call: &NodeCall) -> Result<&RoleNode<S>, Fault> {
        self.code.roles.get(&call.node).ok_or_else(|| no_code(call))
    }
}

/// The event of a role that is code; one that is a model has those of its calls.
const ROLE_REPLIED: &str = "role_replied";

/// A reply in an event, which is kept in memory as long as the result.
fn shown(reply: &Json) -> Json {
    let length = reply.to_string().chars().count();
    if length <= MAX_TEXT {
        return reply.clone();
    }
    format!("[left out: {length} characters]").into()
}

#[async_trait]
impl<S: System> Host for SystemHost<S> {
    async fn node(&self, call: NodeCall) -> TaskOutcome<Json> {
        let failed = |failure| TaskOutcome::Failed(Box::new(failure));
        self.execute(call).await.unwrap_or_else(failed)
    }

    async fn open(&self, call: NodeCall) -> Result<Vec<Message>, Fault> {
        let node = self.role(&call)?;
        let cx = self.context_of_role(call)?;
        (node.begin)(&cx);
        (node.conversation)(&cx)
    }

    async fn close(&self, call: NodeCall, result: AgentResult) -> Result<Update<Json>, Fault> {
        let node = self.role(&call)?;
        let cx = self.context_of_role(call)?;
        // The state is that of the opening, so the opening can be made again.
        let mut messages = (node.conversation)(&cx)?;
        messages.extend(result.messages);
        let reply = RoleReply { value: result.value, messages, tool_uses: result.tool_uses };
        let patch = (node.conclude)(&cx, reply)?;
        self.commit(patch, &cx.call.reporter, cx.call.state.graph())
    }

    fn model(&self, call: &NodeCall) -> Result<Arc<dyn Model>, Fault> {
        let roles = &self.scope.system.resources().roles;
        match roles.implementation(self.role(call)?.role)? {
            RoleImplementation::Model(model) => {
                Ok(self.scope.requests.wrap(Arc::clone(&model.model)))
            }
            RoleImplementation::Code(_) => Err(no_code(call)),
        }
    }

    fn tool(&self, call: &NodeCall, name: &str) -> Result<Arc<dyn Tool>, Fault> {
        let role = self.role(call)?.role;
        let roles = &self.scope.system.resources().roles;
        let tool = roles.tools(role).iter().find(|tool| tool.spec().name == name);
        let tool = tool.ok_or_else(|| no_code(call))?;
        let owner = roles.owner(role, tool);
        Ok(Arc::new(EscapedTool(self.scope.tool_of_run(tool, owner, &call.reporter))))
    }

    fn route(&self, router: u32, view: &View<'_, Json>) -> Result<Destinations<Json>, Fault> {
        let code = usize::try_from(router).ok().and_then(|number| self.code.routers.get(number));
        let code = code.ok_or_else(|| {
            let message = format!("the system has no router with the number: {router}");
            Fault::new(FaultCode::HostIncomplete, message)
        })?;
        code(&StateView(view))
    }

    fn reduce(
        &self,
        site: ReducerSite<'_, Json>,
        old: Option<Json>,
        new: Json,
    ) -> Result<Json, Fault> {
        SystemRules.reduce(site, old, new)
    }
}

/// The merge rules of every system, without its routers: enough to preview a superstep.
#[derive(Clone, Copy, Debug)]
pub struct SystemRules;

impl Rules<Json> for SystemRules {
    /// Of the faults of one superstep the one that another attempt does not mend decides.
    fn reduce(
        &mut self,
        _: ReducerSite<'_, Json>,
        old: Option<Json>,
        new: Json,
    ) -> Result<Json, Fault> {
        let lasts = |known: &Json| Fault::deserialize(known).is_ok_and(|f| !is_passing(f.category));
        Ok(old.filter(lasts).unwrap_or(new))
    }

    fn route(&mut self, router: u32, view: &View<'_, Json>) -> Result<Destinations<Json>, Failure> {
        NoRules.route(router, view)
    }
}

/// What is wrong with a reply that code gave.
fn unfit_reply(role: &str, unreadable: &UnreadableReply) -> Fault {
    let wrong = unreadable.errors.first();
    let field = wrong.map_or("", |wrong| wrong.path.trim_start_matches('/'));
    let message = match wrong {
        Some(Violation { expected, found, .. }) if field.is_empty() => {
            format!("the reply of the {role} should be {expected} but is: {found}")
        }
        Some(Violation { expected, found, .. }) => {
            format!("the reply of the {role} should have {expected} as `{field}` but has: {found}")
        }
        None => format!("the reply does not match the schema of its role: {role}"),
    };
    let fault = Fault::new(FaultCode::RoleReplyInvalid, message);
    fault.with("role", role).with("field", field)
}

fn no_code(call: &NodeCall) -> Fault {
    let message = format!("the system has no code for the node: {}", call.node);
    Fault::new(FaultCode::HostIncomplete, message)
}
