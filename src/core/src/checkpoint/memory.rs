//! What the commits of a run add up to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::graph_snapshot::misfit;
use super::{
    CallJournal, Commit, CommitChange, GraphSnapshot, NestedLevel, SuperstepDelta, TaskKey,
    WriteSource,
};
use crate::budget::Spent;
use crate::command::Update;
use crate::effect::{Ending, Question};
use crate::fault::Fault;
use crate::graph::{Graph, NodeId, NodeWork};
use crate::seed::Seed;
use crate::value::Value;

/// All that a run needs to go on: its graph between two supersteps, the nested
/// graphs at work in the superstep that was open, and what its tasks had come to.
#[derive(Clone, Debug)]
pub struct RecoveredRun<V> {
    /// The run's own graph.
    pub root: GraphSnapshot<V>,
    /// Nested graphs at work, by key.
    pub nested: BTreeMap<u64, RecoveredGraph<V>>,
    /// Tasks that ended or asked while their superstep went on, by key.
    pub tasks: BTreeMap<u64, TaskSnapshot<V>>,
    /// What the run has spent.
    pub spent: Spent,
    /// How many events it has had.
    pub events: u64,
    /// How it ended, if it has.
    pub ended: Option<Result<Ending, Fault>>,
}

/// A nested graph at work.
#[derive(Clone, Debug)]
pub struct RecoveredGraph<V> {
    /// Where; the last level is its own.
    pub within: Vec<NestedLevel>,
    /// The graph between two supersteps.
    pub graph_snapshot: GraphSnapshot<V>,
}

/// What a task had come to.
#[derive(Clone, Debug)]
pub struct TaskSnapshot<V> {
    /// The nested graph it belongs to, outermost first.
    pub within: Vec<NestedLevel>,
    /// Which task it is.
    pub task: TaskKey,
    /// The answers it was given, in the order it asked.
    pub answers: Vec<V>,
    /// The answers to questions of runs that it has started, by the ids of the questions.
    pub relayed: Vec<(String, V)>,
    /// What it waits for or has answered; nothing if it has begun again.
    pub state: Option<TaskSnapshotState<V>>,
    /// What is known of the calls it has made.
    pub journal: Option<Box<CallJournal<V>>>,
}

/// What a task waits for, or has answered.
#[derive(Clone, Debug)]
pub enum TaskSnapshotState<V> {
    /// It is done, not merged yet.
    Finished(Update<V>),
    /// It asks.
    Asked(Box<Question<V>>),
}

impl<V: Value> RecoveredRun<V> {
    /// Nothing has happened yet.
    pub fn new(graph: &Graph<V>) -> Self {
        Self::at(GraphSnapshot::new(graph))
    }

    /// Nothing has happened since.
    pub const fn at(root: GraphSnapshot<V>) -> Self {
        Self {
            root,
            nested: BTreeMap::new(),
            tasks: BTreeMap::new(),
            spent: Spent::ZERO,
            events: 0,
            ended: None,
        }
    }

