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
use crate::value::Value;

/// Identifies one attempt of a task. The serial number tells a late outcome from that of the
/// current attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// The scope it belongs to: a graph or an agent loop at work within the run.
    pub scope: u32,
    /// Its position in the current superstep of that scope.
    pub slot: u32,
    /// Unique within the run; counts all attempts.
    pub serial: u64,
}

/// Work for the driver.
#[derive(Clone, Debug)]
pub struct Task<V> {
    /// Passed back with the outcome.
    pub id: TaskId,
    /// The node it is done for, in the graph of [`crate::run::Run::graph`].
    pub node: NodeId,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The deadline; drivers pass it on to models and tools.
    pub deadline: Option<Time>,
    /// What to do.
    pub work: TaskWork<V>,
}

/// The kind of work.
#[derive(Clone, Debug)]
pub enum TaskWork<V> {
    /// Call the host's code with the state, or with the input that was sent to it.
    Node(TaskInput<V>),
    /// Return the first messages of an agent's conversation, given the same input.
    Open(TaskInput<V>),
    /// Call the agent's model.
    Model(Box<ModelRequest>),
    /// Decide whether this tool call is made.
    Approve(Box<ToolInvocation>),
    /// Call one of the agent's tools; the arguments are valid.
    Tool(Box<ToolInvocation>),
    /// Turn an agent's result into an update of the state.
    Close(Box<AgentResult>),
}

/// The input of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskInput<V> {
    /// The state of its graph.
    State,
    /// A value from a send.
    Sent(V),
}

/// A validated tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInvocation {
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// Its arguments, parsed, coerced and valid.
    pub arguments: serde_json::Value,
    /// The same for every attempt at this call, and for no other call.
    pub idempotency_key: String,
}

/// The outcome of a task.
#[derive(Clone, Debug)]
pub enum TaskOutcome<V> {
    /// A node, or the end of an agent, with its update.
    Done(Update<V>),
    /// A node ends its nested graph early; this is the update of the graph's node in the enclosing
    /// graph.
    Escalate(Update<V>),
    /// It asks a question, and continues once it is answered.
    Ask(V),
    /// A run that it has started asks this question, which keeps its id.
    Relay(String, V),
    /// It failed.
    Failed(Box<Failure>),
    /// The first messages of a conversation.
    Opened(Vec<Message>),
    /// The model's reply.
    Replied(Box<ModelReply>),
    /// The host's decision about a tool call.
    Decided(HostVerdict),
    /// The tool's result.
    Returned(ToolOutcome),
}

impl<V: Value> TaskOutcome<V> {
    /// The outcome of a native tool, which may be a question ([`Fault::question`]).
    pub fn of_tool(outcome: ToolOutcome) -> Self {
        match outcome.map_err(Fault::into_question) {
            Ok(value) => Self::Returned(Ok(value)),
            Err(Ok(question)) => Self::Ask(V::from_json(question)),
            Err(Err(fault)) => Self::Returned(Err(fault)),
        }
    }
}

impl<V> TaskOutcome<V> {
    /// A failure whose category decides whether it is retried.
    pub fn failed(fault: Fault) -> Self {
        Self::Failed(Box::new(Failure { fault, verdict: RetryVerdict::ByCategory }))
    }
}

/// A failure, and whether the host wants it retried.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What went wrong.
    pub fault: Fault,
    /// Whether it may be retried.
    pub verdict: RetryVerdict,
}

/// Whether a failed attempt is retried.
#[derive(Clone, Debug)]
pub enum RetryVerdict {
    /// Transient categories are retried by the node's policy.
    ByCategory,
    /// The host decided: not again.
    Never,
    /// The host decided: again, by this policy.
    Again(RetryPolicy),
}
