//! Read access for drivers: states, graphs and tasks.

use std::sync::Arc;
use std::time::Duration;

use super::machine::Run;
use crate::budget::Budget;
use crate::channel::ChannelId;
use crate::graph::{Graph, Node, NodeId};
use crate::seed::Seed;
use crate::state::State;
use crate::task::{TaskId, TaskInput};
use crate::time::Time;
use crate::value::Value;

impl<V: Value> Run<V> {
    /// The state of the run's own graph.
    pub fn state(&self) -> &State<V> {
        self.scopes.root_state()
    }

    /// The state of a scope, while it exists.
    pub fn scope_state(&self, scope: u32) -> Option<&State<V>> {
        self.scopes.frame(scope).map(|frame| &frame.state)
    }

    /// The graph of a scope, while it exists.
    pub fn graph(&self, scope: u32) -> Option<&Arc<Graph<V>>> {
        self.scopes.graph(scope)
    }

    /// The node of a task.
    pub fn node(&self, scope: u32, node: NodeId) -> Option<&Node<V>> {
        self.scopes.graph(scope)?.node(node)
    }

    /// The scope whose state a task of `scope` sees: itself, or for an agent loop the scope of its
    /// node.
    pub fn state_scope(&self, scope: u32) -> u32 {
        if self.scopes.is_agent(scope) { self.parent(scope).unwrap_or_default() } else { scope }
    }

    /// The node of a task, while the task exists.
    pub fn node_of(&self, id: TaskId) -> Option<NodeId> {
        let frame = self.scopes.frame(id.scope)?;
        frame.records.get(id.slot as usize).map(|record| record.node)
    }

    /// The tasks around a scope, as `node:id` with the id of [`crate::notice::TaskLocation`]; empty
    /// for the run's own graph.
    pub fn namespace(&self, scope: u32) -> Vec<String> {
        self.scopes.namespace(scope)
    }

    /// The attempt of a task.
    pub fn attempt(&self, id: TaskId) -> u32 {
        self.scopes.attempt(id.scope, id.slot)
    }

    /// The scope around a scope.
    pub fn parent(&self, scope: u32) -> Option<u32> {
        self.scopes.get(scope)?.parent.map(|(parent, _)| parent)
    }

    /// The node's task behind a task: itself, or for a call of an agent loop the task of its node.
    pub fn origin(&self, id: TaskId) -> TaskId {
        let parent = self.scopes.get(id.scope).and_then(|scope| scope.parent);
        let Some((scope, slot)) = parent.filter(|_| self.scopes.is_agent(id.scope)) else {
            return id;
        };
        let record = self.scopes.frame(scope).and_then(|frame| frame.records.get(slot as usize));
        TaskId { scope, slot, serial: record.map_or(0, |record| record.serial) }
    }

    /// The input of a task, while it exists; for a call of an agent loop that of its
    /// [`Run::origin`].
    pub fn input_of(&self, id: TaskId) -> Option<&TaskInput<V>> {
        let TaskId { scope, slot, .. } = self.origin(id);
        let record = self.scopes.frame(scope)?.records.get(slot as usize)?;
        Some(&record.input)
    }

    /// Whether the time of a task, or of one around it, may run out; that of the run aside.
    pub fn is_timed(&self, id: TaskId) -> bool {
        let task = self.scopes.get(id.scope).and_then(|scope| scope.task(id.slot));
        let own = task.and_then(|record| record.deadline);
        own.or_else(|| self.scopes.deadline_around(id.scope)).is_some()
    }

    /// The seed of a task's randomness and ids: the same for all its attempts, and unique to the
    /// task and run.
    pub fn seed_of(&self, id: TaskId) -> Seed {
        self.scopes.task_seed(id.scope, id.slot)
    }

    /// Whether [`Run::step`] has something to decide or to hand out now.
    pub fn is_ready(&self) -> bool {
        let queue = &self.queue;
        let held = queue.awaiting.is_some();
        let ready = !queue.active.is_empty()
            || !queue.starts.is_empty()
            || !queue.pending_commits.is_empty();
        !queue.cancels.is_empty() || (!held && (ready || queue.ended.is_some()))
    }

    /// The names of the nodes that lead to a task, its own included.
    pub fn path(&self, id: TaskId) -> Vec<Arc<str>> {
        self.scopes.path(id.scope, id.slot)
    }

    /// The channels of a scope that changed since the last call.
    pub fn take_changes(&mut self, scope: u32, mut each: impl FnMut(ChannelId, Option<&V>)) {
        if let Some(frame) = self.scopes.frame_mut(scope) {
            for &channel in frame.state.changed() {
                each(channel, frame.state.get(channel));
            }
            frame.state.clear_changes();
        }
    }

    /// Supersteps of the run's own graph so far.
    pub fn supersteps(&self) -> u64 {
        self.scopes.frame(0).map_or(0, |frame| frame.step)
    }

    /// The budget of the run.
    pub const fn budget(&self) -> &Budget {
        &self.queue.budget
    }

    /// The time left until the run's deadline; `None` without a deadline.
    pub fn remaining(&self, now: Time) -> Option<Duration> {
        self.queue.deadline.map(|deadline| deadline.since(now))
    }
}
