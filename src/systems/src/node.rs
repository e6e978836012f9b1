//! What a node of a system gets to see, and what it returns.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::command::{Destination, Destinations, Send as Sent};
use antiphon_core::state::View;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Attachments, NodeCall, TaskReporter, Tool, UserContext};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::patch::Patch;
use crate::request_tally::RequestTally;
use crate::state::{ATTACHMENTS, Field, INPUT};
use crate::state_cache::StateCache;
use crate::stored_attachments;
use crate::system::System;
use crate::tool_cache::ToolCache;

/// What all nodes of one run share.
pub struct RunScope<S: System> {
    /// The system.
    pub system: Arc<S>,
    /// What is asked.
    pub input: Arc<S::Input>,
    /// What the run holds beside its state.
    pub data: S::RunData,
    /// The run's id.
    pub run_id: Arc<str>,
    /// Bytes that the state names.
    pub attachments: Attachments,
    /// Whether a thread keeps the run.
    pub(crate) is_kept: bool,
    pub(crate) tools: Arc<ToolCache>,
    pub(crate) requests: Arc<RequestTally>,
    pub(crate) state: StateCache<S::State>,
    pub(crate) user_context: Option<UserContext>,
}

impl<S: System> RunScope<S> {
    /// A tool as this run calls it: with what the caller passed, and the results of the run
    /// before it. `owner` tells tools of one name apart.
    pub(crate) fn tool_of_run(
        &self,
        tool: &Arc<dyn Tool>,
        owner: &str,
        reporter: &TaskReporter,
    ) -> Arc<dyn Tool> {
        let bound = self.user_context.as_ref().and_then(|context| tool.bind(context));
        let tool = bound.unwrap_or_else(|| Arc::clone(tool));
        self.tools.before(tool, owner, reporter.clone())
    }
}

/// One execution of a node: the state as it was when the superstep began, and the way back to
/// the run.
pub struct NodeContext<S: System> {
    /// The state.
    pub state: Arc<S::State>,
    /// The call of the engine.
    pub call: NodeCall,
    pub(crate) scope: Arc<RunScope<S>>,
}

impl<S: System> NodeContext<S> {
    pub(crate) fn new(call: NodeCall, scope: &Arc<RunScope<S>>) -> Result<Self, Fault> {
        let state = scope.state.read(&call.state)?;
        stored_attachments::restore(&scope.attachments, call.state.get(ATTACHMENTS));
        Ok(Self { state, call, scope: Arc::clone(scope) })
    }

    /// The system.
    pub fn system(&self) -> &S {
        &self.scope.system
    }

    /// What is asked.
    pub fn input(&self) -> &S::Input {
        &self.scope.input
    }

    /// What the run holds beside its state.
    pub fn data(&self) -> &S::RunData {
        &self.scope.data
    }

    /// Bytes that the state names.
    pub fn attachments(&self) -> &Attachments {
        &self.scope.attachments
    }

    /// What was sent to the node, as a type; none if it was not sent anything of that type.
    pub fn sent<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(self.call.sent()?).ok()
    }

    /// The answers to what the node asked so far, in that order.
    pub fn answers(&self) -> &[Json] {
        &self.call.answers
    }

    /// A tool of the system, for [`NodeCall::invoke`].
    pub fn tool(&self, tool: &Arc<dyn Tool>) -> Arc<dyn Tool> {
        self.scope.tool_of_run(tool, S::NAME, &self.call.reporter)
    }

    /// Adds an event to the trace at once; [`Patch::note`] adds one when the node is done.
    pub fn note(&self, name: &str, data: Json) {
        self.call.note(name, data);
    }
}

/// What a node returns.
#[derive(Debug)]
pub enum NodeExit<T> {
    /// Writes to the state, and events.
    Done(Patch<T>),
    /// A question to a person. The node is executed again with the answer in
    /// [`NodeContext::answers`], in this process or another.
    Ask(Json),
}

impl<T> From<Patch<T>> for NodeExit<T> {
    fn from(patch: Patch<T>) -> Self {
        Self::Done(patch)
    }
}

/// The state as a router sees it, field by field.
#[derive(Debug)]
pub struct StateView<'v, 'r>(pub(crate) &'v View<'r, Json>);

impl StateView<'_, '_> {
    /// The value of a field; the default of its type if it was never written.
    ///
    /// # Errors
    /// A `State` fault `state_unreadable` if the value is not of that type.
    pub fn get<S, M, T: DeserializeOwned + Default>(
        &self,
        field: Field<S, M, T>,
    ) -> Result<T, Fault> {
        self.part(field)
    }

    /// The same as a type that has only a part of what the field holds.
    ///
    /// # Errors
    /// As [`StateView::get`].
    pub fn part<S, M, T, P: DeserializeOwned + Default>(
        &self,
        field: Field<S, M, T>,
    ) -> Result<P, Fault> {
        let Some(value) = self.0.named(field.name()) else { return Ok(P::default()) };
        P::deserialize(value).map_err(|error| {
            let message = format!("a router cannot read the field `{}`: {error}", field.name());
            Fault::new(FaultCode::StateUnreadable, message)
        })
    }

    /// Whether the run was started with an input, and not from a state.
    pub fn has_input(&self) -> bool {
        self.0.named(INPUT).is_some()
    }
}

/// A time as a state holds it. It is rounded up, so that what it limits never ends before its time.
pub(crate) fn whole_millis(time: Duration) -> usize {
    usize::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(usize::MAX)
}

/// Goes to a node, or to what a label of the branch stands for.
pub fn goto(name: &str) -> Destinations<Json> {
    Destinations::from_iter([Destination::Name(name.into())])
}

/// Starts one task of a node per input, in their order.
pub fn fan_out(node: &str, inputs: impl IntoIterator<Item = Json>) -> Destinations<Json> {
    inputs.into_iter().map(|input| sent_to(node, input)).collect()
}

/// Starts one task of a node with this input.
pub fn sent_to(node: &str, input: Json) -> Destination<Json> {
    Destination::Send(Sent { node: node.into(), input, timeout: None, limit: None })
}
