//! One graph between two supersteps.

use super::{MergedWrites, OutwardWrites, PendingWork, SuperstepDelta, WriteSource};
use crate::channel::{ChannelId, Reducer, Write, WriteOp};
use crate::fault::{Fault, FaultCode};
use crate::graph::Graph;
use crate::state::State;
use crate::value::Value;

/// State and pending work of a graph between two supersteps.
#[derive(Clone, Debug)]
pub struct GraphSnapshot<V> {
    /// The values of its channels.
    pub state: State<V>,
    /// Supersteps so far.
    pub step: u64,
    /// The pending work after it.
    pub pending_work: PendingWork<V>,
    /// Its writes for the graph around it.
    pub outward: OutwardWrites<V>,
}

impl<V: Value> GraphSnapshot<V> {
    /// A graph before its first superstep.
    pub fn new(graph: &Graph<V>) -> Self {
        Self {
            state: State::new(graph),
            step: 0,
            pending_work: PendingWork::default(),
            outward: OutwardWrites::default(),
        }
    }

    /// Applies the delta of the next superstep.
    ///
    /// # Errors
    /// A `State` fault if the stored writes do not fit the graph.
    pub fn apply(&mut self, graph: &Graph<V>, delta: SuperstepDelta<V>) -> Result<(), Fault> {
        let from_tasks = matches!(delta.source, WriteSource::Step | WriteSource::Edit);
        for merged in delta.merges {
            let former = former_reducers(graph, &merged)?;
            let MergedWrites { reduced, writes, .. } = merged;
            self.check(graph, &former, &writes)?;
            let Self { state, outward, .. } = self;
            for write in writes.iter().filter(|write| matches!(write.op, WriteOp::Reset)) {
                let default = graph.channel(write.channel).and_then(|found| found.default.as_ref());
                state.put(write.channel, default.map(V::fresh_copy));
            }
            for (channel, value) in reduced {
                state.put(channel, Some(value));
            }
            let replaced = Vec::new();
            let mut merging = SuperstepMerge { graph, former: &former, state, outward, replaced };
            for write in writes {
                merging.take(write, from_tasks);
            }
        }
        self.step = delta.step;
        self.pending_work = delta.pending_work;
        self.state.clear_changes();
        Ok(())
    }

    /// Stored writes are untrusted, so they are checked before a reducer applies them.
    fn check(
        &self,
        graph: &Graph<V>,
        former: &FormerReducers,
        writes: &[Write<V>],
    ) -> Result<(), Fault> {
        for write in writes {
            let Some(channel) = graph.channel(write.channel) else {
                return Err(misfit(format!("no channel with the number: {}", write.channel.0)));
            };
            let rule = reducer(former, write.channel).unwrap_or(&channel.merge);
            if let WriteOp::Merge(new) = &write.op
                && !matches!(rule, Reducer::Foreign(_))
            {
                V::check(rule, self.state.get(write.channel), new).map_err(|problem| {
                    misfit(format!("a write to `{}` cannot be merged: {problem}", channel.name))
                })?;
            }
        }
        Ok(())
    }
}

/// The reducers that merged stored writes, where the graph has other ones now.
type FormerReducers = [(ChannelId, Reducer)];

fn reducer(former: &FormerReducers, channel: ChannelId) -> Option<&Reducer> {
    former.iter().find(|(written, _)| *written == channel).map(|(_, reducer)| reducer)
}

/// Earlier versions of antiphon have not stored which reducer merged a write, but only the results
/// of the host's.
fn former_reducers<V>(
    graph: &Graph<V>,
    merged: &MergedWrites<V>,
) -> Result<Vec<(ChannelId, Reducer)>, Fault> {
    let mut former = merged.former.clone();
    for write in merged.writes.iter().filter(|write| matches!(write.op, WriteOp::Merge(_))) {
        let Some(channel) = graph.channel(write.channel) else { continue };
        let has_result = merged.reduced.iter().any(|(reduced, _)| *reduced == write.channel);
        let rule = reducer(&former, write.channel).unwrap_or(&channel.merge);
        match (rule, has_result) {
            (Reducer::Foreign(_), false) => return Err(unnamed(&channel.name)),
            (Reducer::Foreign(_), true) | (_, false) => {}
            (_, true) => former.push((write.channel, Reducer::Foreign(0))),
        }
    }
    Ok(former)
}

/// Applies the writes of a superstep one after the other.
pub(crate) struct SuperstepMerge<'a, V> {
    pub(crate) graph: &'a Graph<V>,
    pub(crate) former: &'a FormerReducers,
    pub(crate) state: &'a mut State<V>,
    pub(crate) outward: &'a mut OutwardWrites<V>,
    /// Channels that were replaced; merges into them are dropped.
    pub(crate) replaced: Vec<ChannelId>,
}

impl<V: Value> SuperstepMerge<'_, V> {
    /// Applies one write, and records those of tasks for the graph around. The results of the
    /// host's reducers are in the state already.
    pub(crate) fn take(&mut self, write: Write<V>, from_task: bool) {
        let Some(channel) = self.graph.channel(write.channel) else { return };
        let rule = reducer(self.former, write.channel).unwrap_or(&channel.merge);
        if from_task {
            self.outward.keep(&write, rule);
        }
        match write.op {
            WriteOp::Replace(new) => {
                self.replaced.push(write.channel);
                self.state.put(write.channel, Some(new));
            }
            WriteOp::Merge(new) if !self.replaced.contains(&write.channel) => match rule {
                Reducer::Foreign(_) => {}
                Reducer::Set | Reducer::Last | Reducer::Once => {
                    self.state.put(write.channel, Some(new));
                }
                rule => self.state.change(write.channel, |old| Some(V::merge(rule, old, new))),
            },
            WriteOp::Merge(_) | WriteOp::Reset => {}
        }
    }
}

pub(super) fn misfit(problem: String) -> Fault {
    Fault::new(FaultCode::CheckpointMisfit, problem)
        .hint("resume with the graph that stored it, or start a new run")
}

fn unnamed(key: &str) -> Fault {
    let message = format!(
        "the key `{key}` has a function as its reducer now, and an earlier version of antiphon \
         stored writes to it that a built-in reducer merged, without naming it"
    );
    Fault::new(FaultCode::CheckpointMisfit, message)
        .with("key", key)
        .with("stored", "built-in")
        .with("declared", "function")
        .hint(
            "read the thread with the reducer that stored it, and start a new one with its values",
        )
}
