//! Scopes: the graphs and agent loops at work within a run. Each but the first works for a task of
//! another scope.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::agent::AgentScope;
use super::event_keys::written_keys;
use super::frame::{Frame, TaskRecord, TaskStatus};
use super::termination::Termination;
use crate::budget::Budget;
use crate::channel::Write;
use crate::command::Update;
use crate::effect::Ending;
use crate::event::{Event, EventFields, EventKind, Level};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::seed::Seed;
use crate::state::State;
use crate::task::TaskId;
use crate::time::{Time, earlier};
use crate::value::Value;

/// The scope and the slot of a task.
pub(super) type TaskIndex = (u32, u32);

#[derive(Debug)]
pub(super) struct Scope<V> {
    /// The task that it works for.
    pub(super) parent: Option<TaskIndex>,
    /// The nearest task around it that may limit it. Limits are found along these links, so that
    /// their cost does not grow with the depth of nesting.
    limits: Option<TaskIndex>,
    pub(super) seed: Seed,
    /// The number of its tasks that have not ended.
    pub(super) open: usize,
    /// Why it ends once they all have.
    pub(super) terminate: Option<Box<Termination<V>>>,
    pub(super) body: ScopeBody<V>,
}

#[derive(Debug)]
pub(super) enum ScopeBody<V> {
    Graph(Box<Frame<V>>),
    Agent(Box<AgentScope<V>>),
}

impl<V: Value> Scope<V> {
    pub(super) fn root(frame: Frame<V>, seed: Seed) -> Self {
        Self::new(None, None, seed, ScopeBody::Graph(Box::new(frame)))
    }

    /// A scope that works for the task `parent`.
    pub(super) fn new(
        parent: Option<TaskIndex>,
        limits: Option<TaskIndex>,
        seed: Seed,
        body: ScopeBody<V>,
    ) -> Self {
        Self { parent, limits, seed, open: 0, terminate: None, body }
    }

    /// The number of its slots.
    pub(super) fn slots(&self) -> u32 {
        let slots = match &self.body {
            ScopeBody::Graph(frame) => frame.records.len(),
            ScopeBody::Agent(agent) => agent.calls().len(),
        };
        u32::try_from(slots).unwrap_or(u32::MAX)
    }

    pub(super) fn task(&self, slot: u32) -> Option<&TaskRecord<V>> {
        match &self.body {
            ScopeBody::Graph(frame) => frame.records.get(slot as usize),
            ScopeBody::Agent(agent) => agent.calls().get(slot as usize).map(|call| &call.record),
        }
    }

    pub(super) fn task_mut(&mut self, slot: u32) -> Option<&mut TaskRecord<V>> {
        match &mut self.body {
            ScopeBody::Graph(frame) => frame.records.get_mut(slot as usize),
            ScopeBody::Agent(agent) => agent.task_mut(slot),
        }
    }

    /// Tracks which channels each superstep changes.
    pub(super) fn trace(&mut self) {
        if let ScopeBody::Graph(frame) = &mut self.body {
            frame.state.trace();
        }
    }

    /// An event about the scope itself.
    pub(super) fn event(&self, path: Vec<Arc<str>>, kind: EventKind, name: &str) -> Event {
        Event {
            seq: 0,
            at: Time::default(),
            path,
            kind,
            name: name.into(),
            data: EventFields::default(),
            level: Level::Info,
            span_id: span(self.seed),
            parent_span_id: None,
        }
    }
}

/// What the events of a superstep's tasks have in common.
#[derive(Debug)]
pub(super) struct TaskOrigin<'a> {
    pub(super) path: &'a [Arc<str>],
    pub(super) seed: Seed,
    pub(super) step: u64,
}

impl TaskOrigin<'_> {
    /// The name of a task in a path, and the seed of its ids.
    pub(super) fn task<V>(
        &self,
        graph: &Graph<V>,
        record: &TaskRecord<V>,
        slot: u32,
    ) -> (Arc<str>, Seed) {
        (record.name(graph), record.seed(self.seed, self.step, slot))
    }
}

/// All scopes of a run. Indices of ended scopes are reused.
#[derive(Debug)]
pub(super) struct Scopes<V> {
    list: Vec<Option<Scope<V>>>,
    free: Vec<u32>,
    /// An empty state, for a root that is no graph: there is none, but the types allow it.
    blank: OnceLock<Box<State<V>>>,
}

impl<V: Value> Scopes<V> {
    pub(super) fn new(root: Scope<V>) -> Self {
        Self { list: vec![Some(root)], free: Vec::new(), blank: OnceLock::new() }
    }

