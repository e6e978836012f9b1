//! The input and output of nested graphs.

use super::frame::Frame;
use super::plan::writes_of;
use super::scope::Scopes;
use crate::budget::Budget;
use crate::channel::{Channel, ChannelId, Reducer, Write, WriteOp};
use crate::command::Update;
use crate::graph::Graph;
use crate::task::TaskInput;
use crate::value::Value;

impl<V: Value> Scopes<V> {
    /// The first writes of a nested graph: the input that was sent to its node, or the channels
    /// that it shares by name.
    pub(super) fn nested_input(&mut self, scope: u32, slot: u32, nested: &Graph<V>) -> Update<V> {
        let Some(frame) = self.frame(scope) else { return Update::default() };
        match frame.records.get(slot as usize).map(|record| &record.input) {
            Some(TaskInput::Sent(value)) => writes_of(value.fields().unwrap_or_default(), nested),
            _ => frame.shared_with(nested, WriteOp::Replace),
        }
    }

    /// The update of a nested graph for the enclosing one: its writes to shared channels, or their
    /// values.
    pub(super) fn nested_output(&mut self, scope: u32, parent: u32) -> Update<V> {
        let outward = self.frame_mut(scope).map(|frame| frame.outward.take(&frame.state));
        let outward = outward.unwrap_or_default();
        let (Some(outer), Some(frame)) = (self.frame(parent), self.frame(scope)) else {
            return Update::default();
        };
        if !frame.graph.semantics().full_output {
            return Update { writes: outward, ..Update::default() };
        }
        let mut update = frame.shared_with(&outer.graph, WriteOp::Merge);
        update.writes.retain(|write| outer.may_take(write));
        update
    }

    /// Counts in every budget around a scope, except that of the run.
    pub(super) fn charge_around(&mut self, scope: u32, count: impl Fn(&mut Budget)) {
        if let Some((parent, slot)) = self.get(scope).and_then(|scope| scope.parent) {
            self.charge(parent, slot, count);
        }
    }

    /// The budgets around a scope, without that of the run.
    pub(super) fn budgets_around(&self, scope: u32) -> impl Iterator<Item = &Budget> {
        let parent = self.get(scope).and_then(|scope| scope.parent);
        parent.into_iter().flat_map(|(parent, slot)| self.budgets(parent, slot))
    }

    /// The grace supersteps of a scope, or of the nearest scope around it that has some.
    pub(super) fn grace_around(&mut self, scope: u32) -> Option<&mut u64> {
        let around = self.limiting_tasks(scope).map(|(scope, _)| scope);
        let has_grace = |at: &u32| self.frame(*at).is_some_and(|frame| frame.grace.is_some());
        let found = std::iter::once(scope).chain(around).find(has_grace)?;
        self.frame_mut(found)?.grace.as_mut()
    }

    pub(super) fn attempt(&self, scope: u32, slot: u32) -> u32 {
        let record = self.frame(scope).and_then(|frame| frame.records.get(slot as usize));
        record.map_or(0, |record| record.attempt)
    }
}

impl<V: Value> Frame<V> {
    /// Its values of the shared channels, as writes to `other`.
    fn shared_with(&self, other: &Graph<V>, op: fn(V) -> WriteOp<V>) -> Update<V> {
        let ids = (0_u32..).map(ChannelId);
        let shared = self.graph.channels().iter().zip(ids).filter_map(|(channel, id)| {
            let target = other.channel_id(&channel.name)?;
            Some(Write { channel: target, op: op(self.state.get(id)?.clone()) })
        });
        Update { writes: shared.collect(), ..Update::default() }
    }

    /// Whether it accepts a write: a `Once` channel is not written again with its own value.
    fn may_take(&self, write: &Write<V>) -> bool {
        let once = |channel: &Channel<V>| channel.merge == Reducer::Once;
        let held = self.state.get(write.channel);
        let same = |held: &V| matches!(&write.op, WriteOp::Merge(new) if held.agrees_with(new));
        !(self.graph.channel(write.channel).is_some_and(once) && held.is_some_and(same))
    }
}
