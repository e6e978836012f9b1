//! A graph within a graph: how values get in and out.

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
    /// The first writes of a nested graph: what was sent to its node, or the
    /// channels it shares with the enclosing graph by name.
    pub(super) fn nested_input(&mut self, scope: u32, slot: u32, nested: &Graph<V>) -> Update<V> {
        let Some(frame) = self.frame(scope) else { return Update::default() };
        match frame.records.get(slot as usize).map(|record| &record.input) {
            Some(TaskInput::Sent(value)) => writes_of(value.fields().unwrap_or_default(), nested),
            _ => frame.shared_with(nested, WriteOp::Replace),
        }
    }

    /// What a nested graph hands to the enclosing one: its own writes to the
    /// channels they share, or all it holds of them.
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

    /// Counts in every budget around a scope, the run's apart.
    pub(super) fn charge_around(&mut self, scope: u32, count: impl Fn(&mut Budget)) {
        if let Some((parent, slot)) = self.get(scope).and_then(|scope| scope.parent) {
            self.charge(parent, slot, count);
        }
    }

    /// The budgets around a scope, the run's apart.
    pub(super) fn budgets_around(&self, scope: u32) -> impl Iterator<Item = &Budget> {
        let parent = self.get(scope).and_then(|scope| scope.parent);
        parent.into_iter().flat_map(|(parent, slot)| self.budgets(parent, slot))
    }

    /// The supersteps that the nearest graph around a scope, or it itself, has
    /// been given after its budget was spent.
    pub(super) fn grace_around(&mut self, scope: u32) -> Option<&mut u64> {
        let mut at = scope;
        while self.frame(at)?.grace.is_none() {
            at = self.get(at)?.parent?.0;
        }
        self.frame_mut(at)?.grace.as_mut()
    }

    pub(super) fn attempt(&self, scope: u32, slot: u32) -> u32 {
        let record = self.frame(scope).and_then(|frame| frame.records.get(slot as usize));
        record.map_or(0, |record| record.attempt)
    }
}

impl<V: Value> Frame<V> {
    /// What it holds of the channels that `other` has too, as writes to `other`.
    fn shared_with(&self, other: &Graph<V>, op: fn(V) -> WriteOp<V>) -> Update<V> {
        let ids = (0_u32..).map(ChannelId);
        let shared = self.graph.channels().iter().zip(ids).filter_map(|(channel, id)| {
            let target = other.channel_id(&channel.name)?;
            Some(Write { channel: target, op: op(self.state.get(id)?.clone()) })
        });
        Update { writes: shared.collect(), ..Update::default() }
    }

    /// A channel that is written once need not be handed back what it gave.
    fn may_take(&self, write: &Write<V>) -> bool {
        let once = |channel: &Channel<V>| channel.merge == Reducer::Once;
        let held = self.state.get(write.channel);
        let same = |held: &V| matches!(&write.op, WriteOp::Merge(new) if held.agrees_with(new));
        !(self.graph.channel(write.channel).is_some_and(once) && held.is_some_and(same))
    }
}
