//! A graph within a graph: how values get in and out.

use super::frame::Frame;
use super::plan::writes_of;
use super::unit::Units;
use crate::budget::Budget;
use crate::channel::{Op, Write};
use crate::command::Update;
use crate::graph::Graph;
use crate::task::Input;
use crate::value::Value;

impl<V: Value> Units<V> {
    /// The first writes of a nested graph: what was sent to its node, or the
    /// channels it shares with the enclosing graph by name.
    pub(super) fn nested_input(&mut self, unit: u32, slot: u32, nested: &Graph<V>) -> Update<V> {
        let Some(frame) = self.frame(unit) else { return Update::default() };
        match frame.records.get(slot as usize).map(|record| &record.input) {
            Some(Input::Sent(value)) => writes_of(value.fields().unwrap_or_default(), nested),
            _ => frame.shared_with(nested, Op::Replace),
        }
    }

    /// What a nested graph hands to the enclosing one: its own writes to the
    /// channels they share, or all it holds of them.
    pub(super) fn nested_output(&mut self, unit: u32, parent: u32) -> Update<V> {
        let outer = self.frame(parent).map(|frame| std::sync::Arc::clone(&frame.graph));
        let (Some(outer), Some(frame)) = (outer, self.frame_mut(unit)) else {
            return Update::default();
        };
        if frame.graph.habits().full_output {
            return frame.shared_with(&outer, Op::Merge);
        }
        let passed = std::mem::take(&mut frame.passed_up);
        let graph = std::sync::Arc::clone(&frame.graph);
        let renamed = |write: Write<V>| {
            let channel = outer.channel_id(&graph.channel(write.channel)?.name)?;
            Some(Write { channel, ..write })
        };
        Update { writes: passed.into_iter().filter_map(renamed).collect(), ..Update::default() }
    }

    /// Counts in every budget around a unit; says whether all had room.
    pub(super) fn within(&mut self, unit: u32, take: impl Fn(&mut Budget) -> bool) -> bool {
        let mut all = true;
        let mut at = unit;
        while let Some((parent, slot)) = self.get(at).and_then(|unit| unit.parent) {
            if let Some(budget) =
                self.record(parent, slot).and_then(|record| record.budget.as_mut())
            {
                all &= take(budget);
            }
            at = parent;
        }
        all
    }

    pub(super) fn attempt(&self, unit: u32, slot: u32) -> u32 {
        let record = self.frame(unit).and_then(|frame| frame.records.get(slot as usize));
        record.map_or(0, |record| record.attempt)
    }
}

impl<V: Value> Frame<V> {
    /// What it holds of the channels that `other` has too, as writes to `other`.
    fn shared_with(&self, other: &Graph<V>, op: fn(V) -> Op<V>) -> Update<V> {
        let ids = (0_u32..).map(crate::channel::ChannelId);
        let shared = self.graph.channels().iter().zip(ids).filter_map(|(channel, id)| {
            let target = other.channel_id(&channel.name)?;
            Some(Write { channel: target, op: op(self.state.get(id)?.clone()) })
        });
        Update { writes: shared.collect(), ..Update::default() }
    }

    /// Keeps a write for the enclosing graph, if it may want it.
    pub(super) fn pass_up(&mut self, write: &Write<V>) {
        if !self.graph.habits().full_output && !matches!(write.op, Op::Reset) {
            self.passed_up.push(write.clone());
        }
    }
}
