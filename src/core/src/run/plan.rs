//! From one superstep to the next: which tasks run, and handing them out.

use std::sync::Arc;

use super::Run;
use super::agent::AgentUnit;
use super::frame::{Frame, Record, Status};
use super::unit::{Body, Unit};
use crate::budget::{Budget, Dimension, Limits};
use crate::channel::Write;
use crate::command::Update;
use crate::effect::Ending;
use crate::event::{EventKind, Level};
use crate::graph::{Graph, NodeWork};
use crate::task::{Input, Task, TaskId, Work};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Begins the next superstep of a graph, or ends it.
    pub(super) fn plan(&mut self, unit: u32) {
        let Some(frame) = self.units.frame_mut(unit) else { return };
        frame.records.clear();
        if frame.over || !frame.gather() {
            return self.finish(unit);
        }
        if let Some(dimension) = self.take_superstep(unit) {
            return self.exhaust(unit, dimension);
        }
        let Some(frame) = self.units.frame_mut(unit) else { return };
        frame.step += 1;
        frame.line_up();
        frame.open = frame.records.len();
        for slot in 0..u32::try_from(frame.records.len()).unwrap_or(u32::MAX) {
            self.start(unit, slot);
        }
    }

    /// Counts a superstep against everything that limits them.
    fn take_superstep(&mut self, unit: u32) -> Option<Dimension> {
        let is_exempt = |frame: &Frame<V>| frame.exempt.contains(&Dimension::Supersteps);
        let exempt = self.units.frame(unit).is_some_and(is_exempt);
        let within = self.units.within(unit, Budget::take_superstep);
        let taken = self.desk.budget.take_superstep() && within;
        (!taken && !exempt).then_some(Dimension::Supersteps)
    }

    /// Hands out the next attempt of a task, or gives it a unit of its own.
    pub(super) fn start(&mut self, unit: u32, slot: u32) {
        let serial = self.desk.next_serial();
        let (now, deadline) = (self.desk.log.now, self.desk.deadline);
        let Some(frame) = self.units.frame_mut(unit) else { return };
        let graph = Arc::clone(&frame.graph);
        let Some(record) = frame.records.get_mut(slot as usize) else { return };
        let Some(node) = graph.node(record.node) else { return };
        let own = record.timeout.or(node.policy.timeout).map(|timeout| now + timeout);
        record.serial = serial;
        record.attempt += 1;
        record.deadline = match (own, deadline) {
            (Some(own), Some(deadline)) => Some(own.min(deadline)),
            (own, deadline) => own.or(deadline),
        };
        if record.attempt == 1 && node.policy.limits != Limits::default() {
            record.budget = Some(Box::new(Budget::new(node.policy.limits.clone())));
        }
        if let Some(own) = own {
            self.desk.wake(own);
        }
        match &node.work {
            NodeWork::Call => self.hand_out(unit, slot),
            NodeWork::Graph(nested) => self.nest(unit, slot, Arc::clone(nested)),
            NodeWork::Agent(spec) => {
                let agent = AgentUnit::new(Arc::clone(spec));
                self.attach(unit, slot, Body::Agent(Box::new(agent)));
            }
        }
        let Self { units, desk } = self;
        desk.log.emit(|| {
            let mut event = units.event(unit, slot, EventKind::NodeStarted, Level::Info);
            let attempt = units.attempt(unit, slot);
            event.data.insert("attempt".into(), attempt.into());
            event
        });
    }

    fn hand_out(&mut self, unit: u32, slot: u32) {
        let Some(record) = self.units.record(unit, slot) else { return };
        record.status = Status::Running;
        self.desk.running += 1;
        self.desk.starts.push(Task {
            id: TaskId { unit, slot, serial: record.serial },
            node: record.node,
            attempt: record.attempt,
            deadline: record.deadline,
            work: Work::Node(record.input.clone()),
        });
    }

    /// Gives a task to a unit of its own.
    fn attach(&mut self, unit: u32, slot: u32, body: Body<V>) {
        let path = self.units.path(unit, slot);
        let seed = self.units.task_seed(unit, slot);
        let child = self.units.add(Unit { parent: Some((unit, slot)), path, seed, body });
        if let Some(record) = self.units.record(unit, slot) {
            record.status = Status::Nested(child);
        }
        self.desk.active.push(child);
    }

    fn nest(&mut self, unit: u32, slot: u32, nested: Arc<Graph<V>>) {
        let input = self.units.nested_input(unit, slot, &nested);
        self.attach(unit, slot, Body::Graph(Box::new(Frame::new(nested, input))));
    }

    /// Nothing is left to run in a graph.
    fn finish(&mut self, unit: u32) {
        let Some((parent, slot)) = self.units.get(unit).and_then(|unit| unit.parent) else {
            return self.end(Ok(Ending::Completed));
        };
        let update = self.units.nested_output(unit, parent);
        self.units.remove(unit);
        if self.desk.shows_updates {
            let id = TaskId { unit: parent, slot, serial: 0 };
            self.desk.handed_up.push((id, update.clone()));
        }
        self.done(parent, slot, update);
    }
}

impl<V: Value> Frame<V> {
    /// Moves deferred nodes up when nothing else is left; says whether
    /// anything is.
    fn gather(&mut self) -> bool {
        if self.ready.is_empty() && self.sends.is_empty() {
            std::mem::swap(&mut self.ready, &mut self.deferred);
        }
        !self.ready.is_empty() || !self.sends.is_empty()
    }

    /// One task per node in the order of the graph, then one per send.
    fn line_up(&mut self) {
        let graph = Arc::clone(&self.graph);
        if self.ready.len() > 1 {
            self.ready.sort_by_key(|&node| graph.rank(node));
        }
        for node in self.ready.drain(..) {
            if let Some(mark) = self.marked.get_mut(node.0 as usize) {
                *mark = false;
            }
            self.records.push(Record::new(node, Input::State));
        }
        let sends = self.sends.drain(..).enumerate();
        self.records.extend(sends.map(|(index, sent)| Record {
            send: Some(index),
            timeout: sent.timeout,
            ..Record::new(sent.node, Input::Sent(sent.input))
        }));
    }
}

/// What a record of the host becomes when it is a graph's input.
pub(super) fn writes_of<V: Value>(fields: Vec<(String, V)>, graph: &Graph<V>) -> Update<V> {
    let known = |(key, value): (String, V)| Some(Write::merge(graph.channel_id(&key)?, value));
    Update { writes: fields.into_iter().filter_map(known).collect(), ..Update::default() }
}