    pub(super) fn add(&mut self, scope: Scope<V>) -> u32 {
        if let Some(index) = self.free.pop()
            && let Some(vacant) = self.list.get_mut(index as usize)
        {
            *vacant = Some(scope);
            return index;
        }
        self.list.push(Some(scope));
        u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<Scope<V>> {
        let scope = self.list.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(scope)
    }

    pub(super) fn get(&self, index: u32) -> Option<&Scope<V>> {
        self.list.get(index as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Scope<V>> {
        self.list.get_mut(index as usize)?.as_mut()
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = u32> + use<V> {
        0..u32::try_from(self.list.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn is_agent(&self, index: u32) -> bool {
        matches!(self.get(index), Some(Scope { body: ScopeBody::Agent(_), .. }))
    }

    pub(super) fn frame(&self, index: u32) -> Option<&Frame<V>> {
        match &self.get(index)?.body {
            ScopeBody::Graph(frame) => Some(frame),
            ScopeBody::Agent(_) => None,
        }
    }

    pub(super) fn frame_mut(&mut self, index: u32) -> Option<&mut Frame<V>> {
        match &mut self.get_mut(index)?.body {
            ScopeBody::Graph(frame) => Some(frame),
            ScopeBody::Agent(_) => None,
        }
    }

    pub(super) fn agent_mut(&mut self, index: u32) -> Option<&mut AgentScope<V>> {
        match &mut self.get_mut(index)?.body {
            ScopeBody::Graph(_) => None,
            ScopeBody::Agent(agent) => Some(agent),
        }
    }

    pub(super) fn agent(&self, index: u32) -> Option<&AgentScope<V>> {
        match &self.get(index)?.body {
            ScopeBody::Graph(_) => None,
            ScopeBody::Agent(agent) => Some(agent),
        }
    }

    pub(super) fn record(&mut self, scope: u32, slot: u32) -> Option<&mut TaskRecord<V>> {
        self.frame_mut(scope)?.records.get_mut(slot as usize)
    }

    /// A task of a graph or an agent loop, which can be timed, cancelled and resolved.
    pub(super) fn task_mut(&mut self, scope: u32, slot: u32) -> Option<&mut TaskRecord<V>> {
        self.get_mut(scope)?.task_mut(slot)
    }

    /// The status of an attempt, if it is the current one of its task.
    pub(super) fn status(&self, id: TaskId) -> Option<&TaskStatus<V>> {
        let record = self.get(id.scope)?.task(id.slot)?;
        (record.serial == id.serial).then_some(&record.status)
    }

    /// The graph whose state a task of this scope sees.
    pub(super) fn graph(&self, index: u32) -> Option<&Arc<Graph<V>>> {
        match self.get(index)? {
            Scope { body: ScopeBody::Graph(frame), .. } => Some(&frame.graph),
            Scope { parent: Some((parent, _)), .. } => self.graph(*parent),
            Scope { parent: None, .. } => None,
        }
    }

    pub(super) fn root_state(&self) -> &State<V> {
        self.frame(0).map_or_else(|| &**self.blank.get_or_init(Box::default), |frame| &frame.state)
    }

    /// The nearest task that may limit a scope below this task: itself, or one around it.
    pub(super) fn limiting_task(&self, scope: u32, slot: u32) -> Option<TaskIndex> {
        let limits = self.frame(scope).is_none_or(|frame| frame.may_limit(slot));
        if limits { Some((scope, slot)) } else { self.get(scope)?.limits }
    }

    /// The tasks around a scope that may limit it, the innermost first.
    pub(super) fn limiting_tasks(&self, scope: u32) -> impl Iterator<Item = TaskIndex> {
        let next = |scope: u32| self.get(scope)?.limits;
        std::iter::successors(next(scope), move |(scope, _)| next(*scope))
    }

    /// A task and the tasks around it that may limit it, itself first.
    pub(super) fn lineage(&self, scope: u32, slot: u32) -> SmallVec<[TaskIndex; 4]> {
        std::iter::once((scope, slot)).chain(self.limiting_tasks(scope)).collect()
    }

    /// The earliest deadline of the tasks around a scope, without that of the run.
    pub(super) fn deadline_around(&self, scope: u32) -> Option<Time> {
        self.limiting_tasks(scope).fold(None, |earliest, (scope, slot)| {
            let record = self.frame(scope).and_then(|frame| frame.records.get(slot as usize));
            earlier(earliest, record.and_then(|record| record.deadline))
        })
    }

    /// The budgets around a task, the innermost first, without that of the run.
    pub(super) fn budgets(&self, scope: u32, slot: u32) -> impl Iterator<Item = &Budget> {
        std::iter::once((scope, slot))
            .chain(self.limiting_tasks(scope))
            .filter_map(|(scope, slot)| self.frame(scope)?.records.get(slot as usize)?.budget())
    }

    pub(super) fn charge(&mut self, scope: u32, slot: u32, charge: impl Fn(&mut Budget)) {
        for (scope, slot) in self.lineage(scope, slot) {
            let record = self.record(scope, slot);
            let extra = record.and_then(|record| record.extra.as_mut());
            if let Some(budget) = extra.and_then(|extra| extra.budget.as_mut()) {
                charge(budget);
            }
        }
    }

    /// Whether an attempt is the current one of its task.
    pub(super) fn is_present(&self, id: TaskId) -> bool {
        self.status(id).is_some()
    }

    pub(super) fn path(&self, scope: u32, slot: u32) -> Vec<Arc<str>> {
        let mut path = self.scope_path(scope);
        path.extend(self.task_name(scope, slot));
        path
    }

    /// The names of the nodes around a scope, outermost first.
    pub(super) fn scope_path(&self, scope: u32) -> Vec<Arc<str>> {
        let mut path = Vec::new();
        let mut at = scope;
        while let Some((parent, slot)) = self.get(at).and_then(|scope| scope.parent) {
            path.extend(self.task_name(parent, slot));
            at = parent;
        }
        path.reverse();
        path
    }

    fn task_name(&self, scope: u32, slot: u32) -> Option<Arc<str>> {
        let frame = self.frame(scope)?;
        Some(frame.records.get(slot as usize)?.name(&frame.graph))
    }

    /// An event about a task.
    pub(super) fn event(&self, scope: u32, slot: u32, kind: EventKind, level: Level) -> Event {
        let path = self.path(scope, slot);
        let parent = self.get(scope).map(|scope| span(scope.seed));
        Event {
            seq: 0,
            at: Time::default(),
            name: path.last().cloned().unwrap_or_else(|| "".into()),
            path,
            kind,
            data: EventFields::default(),
            level,
            span_id: span(self.task_seed(scope, slot)),
            parent_span_id: parent,
        }
    }

    pub(super) fn namespace(&self, scope: u32) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = scope;
        while let Some((parent, slot)) = self.get(at).and_then(|scope| scope.parent) {
            let node = self.frame(parent).and_then(|frame| {
                let record = frame.records.get(slot as usize)?;
                Some(frame.graph.node_name(Some(record.node)))
            });
            let id = self.task_seed(parent, slot).stable_uuid();
            names.push(format!("{}:{id}", node.as_deref().unwrap_or_default()));
            at = parent;
        }
        names.reverse();
        names
    }

    /// The seed of a task's ids: the same whenever the run is resumed or replayed.
    pub(super) fn task_seed(&self, scope: u32, slot: u32) -> Seed {
        let Some(found) = self.get(scope) else { return Seed::default() };
        match &found.body {
            ScopeBody::Agent(agent) => agent.call_seed(found.seed, slot),
            ScopeBody::Graph(frame) => match frame.records.get(slot as usize) {
                Some(record) => record.seed(found.seed, frame.step, slot),
                None => found.seed,
            },
        }
    }

    /// An event about a scope.
    pub(super) fn scope_event(&self, scope: u32, kind: EventKind) -> Event {
        match self.get(scope) {
            Some(found) => found.event(self.scope_path(scope), kind, ""),
            None => self.event(scope, 0, kind, Level::Info),
        }
    }

    pub(super) fn finished(&self, scope: u32, slot: u32, update: &Update<V>) -> Event {
        let mut event = self.event(scope, slot, EventKind::NodeFinished, Level::Info);
        let Some(frame) = self.frame(scope) else { return event };
        let attempt = frame.records.get(slot as usize).map_or(0, |record| record.attempt);
        let named =
            |write: &Write<V>| Some(written_keys(frame.graph.channel(write.channel)?, write));
        let wrote = update.writes.iter().filter_map(named).flatten();
        event.data.insert("attempt".into(), attempt.into());
        event.data.insert("wrote".into(), wrote.collect());
        event
    }

    pub(super) fn run_finished(&self, ended: &Result<Ending, Fault>) -> Event {
        let (outcome, level) = match ended {
            Ok(Ending::Completed) => ("completed", Level::Info),
            Ok(Ending::Budget(_)) => ("budget", Level::Warning),
            Ok(Ending::Cancelled(_)) => ("cancelled", Level::Warning),
            Ok(Ending::Breakpoint) => ("breakpoint", Level::Info),
            Err(_) => ("error", Level::Error),
        };
        let root = self.get(0).map(|root| root.event(Vec::new(), EventKind::RunFinished, ""));
        let mut event = root.unwrap_or_else(|| self.event(0, 0, EventKind::RunFinished, level));
        event.level = level;
        event.data.insert("outcome".into(), outcome.into());
        event
    }
}

/// A span id: 16 hexadecimal digits.
pub(super) fn span(seed: Seed) -> String {
    format!("{:016x}", seed.child(0).number())
}
