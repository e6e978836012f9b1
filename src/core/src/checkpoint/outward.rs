//! The writes of a nested graph for the graph around it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::channel::{ChannelId, Reducer, Write, WriteOp};
use crate::graph::Graph;
use crate::state::State;
use crate::value::Value;

/// The writes of a nested graph to channels that it shares with the enclosing graph.
#[derive(Clone, Debug)]
pub struct OutwardWrites<V> {
    /// By channel: the enclosing graph's channel of that name.
    pub(crate) names: Arc<[Option<ChannelId>]>,
    /// Parts that were added, as writes to the enclosing graph.
    pub parts: Vec<Write<V>>,
    /// Its channels that were set as a whole, and whether their reducer is bypassed.
    pub whole: Vec<(ChannelId, bool)>,
}

impl<V> Default for OutwardWrites<V> {
    fn default() -> Self {
        Self { names: Arc::default(), parts: Vec::new(), whole: Vec::new() }
    }
}

impl<V: Value> OutwardWrites<V> {
    /// Resolves the shared channels by name. A graph with full output does not record its writes.
    pub(crate) fn name(&mut self, nested: &Graph<V>, around: &Graph<V>) {
        if !nested.semantics().full_output {
            let names = nested.channels().iter().map(|channel| around.channel_id(&channel.name));
            self.names = names.collect();
        }
    }

    /// Records a write for the enclosing graph, if the channel is shared.
    pub(crate) fn keep(&mut self, write: &Write<V>, rule: &Reducer) {
        let Some(Some(outer)) = self.names.get(write.channel.0 as usize).copied() else { return };
        match &write.op {
            WriteOp::Merge(_) if matches!(rule, Reducer::Set | Reducer::Last | Reducer::Once) => {
                if self.is_part(write.channel) {
                    // Parts of a reducer that the channel had earlier are in its value.
                    self.parts.retain(|part| part.channel != outer || part.op.is_reset());
                    self.whole.push((write.channel, false));
                }
            }
            WriteOp::Merge(new) if self.is_part(write.channel) => {
                self.parts.push(Write::merge(outer, new.clone()));
            }
            WriteOp::Merge(_) => {}
            WriteOp::Replace(_) => {
                self.forget(write.channel, outer);
                self.whole.push((write.channel, true));
            }
            WriteOp::Reset => {
                self.forget(write.channel, outer);
                self.parts.push(Write { channel: outer, op: WriteOp::Reset });
            }
        }
    }

    fn is_part(&self, channel: ChannelId) -> bool {
        self.whole.iter().all(|(whole, _)| *whole != channel)
    }

    fn forget(&mut self, own: ChannelId, outer: ChannelId) {
        self.whole.retain(|(channel, _)| *channel != own);
        self.parts.retain(|part| part.channel != outer);
    }

    /// Takes everything, as writes to the enclosing graph.
    pub(crate) fn take(&mut self, state: &State<V>) -> SmallVec<[Write<V>; 2]> {
        let mut writes = SmallVec::from_vec(std::mem::take(&mut self.parts));
        for (channel, replaces) in std::mem::take(&mut self.whole) {
            let outer = self.names.get(channel.0 as usize).copied().flatten();
            let (Some(outer), Some(value)) = (outer, state.get(channel).cloned()) else { continue };
            let op = if replaces { WriteOp::Replace(value) } else { WriteOp::Merge(value) };
            writes.push(Write { channel: outer, op });
        }
        writes
    }
}
