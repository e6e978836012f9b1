//! The state of an agent loop within a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::frame::TaskRecord;
use crate::agent::{AgentSpec, Conversation};
use crate::checkpoint::TaskKey;
use crate::command::Update;
use crate::effect::Question;
use crate::fault::{Fault, FaultCode};
use crate::message::ToolCall;
use crate::seed::Seed;

#[derive(Debug)]
pub(in crate::run) struct AgentScope<V> {
    pub(super) spec: Arc<AgentSpec>,
    pub(super) conversation: Option<Conversation>,
    pub(super) calls: Vec<AgentCall<V>>,
    pub(super) result: Option<Result<Update<V>, Fault>>,
    /// Whether outcomes are replayed now.
    pub(super) replays: bool,
    /// The number of messages that its events show.
    pub(super) traced: usize,
    /// Questions about calls and of their tools, and the answers.
    pub(super) questions: CallQuestions<V>,
}

/// A call of the loop, which is a task.
#[derive(Debug)]
pub(in crate::run) struct AgentCall<V> {
    pub(in crate::run) record: TaskRecord<V>,
    pub(super) kind: CallKind,
    pub(super) position: CallPosition,
    /// Its index among the calls of the node's task, if it is stored.
    pub(super) index: Option<u32>,
    /// The number of calls that the tool has made itself.
    pub(super) inner: u64,
}

/// The position of a call in the loop: the turn, and the index in that turn; 0 is the model call.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct CallPosition(pub(super) u32, pub(super) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum CallKind {
    Open,
    Model,
    /// The approval of the tool call at that position.
    Approval(usize),
    /// The position of a tool call in the conversation.
    Tool(usize),
    Close,
}

impl<V> AgentScope<V> {
    pub(in crate::run) const fn new(spec: Arc<AgentSpec>) -> Self {
        Self {
            spec,
            conversation: None,
            calls: Vec::new(),
            result: None,
            replays: false,
            traced: 0,
            questions: CallQuestions::new(),
        }
    }

    /// The seed of a task's ids.
    pub(in crate::run) fn call_seed(&self, scope: Seed, slot: u32) -> Seed {
        self.calls.get(slot as usize).map_or(scope, |call| call.position.seed(scope))
    }

    pub(in crate::run) fn calls(&self) -> &[AgentCall<V>] {
        &self.calls
    }

    pub(in crate::run) fn task_mut(&mut self, slot: u32) -> Option<&mut TaskRecord<V>> {
        self.calls.get_mut(slot as usize).map(|call| &mut call.record)
    }

    pub(super) fn call_of(&self, position: usize) -> Option<&ToolCall> {
        self.conversation.as_ref()?.call(position)
    }

    pub(super) fn turn(&self) -> u32 {
        self.conversation.as_ref().map_or(0, Conversation::turns)
    }

    pub(super) fn call_position(&self, kind: CallKind) -> CallPosition {
        let which = match kind {
            CallKind::Tool(position) => position as u64 + 1,
            CallKind::Close => u64::MAX,
            CallKind::Approval(position) => u64::MAX - 1 - position as u64,
            CallKind::Open | CallKind::Model => 0,
        };
        CallPosition(self.turn(), which)
    }
}

impl CallPosition {
    pub(super) const fn seed(self, scope: Seed) -> Seed {
        scope.child(self.0 as u64).child(self.1)
    }
}

/// Questions about the calls of an agent and of their tools, and the answers.
#[derive(Debug)]
pub(in crate::run) struct CallQuestions<V> {
    /// Whether the agent waits for an answer.
    pub(super) awaits_answer: bool,
    pub(super) open: Vec<OpenQuestion<V>>,
    /// What the tools of calls ask, by the positions of the calls.
    pub(super) asked: BTreeMap<usize, ToolQuestion<V>>,
    /// Answers, by the keys of the questions.
    pub(super) answers: BTreeMap<u64, V>,
}

/// What the tool of a call asks.
#[derive(Debug)]
pub(super) struct ToolQuestion<V> {
    /// The seed of its key.
    pub(super) seed: Seed,
    pub(super) value: V,
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct OpenQuestion<V> {
    pub(super) call: TaskKey,
    pub(super) question: Question<V>,
    /// Whether it is stored.
    pub(super) stored: bool,
    /// Whether its event is in the trace of this process.
    pub(super) shown: bool,
}

impl<V> CallQuestions<V> {
    const fn new() -> Self {
        Self {
            awaits_answer: false,
            open: Vec::new(),
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
        }
    }
}

pub(super) fn misplaced() -> Fault {
    let message = "a driver answered a call of an agent with the outcome of another kind of work";
    Fault::new(FaultCode::OutcomeMisplaced, message)
}
