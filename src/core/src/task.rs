//! Tasks: the units of work that a run hands to its driver, and their outcomes.

use serde::{Deserialize, Serialize};

use crate::agent::AgentResult;
use crate::approval::HostVerdict;
use crate::command::Update;
use crate::fault::Fault;
use crate::graph::NodeId;
use crate::message::{Message, ToolCall};
use crate::model::{ModelReply, ModelRequest};
use crate::retry::RetryPolicy;
use crate::time::Time;
use crate::tool::ToolOutcome;

/// One attempt at one piece of work. An answer to an attempt that is over is
/// recognised by its serial number and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// The graph or agent loop within the run that it belongs to.
    pub unit: u32,
    /// Its place in that unit's present superstep.
    pub slot: u32,
    /// Counts all attempts of the run.
    pub serial: u64,
}

/// Something for the driver to do.
#[derive(Clone, Debug)]
pub struct Task<V> {
    /// Goes with the outcome.
    pub id: TaskId,
    /// The node it is done for, in the graph of [`crate::run::Run::graph`].
    pub node: NodeId,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// When it will be given up; drivers pass it on to models and tools.
    pub deadline: Option<Time>,
    /// What to do.
    pub work: TaskWork<V>,
}

/// What a driver is asked to do.
#[derive(Clone, Debug)]
pub enum TaskWork<V> {
    /// Call the host's code with the state, or with what was sent to it.
    Node(TaskInput<V>),
    /// Say how an agent's conversation begins, given the same input.
    Open(TaskInput<V>),
    /// Call the agent's model.
    Model(Box<ModelRequest>),
    /// Decide whether this call of one of the agent's tools is made.
    Approve(Box<ToolInvocation>),
    /// Call one of the agent's tools; the arguments fit its schema.
    Tool(Box<ToolInvocation>),
    /// Turn what an agent concluded into an update of the state.
    Close(Box<AgentResult>),
}

/// What a node gets to see.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskInput<V> {
    /// The state of its graph.
    State,
    /// A value that was sent to it.
    Sent(V),
}

/// One call of a tool, checked and ready.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInvocation {
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// Its arguments, parsed, coerced and valid.
    pub arguments: serde_json::Value,
    /// The same for every attempt at this call, and for no other call.
    pub idempotency_key: String,
}

/// What came of a task.
#[derive(Clone, Debug)]
pub enum TaskOutcome<V> {
    /// A node or a closing is done.
    Done(Update<V>),
    /// A node of a nested graph speaks for the graph: the rest of it is
    /// dropped, and its node in the enclosing graph is done with this.
    Escalate(Update<V>),
    /// It needs an answer from outside before it can go on.
    Ask(V),
    /// A run that it has started needs an answer: the question keeps the id it has there.
    Relay(String, V),
    /// It failed.
    Failed(Box<Failure>),
    /// How the conversation begins.
    Opened(Vec<Message>),
    /// What the model said.
    Replied(Box<ModelReply>),
    /// Whether a call is made.
    Decided(HostVerdict),
    /// What the tool returned.
    Returned(ToolOutcome),
}

impl<V> TaskOutcome<V> {
    /// A failure whose category decides whether it is tried again.
    pub fn failed(fault: Fault) -> Self {
        Self::Failed(Box::new(Failure { fault, verdict: RetryVerdict::ByCategory }))
    }
}

/// A failure, and what the host says about trying again.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What went wrong.
    pub fault: Fault,
    /// Whether it may be tried again.
    pub verdict: RetryVerdict,
}

/// Whether a failed attempt may be repeated.
#[derive(Clone, Debug)]
pub enum RetryVerdict {
    /// Transient categories are repeated by the node's policy.
    ByCategory,
    /// The host has looked: not again.
    Never,
    /// The host has looked: again, by this policy.
    Again(RetryPolicy),
}