    /// Adds one more commit of a run of `graph`.
    ///
    /// # Errors
    /// A `State` fault if what was stored does not fit the graph.
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
                let kept = self.kept(within, task);
                kept.state = Some(TaskSnapshotState::Finished(update));
                kept.journal = None;
            }
            CommitChange::Asked(task, question) => {
                self.forget_attempt(&within, task);
                self.kept(within, task).state = Some(TaskSnapshotState::Asked(question));
            }
            CommitChange::Answered(task, value) => {
                self.resume_timers(&within);
                self.note_answer(&within, task.key, &value);
                let is_call = self.is_call(&within);
                let kept = self.kept(within, task);
                match kept.relays().filter(|_| !is_call) {
                    Some(id) => kept.relayed.push((id, value)),
                    None => kept.answers.push(value),
                }
                kept.state = None;
            }
            CommitChange::Called(task, attempt, made) => {
                let journal = &mut self.kept(within, task).journal;
                journal
                    .get_or_insert_with(|| Box::new(CallJournal::new(attempt)))
                    .note(attempt, *made);
            }
            CommitChange::Subrun(task, attempt, commit) => {
                let journal = &mut self.kept(within, task).journal;
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

    /// Another attempt of a nested graph begins from nothing.
    fn begin_attempt(&mut self, present: &NestedLevel) {
        let is_past =
            |level: &NestedLevel| level.key == present.key && level.attempt < present.attempt;
        self.nested.retain(|_, nested| !nested.within.iter().any(is_past));
        self.tasks.retain(|_, kept| !kept.within.iter().any(is_past));
    }

    /// What was asked about a call of an agent, and answered, holds for that attempt alone.
    fn forget_attempt(&mut self, within: &[NestedLevel], task: TaskKey) {
        let is_other = |kept: &TaskSnapshot<V>| kept.within != within;
        if self.is_call(within) && self.tasks.get(&task.key).is_some_and(is_other) {
            self.tasks.remove(&task.key);
        }
    }

    /// Whoever takes a failed run up wants another outcome: what failed is made
    /// again, and before an agent makes a call again, a person is asked again.
    fn fail(&mut self) {
        let Self { nested, tasks, .. } = self;
        tasks.retain(|_, kept| !is_call(nested, &kept.within));
        let journals = tasks.values_mut().filter_map(|kept| kept.journal.as_mut());
        journals.for_each(|journal| journal.fail());
    }

    /// Supersteps that are open count again when the run is taken up. Only
    /// those of the run's own graph come strictly in order: a call is stored
    /// while other commits wait.
    fn spend(&mut self, spent: Spent, within: &[NestedLevel], change: &CommitChange<V>) {
        self.spent = match change {
            CommitChange::Step(_) if within.is_empty() => spent,
            CommitChange::Step(delta) => {
                let supersteps =
                    self.spent.supersteps + u64::from(delta.source == WriteSource::Step);
                Spent { supersteps, ..self.spent.or_more(spent) }
            }
            _ => Spent { supersteps: self.spent.supersteps, ..self.spent.or_more(spent) },
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
            .filter_map(|kept| match &kept.state {
                Some(TaskSnapshotState::Asked(question)) => {
                    Some((kept.within.len(), kept.task.slot, &**question))
                }
                _ => None,
            })
            .collect();
        asking.sort_by_key(|&(depth, slot, _)| (depth, slot));
        asking.into_iter().map(|(_, _, question)| question).collect()
    }

    /// Whether there is nothing left to do but to wait for answers.
    pub fn is_paused(&self) -> bool {
        self.ended.is_none()
            && self.tasks.values().any(TaskSnapshot::asks)
            && self.rests(&self.root, None)
    }

    /// Whether every task of a graph's open superstep has ended, or asks.
    fn rests(&self, graph_snapshot: &GraphSnapshot<V>, unit: Option<u64>) -> bool {
        let key = |level: &NestedLevel| level.key;
        let settled = self
            .tasks
            .values()
            .filter(|kept| kept.state.is_some() && kept.within.last().map(key) == unit);
        let inner = self.nested.iter().filter(|(own, nested)| {
            let is_done = self.tasks.get(own).is_some_and(|kept| kept.state.is_some());
            let around = nested.within.iter().rev().nth(1).map(key);
            !is_done && around == unit && self.rests(&nested.graph_snapshot, Some(**own))
        });
        settled.count() + inner.count() + self.asleep(unit) == graph_snapshot.pending_work.tasks()
    }

    /// How many agents of a graph wait for a person to approve of their calls.
    fn asleep(&self, unit: Option<u64>) -> usize {
        let asking = self.tasks.values().filter(|kept| kept.asks() && self.is_call(&kept.within));
        let of_unit = asking.filter_map(|kept| match kept.within.as_slice() {
            [.., around, own] => Some((Some(around.key), own.key)),
            [own] => Some((None, own.key)),
            [] => None,
        });
        let agents: BTreeSet<_> = of_unit.filter(|(around, _)| *around == unit).collect();
        agents.len()
    }

    fn is_call(&self, within: &[NestedLevel]) -> bool {
        is_call(&self.nested, within)
    }

    /// An agent that was given an answer goes on; what else it asks, it asks again.
    fn resume_timers(&mut self, within: &[NestedLevel]) {
        if self.is_call(within) {
            let asking = self.tasks.values_mut().filter(|kept| kept.asks());
            asking.filter(|kept| kept.within == within).for_each(|kept| kept.state = None);
        }
    }

    /// What an agent's attempt was answered is known with what it has called.
    fn note_answer(&mut self, within: &[NestedLevel], call: u64, answer: &V) {
        let Some(level) = within.last().filter(|_| self.is_call(within)) else { return };
        let agent = self.tasks.get_mut(&level.key).and_then(|kept| kept.journal.as_mut());
        if let Some(journal) = agent.filter(|journal| journal.attempt == level.attempt) {
            journal.answer(call, answer.clone());
        }
    }

    fn kept(&mut self, within: Vec<NestedLevel>, task: TaskKey) -> &mut TaskSnapshot<V> {
        self.tasks.entry(task.key).or_insert_with(|| TaskSnapshot {
            within,
            task,
            answers: Vec::new(),
            relayed: Vec::new(),
            state: None,
            journal: None,
        })
    }

    /// A merged superstep is the end of whatever worked for its tasks.
    fn fold_step(
        &mut self,
        graph: &Arc<Graph<V>>,
        within: &[NestedLevel],
        delta: SuperstepDelta<V>,
    ) -> Result<(), Fault> {
        let unit = within.last().map(|level| level.key);
        let works_for = |levels: &[NestedLevel]| {
            unit.is_none_or(|unit| levels.iter().any(|level| level.key == unit))
        };
        self.tasks.retain(|_, kept| !works_for(&kept.within));
        self.nested.retain(|key, nested| Some(*key) == unit || !works_for(&nested.within));
        let Some(unit) = unit else { return self.root.apply(graph, delta) };
        let (inner, around) = graphs(graph, within)?;
        let fresh = || {
            let mut graph_snapshot = GraphSnapshot::new(inner);
            graph_snapshot.outward.name(inner, around);
            RecoveredGraph { within: within.to_vec(), graph_snapshot }
        };
        let nested = self.nested.entry(unit).or_insert_with(fresh);
        if delta.source == WriteSource::Begin {
            *nested = fresh();
        }
        nested.graph_snapshot.apply(inner, delta)
    }
}

impl<V> TaskSnapshot<V> {
    /// The id of the question, if it is one of a run that the task has started.
    fn relays(&self) -> Option<String> {
        let Some(TaskSnapshotState::Asked(question)) = &self.state else { return None };
        let own = Question::<V>::own_id(Seed::new(self.task.key), self.answers.len());
        (question.id != own).then(|| question.id.clone())
    }

    const fn asks(&self) -> bool {
        matches!(self.state, Some(TaskSnapshotState::Asked(_)))
    }
}

/// Whether what happened there is about a call of an agent: no graph works there.
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
        _ => Err(misfit(format!("the node is no nested graph: {}", graph.node_name(Some(node))))),
    }
}
