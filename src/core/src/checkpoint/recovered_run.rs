//! The state that the commits of a run add up to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::graph_snapshot::misfit;
use super::{
    CallJournal, Commit, CommitChange, GraphSnapshot, NestedLevel, SuperstepDelta, TaskKey,
    WriteSource,
};
use crate::budget::BudgetUsage;
use crate::command::Update;
use crate::effect::{Ending, Question};
use crate::fault::Fault;
use crate::graph::{Graph, NodeId, NodeWork};
use crate::seed::Seed;
use crate::value::Value;

/// Everything a run needs to continue: its graph between two supersteps, the nested graphs at work
/// in the open superstep, and the progress of its tasks.
#[derive(Clone, Debug)]
pub struct RecoveredRun<V> {
    /// The run's own graph.
    pub root: GraphSnapshot<V>,
    /// Nested graphs at work, by key.
    pub nested: BTreeMap<u64, RecoveredGraph<V>>,
    /// Tasks that have ended or asked a question in the open superstep, by key.
    pub tasks: BTreeMap<u64, TaskSnapshot<V>>,
    /// What the run has spent.
    pub spent: BudgetUsage,
    /// The number of its events.
    pub events: u64,
    /// How it ended, if it has.
    pub ended: Option<Result<Ending, Fault>>,
    /// Why its open superstep cannot be continued: the graph lacks a part of it.
    pub lost: Option<Fault>,
}

/// A nested graph at work.
#[derive(Clone, Debug)]
pub struct RecoveredGraph<V> {
    /// Its nesting; the last level is its own.
    pub within: Vec<NestedLevel>,
    /// The graph between two supersteps.
    pub graph_snapshot: GraphSnapshot<V>,
}

/// The progress of a task.
#[derive(Clone, Debug)]
pub struct TaskSnapshot<V> {
    /// The nested graph it belongs to, outermost first.
    pub within: Vec<NestedLevel>,
    /// The task.
    pub task: TaskKey,
    /// The answers to its questions, in order.
    pub answers: Vec<V>,
    /// The answers to questions of its subruns, by question id.
    pub relayed: Vec<(String, V)>,
    /// The question of a call of an agent that continues because another one is answered.
    pub waiting: Option<Box<Question<V>>>,
    /// Its state; `None` if it has to run again.
    pub state: Option<TaskSnapshotState<V>>,
    /// Its calls so far.
    pub journal: Option<Box<CallJournal<V>>>,
}

/// The state of a task in an open superstep.
#[derive(Clone, Debug)]
pub enum TaskSnapshotState<V> {
    /// It is done; its writes are not merged yet.
    Finished(Update<V>),
    /// It asks a question.
    Asked(Box<Question<V>>),
}

impl<V: Value> RecoveredRun<V> {
    /// A run before its first commit.
    pub fn new(graph: &Graph<V>) -> Self {
        Self::at(GraphSnapshot::new(graph))
    }

    /// A run between two supersteps.
    pub const fn at(root: GraphSnapshot<V>) -> Self {
        Self {
            root,
            nested: BTreeMap::new(),
            tasks: BTreeMap::new(),
            spent: BudgetUsage::ZERO,
            events: 0,
            ended: None,
            lost: None,
        }
    }

    /// Applies the next commit of a run of `graph`.
    ///
    /// # Errors
    /// A `State` fault if the stored writes do not fit the graph.
    pub fn fold(&mut self, graph: &Arc<Graph<V>>, commit: Commit<V>) -> Result<(), Fault> {
        let Commit { within, spent, events, change, .. } = commit;
        for level in &within {
            self.begin_attempt(level);
        }
        self.spend(spent, &within, &change);
        self.count(events, &within, &change);
        self.ended = None;
        match change {
            CommitChange::Step(delta) => self.fold_step(graph, &within, delta)?,
            CommitChange::Finished(task, update) => {
                let snapshot = self.snapshot_of(within, task);
                snapshot.state = Some(TaskSnapshotState::Finished(update));
                snapshot.journal = None;
            }
            CommitChange::Asked(task, question) => {
                self.forget_attempt(&within, task);
                self.snapshot_of(within, task).state = Some(TaskSnapshotState::Asked(question));
            }
            CommitChange::Answered(task, value) => {
                self.resume_timers(&within);
                self.note_answer(&within, task.key, &value);
                let is_call = self.is_call(&within);
                let snapshot = self.snapshot_of(within, task);
                match snapshot.relays().filter(|_| !is_call) {
                    Some(id) => snapshot.relayed.push((id, value)),
                    None => snapshot.answers.push(value),
                }
                snapshot.state = None;
                snapshot.waiting = None;
            }
            CommitChange::Called(task, attempt, made) => {
                let journal = &mut self.snapshot_of(within, task).journal;
                journal
                    .get_or_insert_with(|| Box::new(CallJournal::new(attempt)))
                    .note(attempt, *made);
            }
            CommitChange::Subrun(task, attempt, commit) => {
                let journal = &mut self.snapshot_of(within, task).journal;
                let journal = journal.get_or_insert_with(|| Box::new(CallJournal::new(attempt)));
                journal.note_subrun(attempt, *commit);
            }
            CommitChange::Ended(ended) => {
                if ended.is_err() {
                    self.fail();
                }
                self.ended = Some(ended);
            }
        }
        Ok(())
    }

