//! What the commits of a run add up to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::image::misfit;
use super::{Change, Commit, Delta, Image, Journal, Level, Source, TaskKey};
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
pub struct Memory<V> {
    /// The run's own graph.
    pub root: Image<V>,
    /// Nested graphs at work, by key.
    pub nested: BTreeMap<u64, Nested<V>>,
    /// Tasks that ended or asked while their superstep went on, by key.
    pub tasks: BTreeMap<u64, Kept<V>>,
    /// What the run has spent.
    pub spent: Spent,
    /// How many events it has had.
    pub events: u64,
    /// How it ended, if it has.
    pub ended: Option<Result<Ending, Fault>>,
}

/// A nested graph at work.
#[derive(Clone, Debug)]
pub struct Nested<V> {
    /// Where; the last level is its own.
    pub within: Vec<Level>,
    /// The graph between two supersteps.
    pub image: Image<V>,
}

/// What a task had come to.
#[derive(Clone, Debug)]
pub struct Kept<V> {
    /// The nested graph it belongs to, outermost first.
    pub within: Vec<Level>,
    /// Which task it is.
    pub task: TaskKey,
    /// The answers it was given, in the order it asked.
    pub answers: Vec<V>,
    /// The answers to questions of runs that it has started, by the ids of the questions.
    pub relayed: Vec<(String, V)>,
    /// What it waits for or has answered; nothing if it has begun again.
    pub state: Option<KeptState<V>>,
    /// What is known of the calls it has made.
    pub journal: Option<Box<Journal<V>>>,
}

/// What a task waits for, or has answered.
#[derive(Clone, Debug)]
pub enum KeptState<V> {
    /// It is done, not merged yet.
    Finished(Update<V>),
    /// It asks.
    Asked(Box<Question<V>>),
}

impl<V: Value> Memory<V> {
    /// Nothing has happened yet.
    pub fn new(graph: &Graph<V>) -> Self {
        Self::at(Image::new(graph))
    }

