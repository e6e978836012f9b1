//! One call of a host's code: its inputs, and what it may do
//! meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use antiphon_core::approval::{Approval, HostVerdict, refused};
use antiphon_core::budget::BudgetCharge;
use antiphon_core::checkpoint::{CallOutcome, Callee};
use antiphon_core::command::Update;
use antiphon_core::event::EventKind;
use antiphon_core::run::CallStart;
use antiphon_core::task::{TaskId, TaskInput};
use antiphon_core::{Fault, ModelReply, ModelRequest, Seed, Time, ToolOutcome, Usage};
use serde_json::Value as Json;

use super::call_request::{CallRequest, unsuitable};
use super::{Snapshot, TaskReporter};
use crate::clock::Clock;
use crate::port::{CallContext, Model, Tool};
use crate::tool_call::call_tool_within;

/// One attempt at the work of a node, or at a call of its agent.
pub struct NodeCall {
    /// The node's name.
    pub node: Arc<str>,
    /// The names of the nodes that lead to it, its own last; of a fan-out by
    /// sends with `#` and the number of the send.
    pub path: Vec<Arc<str>>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Identifies the attempt within its run.
    pub id: TaskId,
    /// When it will be given up; none if nothing limits it.
    pub deadline: Option<Time>,
    /// The state, or the value sent to the node; the same for all calls of an agent.
    pub input: TaskInput<Json>,
    /// The state of the node's graph.
    pub state: Snapshot,
    /// The answers to the node's questions so far, in that order.
    pub answers: Vec<Json>,
    /// The node in whose place this one runs, and its failure.
    pub handles: Option<(Arc<str>, Fault)>,
    /// For models and tools that the node calls by itself; prefer
    /// [`NodeCall::ask`] and [`NodeCall::invoke`], which also count and record.
    pub cx: CallContext,
    /// The way back to the run.
    pub reporter: TaskReporter,
    pub(crate) calls: AtomicU64,
}

impl NodeCall {
    /// A call outside any run, with a first attempt at `node` and no limits:
    /// for tests of a host.
    pub fn detached(node: impl Into<Arc<str>>, state: Snapshot, clock: Arc<dyn Clock>) -> Self {
        let (node, id) = (node.into(), TaskId { scope: 0, slot: 0, serial: 1 });
        Self {
            path: vec![Arc::clone(&node)],
            node,
            attempt: 1,
            id,
            deadline: None,
            input: TaskInput::State,
            state,
            answers: Vec::new(),
            handles: None,
            cx: CallContext::new(clock),
            reporter: TaskReporter::detached(id),
            calls: AtomicU64::new(0),
        }
    }

    /// The value sent to the node; none if it sees the state.
    pub const fn sent(&self) -> Option<&Json> {
        match &self.input {
            TaskInput::Sent(value) => Some(value),
            TaskInput::State => None,
        }
    }

    /// Adds a custom event to the trace.
    pub fn note(&self, name: &str, data: Json) {
        self.reporter.note(EventKind::Custom, name, data);
    }

    /// Asks whether one more call may be made, and counts it if so.
    ///
    /// # Errors
    /// A `Budget` fault, which the node should end with.
    pub async fn request(&self, charge: BudgetCharge) -> Result<(), Fault> {
        self.reporter.request(charge).await
    }

    /// Counts the cost of a call.
    pub fn charge(&self, usage: Usage) {
        self.reporter.charge(usage);
    }

