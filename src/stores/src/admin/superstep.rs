//! The open superstep of a run, derived from its entries.

use std::collections::{BTreeMap, BTreeSet};

use super::status::OpenQuestion;
use crate::codec::{ByteReader, CommitEvent, CommitSummary};

/// The tasks since the last superstep of the run's own graph.
#[derive(Debug, Default)]
pub(super) struct Superstep {
    /// Active graphs, by the key of the task they run for; `None` is the run's own graph.
    graphs: BTreeMap<Option<u64>, ActiveGraph>,
    /// Tasks that are done or ask, by key.
    tasks: BTreeMap<u64, SettledTask>,
}

#[derive(Debug)]
struct ActiveGraph {
    within: Vec<u64>,
    /// The number of tasks in its open superstep.
    tasks: usize,
}

#[derive(Debug)]
struct SettledTask {
    within: Vec<u64>,
    /// The question of the task and its slot in the superstep.
    asks: Option<(u64, OpenQuestion)>,
}

impl Superstep {
    /// Applies the summary of a commit.
    pub(super) fn add(&mut self, summary: CommitSummary<'_>) {
        let CommitSummary { within, note, .. } = summary;
        match note {
            CommitEvent::Checkpoint { next, .. } => self.merged(within, next.len()),
            CommitEvent::Finished(task) => {
                self.tasks.insert(task, SettledTask { within, asks: None });
            }
            CommitEvent::Asked { task, slot, id, path, value } => {
                let path = path.into_iter().map(str::to_owned).collect();
                let asking = OpenQuestion { id: id.to_owned(), path, value: value.to_vec() };
                let asks = Some((slot, asking));
                self.tasks.insert(task, SettledTask { within, asks });
            }
            CommitEvent::Answered(task) => {
                self.tasks.remove(&task);
                if self.is_call(&within) {
                    // The agent continues; it asks its other questions again.
                    self.tasks.retain(|_, other| other.within != within);
                }
            }
            CommitEvent::Ended(Err(_)) => self.fail(),
            CommitEvent::Ended(Ok(_)) | CommitEvent::Other => {}
        }
    }

    /// A failed run that is resumed asks again about an agent's calls.
    fn fail(&mut self) {
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.retain(|_, task| !self.is_call(&task.within));
        self.tasks = tasks;
    }

    /// Whether the run waits only for answers: every task is done or asks.
    pub(super) fn is_paused(&self) -> bool {
        self.tasks.values().any(|task| task.asks.is_some())
            && self.is_at_rest(None, ByteReader::DEPTH)
    }

    /// The open questions in the order of their tasks.
    pub(super) fn into_asking(self) -> Vec<OpenQuestion> {
        let asked =
            |task: SettledTask| task.asks.map(|(slot, asks)| (task.within.len(), slot, asks));
        let mut asking: Vec<_> = self.tasks.into_values().filter_map(asked).collect();
        asking.sort_by_key(|(depth, slot, _)| (*depth, *slot));
        asking.into_iter().map(|(_, _, asks)| asks).collect()
    }

    /// A merged superstep ends everything that ran for its tasks.
    fn merged(&mut self, within: Vec<u64>, tasks: usize) {
        let graph = within.last().copied();
        let is_over = |levels: &[u64]| graph.is_none_or(|graph| levels.contains(&graph));
        self.tasks.retain(|_, task| !is_over(&task.within));
        self.graphs.retain(|_, other| !is_over(&other.within));
        self.graphs.insert(graph, ActiveGraph { within, tasks });
    }

    /// Whether every task in the open superstep of a graph is done or asks.
    fn is_at_rest(&self, graph: Option<u64>, depth: usize) -> bool {
        let found = self.graphs.get(&graph).filter(|_| depth > 0);
        let Some(found) = found else { return false };
        let is_own = |within: &[u64]| within.last().copied() == graph;
        let settled = self.tasks.values().filter(|task| is_own(&task.within)).count();
        let resting = self.graphs.iter().filter(|(key, inner)| {
            let around = inner.within.iter().rev().nth(1).copied();
            key.is_some_and(|key| !self.tasks.contains_key(&key))
                && around == graph
                && self.is_at_rest(**key, depth - 1)
        });
        settled + resting.count() + self.waiting_agents(graph) >= found.tasks
    }

    /// The number of agents in a graph that wait for the approval of their calls.
    fn waiting_agents(&self, graph: Option<u64>) -> usize {
        let asking = self.tasks.values().filter(|task| self.is_call(&task.within));
        let of_graph = asking.filter_map(|task| {
            let around = task.within.iter().rev().nth(1).copied();
            task.within.last().filter(|_| around == graph)
        });
        of_graph.collect::<BTreeSet<_>>().len()
    }

    /// Whether a commit is about a call of an agent: no graph is active at that level.
    fn is_call(&self, within: &[u64]) -> bool {
        within.last().is_some_and(|key| !self.graphs.contains_key(&Some(*key)))
    }
}