    /// Nothing has happened since.
    pub const fn at(root: Image<V>) -> Self {
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
            Change::Step(delta) => self.fold_step(graph, &within, delta)?,
            Change::Finished(task, update) => {
                let kept = self.kept(within, task);
                kept.state = Some(KeptState::Finished(update));
                kept.journal = None;
            }
            Change::Asked(task, question) => {
                self.forget_attempt(&within, task);
                self.kept(within, task).state = Some(KeptState::Asked(question));
            }
            Change::Answered(task, value) => {
                self.rouse(&within);
                self.note_answer(&within, task.key, &value);
                let is_call = self.is_call(&within);
                let kept = self.kept(within, task);
                match kept.relays().filter(|_| !is_call) {
                    Some(id) => kept.relayed.push((id, value)),
                    None => kept.answers.push(value),
                }
                kept.state = None;
            }
            Change::Called(task, attempt, made) => {
                let journal = &mut self.kept(within, task).journal;
                journal.get_or_insert_with(|| Box::new(Journal::new(attempt))).note(attempt, *made);
            }
            Change::Subrun(task, attempt, commit) => {
                let journal = &mut self.kept(within, task).journal;
                let journal = journal.get_or_insert_with(|| Box::new(Journal::new(attempt)));
                journal.note_subrun(attempt, *commit);
            }
            Change::Ended(ended) => {
                if ended.is_err() {
                    self.fail();
                }
                self.ended = Some(ended);
            }
        }
        Ok(())
    }

    /// Another attempt of a nested graph begins from nothing.
    fn begin_attempt(&mut self, present: &Level) {
        let is_past = |level: &Level| level.key == present.key && level.attempt < present.attempt;
        self.nested.retain(|_, nested| !nested.within.iter().any(is_past));
        self.tasks.retain(|_, kept| !kept.within.iter().any(is_past));
    }

    /// What was asked about a call of an agent, and answered, holds for that attempt alone.
    fn forget_attempt(&mut self, within: &[Level], task: TaskKey) {
        let is_other = |kept: &Kept<V>| kept.within != within;
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
    fn spend(&mut self, spent: Spent, within: &[Level], change: &Change<V>) {
        self.spent = match change {
            Change::Step(_) if within.is_empty() => spent,
            Change::Step(delta) => {
                let supersteps = self.spent.supersteps + u64::from(delta.source == Source::Step);
                Spent { supersteps, ..self.spent.or_more(spent) }
            }
            _ => Spent { supersteps: self.spent.supersteps, ..self.spent.or_more(spent) },
        };
    }

    fn count(&mut self, events: u64, within: &[Level], change: &Change<V>) {
        let in_order = matches!(change, Change::Step(_)) && within.is_empty();
        self.events = if in_order { events } else { self.events.max(events) };
    }

    /// The open questions, in the order of their tasks.
    pub fn questions(&self) -> Vec<&Question<V>> {
        let mut asking: Vec<_> = self
            .tasks
            .values()
            .filter_map(|kept| match &kept.state {
                Some(KeptState::Asked(question)) => {
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
        self.ended.is_none() && self.tasks.values().any(Kept::asks) && self.rests(&self.root, None)
    }

    /// Whether every task of a graph's open superstep has ended, or asks.
    fn rests(&self, image: &Image<V>, unit: Option<u64>) -> bool {
        let key = |level: &Level| level.key;
        let settled = self
            .tasks
            .values()
            .filter(|kept| kept.state.is_some() && kept.within.last().map(key) == unit);
        let inner = self.nested.iter().filter(|(own, nested)| {
            let is_done = self.tasks.get(own).is_some_and(|kept| kept.state.is_some());
            let around = nested.within.iter().rev().nth(1).map(key);
            !is_done && around == unit && self.rests(&nested.image, Some(**own))
        });
        settled.count() + inner.count() + self.asleep(unit) == image.outlook.tasks()
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

    fn is_call(&self, within: &[Level]) -> bool {
        is_call(&self.nested, within)
    }

    /// An agent that was given an answer goes on; what else it asks, it asks again.
    fn rouse(&mut self, within: &[Level]) {
        if self.is_call(within) {
            let asking = self.tasks.values_mut().filter(|kept| kept.asks());
            asking.filter(|kept| kept.within == within).for_each(|kept| kept.state = None);
        }
    }

    /// What an agent's attempt was answered is known with what it has called.
    fn note_answer(&mut self, within: &[Level], call: u64, answer: &V) {
        let Some(level) = within.last().filter(|_| self.is_call(within)) else { return };
        let agent = self.tasks.get_mut(&level.key).and_then(|kept| kept.journal.as_mut());
        if let Some(journal) = agent.filter(|journal| journal.attempt == level.attempt) {
            journal.answer(call, answer.clone());
        }
    }

    fn kept(&mut self, within: Vec<Level>, task: TaskKey) -> &mut Kept<V> {
        self.tasks.entry(task.key).or_insert_with(|| Kept {
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
        within: &[Level],
        delta: Delta<V>,
    ) -> Result<(), Fault> {
        let unit = within.last().map(|level| level.key);
        let works_for =
            |levels: &[Level]| unit.is_none_or(|unit| levels.iter().any(|level| level.key == unit));
        self.tasks.retain(|_, kept| !works_for(&kept.within));
        self.nested.retain(|key, nested| Some(*key) == unit || !works_for(&nested.within));
        let Some(unit) = unit else { return self.root.apply(graph, delta) };
        let (inner, around) = graphs(graph, within)?;
        let fresh = || {
            let mut image = Image::new(inner);
            image.outward.name(inner, around);
            Nested { within: within.to_vec(), image }
        };
        let nested = self.nested.entry(unit).or_insert_with(fresh);
        if delta.source == Source::Begin {
            *nested = fresh();
        }
        nested.image.apply(inner, delta)
    }
}

impl<V> Kept<V> {
    /// The id of the question, if it is one of a run that the task has started.
    fn relays(&self) -> Option<String> {
        let Some(KeptState::Asked(question)) = &self.state else { return None };
        let own = Question::<V>::own_id(Seed::new(self.task.key), self.answers.len());
        (question.id != own).then(|| question.id.clone())
    }

    const fn asks(&self) -> bool {
        matches!(self.state, Some(KeptState::Asked(_)))
    }
}

/// Whether what happened there is about a call of an agent: no graph works there.
fn is_call<V>(nested: &BTreeMap<u64, Nested<V>>, within: &[Level]) -> bool {
    within.last().is_some_and(|level| !nested.contains_key(&level.key))
}

type Shared<V> = Arc<Graph<V>>;

/// A nested graph and the one around it.
fn graphs<'a, V>(
    graph: &'a Shared<V>,
    within: &[Level],
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
