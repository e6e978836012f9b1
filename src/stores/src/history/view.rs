//! A checkpoint as its thread shows it: the tasks that follow it, its state and its end.

use std::sync::Arc;

use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::{RecoveredRun, TaskSnapshot, TaskSnapshotState};
use antiphon_core::command::Update;
use antiphon_core::effect::{Effect, Question};
use antiphon_core::graph::Graph;
use antiphon_core::rules::Rules;
use antiphon_core::run::{Options, Run};
use antiphon_core::value::Value;
use antiphon_core::{Fault, Seed};

use super::{CheckpointView, upcoming_nodes};
use crate::admin::{FAILED, ending_name, ending_reason};

/// A task of the superstep after a checkpoint.
#[derive(Clone, Debug)]
pub struct TaskView<'v, V> {
    /// The name of its node.
    pub name: String,
    /// Its id: 32 hexadecimal digits, the same whenever the same run comes to it.
    pub id: String,
    /// What it has written, if it is done and not merged yet.
    pub written: Option<&'v Update<V>>,
    /// The questions that it asks now, or, at a checkpoint that is not the last, has asked.
    pub questions: Vec<&'v Question<V>>,
    /// The fault that it has ended the run with.
    pub fault: Option<&'v Fault>,
}

impl<V: Value> CheckpointView<V> {
    /// The tasks of the next superstep, in their order. `is_last` says that the thread has no
    /// later checkpoint.
    pub fn tasks(&self, graph: &Graph<V>, is_last: bool) -> Vec<TaskView<'_, V>> {
        let (seed, step) = (self.seed(), self.graph_snapshot.step + 1);
        let nodes = upcoming_nodes(graph, &self.graph_snapshot).into_iter().zip(0_u32..);
        let task = |(node, slot)| {
            let (name, seed) = (graph.node_name(Some(node)).to_string(), seed.task(step, slot));
            let state = self.tasks.get(&seed.number()).and_then(|task| task.state.as_ref());
            TaskView {
                id: seed.stable_uuid(),
                written: match state {
                    Some(TaskSnapshotState::Finished(update)) => Some(update),
                    Some(TaskSnapshotState::Asked(_)) | None => None,
                },
                questions: if is_last {
                    self.open_questions(seed.number())
                } else {
                    let asked = self.asked.get(&seed.number()).map_or(&[][..], Vec::as_slice);
                    asked.iter().map(|(_, question)| question).collect()
                },
                fault: self.fault().filter(|fault| fault_node(fault) == Some(&name)),
                name,
            }
        };
        nodes.map(task).collect()
    }

    /// The channels that would change if the tasks that are done were merged now, with the
    /// values they would have. `recovered` is what the thread holds at its end.
    pub fn preview(
        &self,
        graph: &Arc<Graph<V>>,
        recovered: RecoveredRun<V>,
        rules: &mut impl Rules<V>,
    ) -> Vec<(ChannelId, V)> {
        if self.tasks.is_empty() {
            return Vec::new();
        }
        let options = Options { seed: self.seed(), ..Options::default() };
        let mut run = Run::resume(Arc::clone(graph), recovered, options, self.at);
        // The run lists its tasks, and none of them is started.
        let _: Effect<V> = run.step(self.at, rules);
        // A merge rule that fails fails again when the run is resumed, and is reported there.
        run.preview(rules).unwrap_or_default()
    }

    /// How the run ended there, if it did: `completed`, `budget`, `cancelled` or `failed`.
    pub fn outcome(&self) -> Option<&'static str> {
        let ended = self.ended.as_ref()?;
        Some(ended.as_ref().map_or(FAILED, ending_name))
    }

    /// Why it ended so; empty for a completed run.
    pub fn reason(&self) -> Option<&str> {
        let ended = self.ended.as_ref()?;
        Some(ended.as_ref().map_or_else(|fault| fault.message.as_str(), ending_reason))
    }

    /// What the run failed with there, if it did.
    pub fn fault(&self) -> Option<&Fault> {
        self.ended.as_ref()?.as_ref().err()
    }

    fn seed(&self) -> Seed {
        self.header.as_ref().map_or_else(Seed::default, |header| header.seed)
    }

    /// The questions of a task and of the graphs nested in it, outermost first.
    fn open_questions(&self, key: u64) -> Vec<&Question<V>> {
        let own = |task: &&TaskSnapshot<V>| {
            task.within.first().map_or(task.task.key, |level| level.key) == key
        };
        let mut open: Vec<_> = self.tasks.values().filter(own).collect();
        open.sort_by_key(|task| (task.within.len(), task.task.slot));
        let asked = open.into_iter().filter_map(|task| match &task.state {
            Some(TaskSnapshotState::Asked(question)) => Some(&**question),
            _ => None,
        });
        asked.collect()
    }
}

/// The node of the run's own graph that has failed, or whose nested graph has.
fn fault_node(fault: &Fault) -> Option<&str> {
    let within = fault.details.get("within");
    within.or_else(|| fault.details.get("node")).and_then(serde_json::Value::as_str)
}