    /// Time left until the deadline; none if there is none.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.since(self.cx.clock.now()))
    }

    /// An update that writes these values by channel name.
    ///
    /// # Errors
    /// As [`Snapshot::update`].
    pub fn update<'k>(
        &self,
        fields: impl IntoIterator<Item = (&'k str, Json)>,
    ) -> Result<Update<Json>, Fault> {
        self.state.update(fields)
    }

    /// Calls a model once: within the budget, in the trace, and paid for. What it
    /// said before the node began again is not asked for twice.
    ///
    /// # Errors
    /// A `Budget` fault if no call is left, `replay_diverged` if the node did
    /// something else before, else the model's own.
    pub async fn ask(
        &self,
        model: &dyn Model,
        request: &ModelRequest,
    ) -> Result<ModelReply, Fault> {
        let seed = self.next_seed();
        let asked =
            CallRequest { reporter: &self.reporter, name: model.name(), callee: Callee::Model };
        let pending = match asked.begin(request, true).await? {
            CallStart::Known(CallOutcome::Reply(reply)) => {
                asked.asked(request, true);
                return Ok(asked.replied(*reply, true));
            }
            CallStart::Known(outcome) => return Err(unsuitable(outcome)),
            CallStart::Pending(pending) => pending,
        };
        asked.asked(request, false);
        let idempotency_key = Some(pending.key.clone());
        let cx = CallContext { idempotency_key, seed, ..self.cx.clone() };
        let outcome = model.call(request, &cx).await;
        if let Ok(reply) = &outcome {
            self.charge(reply.usage);
        }
        asked
            .end(&pending, || outcome.clone().map(|reply| CallOutcome::Reply(Box::new(reply))))
            .await?;
        Ok(asked.replied(outcome?, false))
    }

    /// Calls a tool once, with arguments that satisfy its schema: within the
    /// budget, in the trace, and no longer than the tool's own time-out or
    /// what is left for the node, whichever is shorter. One that has returned
    /// before the node began again is not called twice.
    ///
    /// # Errors
    /// A `Budget` fault if no call is left, a `Timeout` fault `tool_timeout`,
    /// `tool_refused` if it was not approved, `unknown_outcome` if nobody knows
    /// what came of it, `replay_diverged` if the node did something else before,
    /// else the tool's own.
    pub async fn invoke(&self, tool: &dyn Tool, arguments: Json) -> ToolOutcome {
        let (spec, seed) = (tool.spec(), self.next_seed());
        self.approved(tool, &arguments, seed).await?;
        let asked =
            CallRequest { reporter: &self.reporter, name: &spec.name, callee: Callee::Tool };
        let pending = match asked.begin(&arguments, spec.is_repeatable()).await? {
            CallStart::Known(outcome) => {
                let outcome = match outcome {
                    CallOutcome::Json(value) => Ok(value),
                    outcome => Err(unsuitable(outcome)),
                };
                asked.called("", &arguments, true);
                asked.returned("", &outcome, true);
                return outcome;
            }
            CallStart::Pending(pending) => pending,
        };
        asked.called(&pending.key, &arguments, false);
        let own = spec.timeout.map(|timeout| self.cx.clock.now() + timeout);
        let cx = CallContext {
            deadline: earlier(own, self.deadline),
            idempotency_key: Some(pending.key.clone()),
            seed,
            ..self.cx.clone()
        };
        let outcome = call_tool_within(tool, arguments, spec.timeout, &cx).await;
        asked.end(&pending, || outcome.clone().map(CallOutcome::Json)).await?;
        asked.returned(&pending.key, &outcome, false);
        outcome
    }

    /// Has a call approved before it begins: one that is refused was never made,
    /// and counts against no limit. The decision is known when the node begins again.
    async fn approved(&self, tool: &dyn Tool, arguments: &Json, seed: Seed) -> Result<(), Fault> {
        let spec = tool.spec();
        match spec.approval {
            Approval::None => return Ok(()),
            Approval::Person => {
                return Err(refused(&spec.name, Some("no person can be asked here")));
            }
            Approval::Host => {}
        }
        let name = format!("approve {}", spec.name);
        let asked = CallRequest { reporter: &self.reporter, name: &name, callee: Callee::Step };
        let outcome = match asked.begin(arguments, true).await? {
            CallStart::Known(outcome) => outcome,
            CallStart::Pending(pending) => {
                let cx = CallContext {
                    deadline: self.deadline,
                    idempotency_key: Some(pending.key.clone()),
                    seed,
                    ..self.cx.clone()
                };
                let judged = tool.approve(arguments, &cx).await.map(stored_verdict);
                asked.end(&pending, || judged.clone()).await?;
                judged?
            }
        };
        match outcome {
            CallOutcome::Json(Json::Bool(true)) => Ok(()),
            CallOutcome::Json(reason) => Err(refused(&spec.name, reason.as_str())),
            outcome => Err(unsuitable(outcome)),
        }
    }

    /// The same for the same call of every attempt, and for no other call.
    fn next_seed(&self) -> Seed {
        self.cx.seed.child(self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

/// A verdict as it is stored: true, or why not.
fn stored_verdict(verdict: HostVerdict) -> CallOutcome<Json> {
    CallOutcome::Json(match verdict {
        HostVerdict::Approve => Json::Bool(true),
        HostVerdict::Refuse(reason) => reason.map_or(Json::Null, Json::String),
    })
}

fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