    /// A new attempt of a nested graph drops what is recorded of earlier ones.
    fn begin_attempt(&mut self, present: &NestedLevel) {
        let is_past =
            |level: &NestedLevel| level.key == present.key && level.attempt < present.attempt;
        self.nested.retain(|_, nested| !nested.within.iter().any(is_past));
        self.tasks.retain(|_, snapshot| !snapshot.within.iter().any(is_past));
    }

    /// Questions about an agent's calls, and their answers, hold for one attempt only.
    fn forget_attempt(&mut self, within: &[NestedLevel], task: TaskKey) {
        let is_other = |snapshot: &TaskSnapshot<V>| snapshot.within != within;
        if self.is_call(within) && self.tasks.get(&task.key).is_some_and(is_other) {
            self.tasks.remove(&task.key);
        }
    }

    /// Resuming a failed run is meant to give another outcome: failed calls are made again, and an
    /// agent's calls need approval again.
    fn fail(&mut self) {
        let Self { nested, tasks, .. } = self;
        tasks.retain(|_, snapshot| !is_call(nested, &snapshot.within));
        let journals = tasks.values_mut().filter_map(|snapshot| snapshot.journal.as_mut());
        journals.for_each(|journal| journal.fail());
    }

    /// Open supersteps count again when the run is resumed. Only supersteps of the run's own graph
    /// arrive strictly in order: calls are stored while other commits wait.
    fn spend(&mut self, spent: BudgetUsage, within: &[NestedLevel], change: &CommitChange<V>) {
        self.spent = match change {
            CommitChange::Step(_) if within.is_empty() => spent,
            CommitChange::Step(delta) => {
                let supersteps =
                    self.spent.supersteps + u64::from(delta.source == WriteSource::Step);
                BudgetUsage { supersteps, ..self.spent.max(spent) }
            }
            _ => BudgetUsage { supersteps: self.spent.supersteps, ..self.spent.max(spent) },
        };
    }

    fn count(&mut self, events: u64, within: &[NestedLevel], change: &CommitChange<V>) {
        let in_order = matches!(change, CommitChange::Step(_)) && within.is_empty();
        self.events = if in_order { events } else { self.events.max(events) };
    }

    /// The open questions, in the order of their tasks.
    pub fn questions(&self) -> Vec<&Question<V>> {
        let mut asking: Vec<_> = self
            .tasks
            .values()
            .filter_map(|snapshot| match &snapshot.state {
                Some(TaskSnapshotState::Asked(question)) => {
                    Some((snapshot.within.len(), snapshot.task.slot, &**question))
                }
                _ => None,
            })
            .collect();
        asking.sort_by_key(|&(depth, slot, _)| (depth, slot));
        asking.into_iter().map(|(_, _, question)| question).collect()
    }

    /// Whether the run only waits for answers.
    pub fn is_paused(&self) -> bool {
        self.ended.is_none()
            && self.tasks.values().any(TaskSnapshot::asks)
            && self.rests(&self.root, None)
    }

    /// Whether every task of a graph's open superstep has ended, or waits for an answer.
    fn rests(&self, graph_snapshot: &GraphSnapshot<V>, scope: Option<u64>) -> bool {
        let key = |level: &NestedLevel| level.key;
        let settled = self.tasks.values().filter(|snapshot| {
            snapshot.state.is_some() && snapshot.within.last().map(key) == scope
        });
        let inner = self.nested.iter().filter(|(own, nested)| {
            let is_done = self.tasks.get(own).is_some_and(|snapshot| snapshot.state.is_some());
            let around = nested.within.iter().rev().nth(1).map(key);
            !is_done && around == scope && self.rests(&nested.graph_snapshot, Some(**own))
        });
        settled.count() + inner.count() + self.asleep(scope) == graph_snapshot.pending_work.tasks()
    }

