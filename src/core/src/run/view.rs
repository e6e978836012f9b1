//! What a driver reads of a run: states, graphs, and where its tasks stand.

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
        self.units.root_state()
    }

    /// The state of a unit, while it lasts.
    pub fn unit_state(&self, unit: u32) -> Option<&State<V>> {
        self.units.frame(unit).map(|frame| &frame.state)
    }

    /// The graph of a unit, while it lasts.
    pub fn graph(&self, unit: u32) -> Option<&Arc<Graph<V>>> {
        self.units.graph(unit)
    }

    /// The node a task is for.
    pub fn node(&self, unit: u32, node: NodeId) -> Option<&Node<V>> {
        self.units.graph(unit)?.node(node)
    }

    /// The unit whose state a task of `unit` sees: its own, or for an agent
    /// loop that of its node.
    pub fn home(&self, unit: u32) -> u32 {
        if self.units.is_agent(unit) { self.parent(unit).unwrap_or_default() } else { unit }
    }

    /// The node a task is for, while it lasts.
    pub fn node_of(&self, id: TaskId) -> Option<NodeId> {
        let frame = self.units.frame(id.unit)?;
        frame.records.get(id.slot as usize).map(|record| record.node)
    }

    /// The tasks on whose behalf a unit works, as `node:id`, the id being that
    /// of [`crate::notice::TaskNotice`]; empty for the
    /// run's own graph.
    pub fn namespace(&self, unit: u32) -> Vec<String> {
        self.units.namespace(unit)
    }

    /// Which attempt of its node a task is.
    pub fn attempt(&self, id: TaskId) -> u32 {
        self.units.attempt(id.unit, id.slot)
    }

    /// The unit on whose behalf a unit works.
    pub fn parent(&self, unit: u32) -> Option<u32> {
        self.units.get(unit)?.parent.map(|(parent, _)| parent)
    }

    /// The node's task on whose behalf a task works: itself, or for a call of
    /// an agent loop the task of its node.
    pub fn origin(&self, id: TaskId) -> TaskId {
        let parent = self.units.get(id.unit).and_then(|unit| unit.parent);
        let Some((unit, slot)) = parent.filter(|_| self.units.is_agent(id.unit)) else {
            return id;
        };
        let record = self.units.frame(unit).and_then(|frame| frame.records.get(slot as usize));
        TaskId { unit, slot, serial: record.map_or(0, |record| record.serial) }
    }

    /// What the node of a task gets to see, while it lasts; for a call of an
    /// agent loop that of its [`Run::origin`].
    pub fn input_of(&self, id: TaskId) -> Option<&TaskInput<V>> {
        let TaskId { unit, slot, .. } = self.origin(id);
        let record = self.units.frame(unit)?.records.get(slot as usize)?;
        Some(&record.input)
    }

    /// Where a driver takes the randomness and the ids of a task from: the
    /// same for all its attempts, and for no other task or run.
    pub fn seed_of(&self, id: TaskId) -> Seed {
        self.units.task_seed(id.unit, id.slot)
    }

    /// Whether [`Run::step`] has something to decide or to hand out now.
    pub fn is_ready(&self) -> bool {
        let queue = &self.queue;
        let held = queue.awaiting.is_some();
        let ready = !queue.active.is_empty() || !queue.starts.is_empty() || !queue.due.is_empty();
        !queue.cancels.is_empty() || (!held && (ready || queue.ended.is_some()))
    }

    /// The names of the nodes that lead to a task, its own included.
    pub fn path(&self, id: TaskId) -> Vec<Arc<str>> {
        self.units.path(id.unit, id.slot)
    }

    /// The channels of a unit that changed since the last call.
    pub fn take_changes(&mut self, unit: u32, mut each: impl FnMut(ChannelId, Option<&V>)) {
        if let Some(frame) = self.units.frame_mut(unit) {
            for &channel in frame.state.changed() {
                each(channel, frame.state.get(channel));
            }
            frame.state.forget_changes();
        }
    }

    /// Supersteps of the run's own graph so far.
    pub fn supersteps(&self) -> u64 {
        self.units.frame(0).map_or(0, |frame| frame.step)
    }

    /// What the run has spent and may spend.
    pub const fn budget(&self) -> &Budget {
        &self.queue.budget
    }

    /// Time left until the run's deadline; none if it has none.
    pub fn remaining(&self, now: Time) -> Option<Duration> {
        self.queue.deadline.map(|deadline| deadline.since(now))
    }
}