    /// The number of agents of a graph that wait for a person's approval.
    fn asleep(&self, scope: Option<u64>) -> usize {
        let asking = self
            .tasks
            .values()
            .filter(|snapshot| snapshot.asks() && self.is_call(&snapshot.within));
        let of_scope = asking.filter_map(|snapshot| match snapshot.within.as_slice() {
            [.., around, own] => Some((Some(around.key), own.key)),
            [own] => Some((None, own.key)),
            [] => None,
        });
        let agents: BTreeSet<_> = of_scope.filter(|(around, _)| *around == scope).collect();
        agents.len()
    }

    fn is_call(&self, within: &[NestedLevel]) -> bool {
        is_call(&self.nested, within)
    }

    /// An agent with a new answer continues, and asks its other questions again.
    fn resume_timers(&mut self, within: &[NestedLevel]) {
        if self.is_call(within) {
            let asking = self.tasks.values_mut().filter(|snapshot| snapshot.asks());
            for snapshot in asking.filter(|snapshot| snapshot.within == within) {
                if let Some(TaskSnapshotState::Asked(question)) = snapshot.state.take() {
                    snapshot.waiting = Some(question);
                }
            }
        }
    }

    /// Records the answer in the journal of the agent's attempt.
    fn note_answer(&mut self, within: &[NestedLevel], call: u64, answer: &V) {
        let Some(level) = within.last().filter(|_| self.is_call(within)) else { return };
        let agent = self.tasks.get_mut(&level.key).and_then(|snapshot| snapshot.journal.as_mut());
        if let Some(journal) = agent.filter(|journal| journal.attempt == level.attempt) {
            journal.answer(call, answer.clone());
        }
    }

    fn snapshot_of(&mut self, within: Vec<NestedLevel>, task: TaskKey) -> &mut TaskSnapshot<V> {
        self.tasks.entry(task.key).or_insert_with(|| TaskSnapshot {
            within,
            task,
            answers: Vec::new(),
            relayed: Vec::new(),
            waiting: None,
            state: None,
            journal: None,
        })
    }

    /// Merging a superstep ends all scopes and tasks below it.
    fn fold_step(
        &mut self,
        graph: &Arc<Graph<V>>,
        within: &[NestedLevel],
        delta: SuperstepDelta<V>,
    ) -> Result<(), Fault> {
        let scope = within.last().map(|level| level.key);
        let works_for = |levels: &[NestedLevel]| {
            scope.is_none_or(|scope| levels.iter().any(|level| level.key == scope))
        };
        self.tasks.retain(|_, snapshot| !works_for(&snapshot.within));
        self.nested.retain(|key, nested| Some(*key) == scope || !works_for(&nested.within));
        let Some(scope) = scope else {
            self.lost = None;
            return self.root.apply(graph, delta);
        };
        let (inner, around) = graphs(graph, within)?;
        let fresh = || {
            let mut graph_snapshot = GraphSnapshot::new(inner);
            graph_snapshot.outward.name(inner, around);
            RecoveredGraph { within: within.to_vec(), graph_snapshot }
        };
        let nested = self.nested.entry(scope).or_insert_with(fresh);
        if delta.source == WriteSource::Begin {
            *nested = fresh();
        }
        nested.graph_snapshot.apply(inner, delta)
    }
}

impl<V> TaskSnapshot<V> {
    /// The id of the question, if it comes from a subrun.
    fn relays(&self) -> Option<String> {
        let Some(TaskSnapshotState::Asked(question)) = &self.state else { return None };
        let own = Question::<V>::own_id(Seed::new(self.task.key), self.answers.len());
        (question.id != own).then(|| question.id.clone())
    }

    const fn asks(&self) -> bool {
        matches!(self.state, Some(TaskSnapshotState::Asked(_)))
    }
}

/// Whether the innermost level is an agent loop and not a graph.
fn is_call<V>(nested: &BTreeMap<u64, RecoveredGraph<V>>, within: &[NestedLevel]) -> bool {
    within.last().is_some_and(|level| !nested.contains_key(&level.key))
}

type Shared<V> = Arc<Graph<V>>;

/// A nested graph and the one around it.
fn graphs<'a, V>(
    graph: &'a Shared<V>,
    within: &[NestedLevel],
) -> Result<(&'a Shared<V>, &'a Shared<V>), Fault> {
    let mut found = (graph, graph);
    for level in within {
        found = (inner(found.0, level.node)?, found.0);
    }
    Ok(found)
}

fn inner<V>(graph: &Shared<V>, node: NodeId) -> Result<&Shared<V>, Fault> {
    match graph.node(node).map(|node| &node.work) {
        Some(NodeWork::Graph(inner)) => Ok(inner),
        _ => {
            Err(misfit(format!("the node is not a nested graph: {}", graph.node_name(Some(node)))))
        }
    }
}
