//! A scripted host and its driver: nodes, routers and merge rules are
//! closures, time is moved by hand, and the order in which tasks end is chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::Schemas;
use antiphon_core::budget::Limits;
use antiphon_core::channel::Write;
use antiphon_core::checkpoint::{
    Commit, CommitChange, GraphSnapshot, RecoveredRun, SuperstepDelta,
};
use antiphon_core::command::Destinations;
use antiphon_core::effect::{Effect, Ending, Question};
use antiphon_core::event::{Event, EventKind};
use antiphon_core::graph::{Graph, GraphBuilder, Node, NodeId, NodePolicy, NodeWork};
use antiphon_core::rules::{ReducerSite, Rules};
use antiphon_core::run::{Options, Run};
use antiphon_core::state::View;
use antiphon_core::task::{Failure, RetryVerdict, Task, TaskId, TaskOutcome, TaskWork};
use antiphon_core::{Category, Fault, Seed, Time};
use antiphon_reply::JsonSchemas;
use serde_json::{Map, Value, json};

mod call;
pub(crate) mod documented;

pub(crate) use call::{Call, agent, choose, name, reply, send, tool};

/// What a node does: it is called once per attempt.
type Body = Arc<dyn Fn(&mut Call<'_>) -> TaskOutcome<Value> + Send + Sync>;
type Router = Arc<dyn Fn(&View<'_, Value>) -> Result<Destinations<Value>, Fault> + Send + Sync>;
type Reducer = Arc<dyn Fn(Option<Value>, Value) -> Result<Value, Fault> + Send + Sync>;

/// The host's side of a graph. Nodes without a script write nothing.
#[derive(Clone, Default)]
pub(crate) struct Script {
    nodes: BTreeMap<String, Body>,
    routers: BTreeMap<u32, Router>,
    reducers: BTreeMap<u32, Reducer>,
    takes: BTreeMap<String, Option<Duration>>,
    unstoppable: BTreeSet<String>,
    judges: BTreeMap<String, RetryVerdict>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn node(
        mut self,
        name: &str,
        body: impl Fn(&mut Call<'_>) -> TaskOutcome<Value> + Send + Sync + 'static,
    ) -> Self {
        self.nodes.insert(name.to_owned(), Arc::new(body));
        self
    }

    /// A node that writes the same each time.
    pub(crate) fn writes(self, name: &str, key: &str, value: Value) -> Self {
        let key = key.to_owned();
        self.node(name, move |call| call.done([(key.as_str(), value.clone())]))
    }

    /// A node that fails each time.
    pub(crate) fn fails(self, name: &str, category: Category) -> Self {
        self.node(name, move |_| TaskOutcome::failed(fault(category)))
    }

    pub(crate) fn router(
        mut self,
        number: u32,
        router: impl Fn(&View<'_, Value>) -> Result<Destinations<Value>, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.routers.insert(number, Arc::new(router));
        self
    }

    pub(crate) fn reducer(
        mut self,
        number: u32,
        reducer: impl Fn(Option<Value>, Value) -> Result<Value, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.reducers.insert(number, Arc::new(reducer));
        self
    }

    /// What the host says of each failure within a node.
    pub(crate) fn judges(mut self, name: &str, verdict: RetryVerdict) -> Self {
        self.judges.insert(name.to_owned(), verdict);
        self
    }

    /// What a node's script makes of a task.
    pub(crate) fn outcome(&self, name: &str, call: &mut Call<'_>) -> TaskOutcome<Value> {
        self.nodes[name](call)
    }

    /// How long the work of a node, or of a tool of an agent, takes.
    pub(crate) fn takes(mut self, name: &str, time: Duration) -> Self {
        self.takes.insert(name.to_owned(), Some(time));
        self
    }

    /// A node that never answers, not even when it is asked to stop.
    pub(crate) fn never_ends(mut self, name: &str) -> Self {
        self.takes.insert(name.to_owned(), None);
        self
    }

    /// A node, or a tool of an agent, whose code continues for this time after it is asked to stop.
    pub(crate) fn unstoppable(mut self, name: &str, time: Duration) -> Self {
        self.unstoppable.insert(name.to_owned());
        self.takes(name, time)
    }
}

impl Rules<Value> for Script {
    fn reduce(
        &mut self,
        at: ReducerSite<'_, Value>,
        old: Option<Value>,
        new: Value,
    ) -> Result<Value, Fault> {
        self.reducers[&at.rule](old, new)
    }

    fn route(
        &mut self,
        router: u32,
        view: &View<'_, Value>,
    ) -> Result<Destinations<Value>, Failure> {
        self.routers[&router](view).map_err(Failure::from)
    }

    fn retry_verdict(&mut self, graph: &Graph<Value>, node: NodeId, _: &Fault) -> RetryVerdict {
        let verdict = self.judges.get(&*graph.node_name(Some(node)));
        verdict.cloned().unwrap_or(RetryVerdict::ByCategory)
    }
}

/// Which of the tasks that could end ends next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Finish {
    #[default]
    InOrder,
    Backwards,
    Shuffled(u64),
}

/// Where a run has come to.
#[derive(Debug)]
pub(crate) enum End {
    Done(Ending),
    Failed(Fault),
    Paused(Vec<Question<Value>>),
    /// Nothing will happen any more, but the run has not ended.
    Stuck,
}

/// One run with its script.
pub(crate) struct TestDriver {
    pub(crate) run: Run<Value>,
    pub(crate) now: Time,
    pub(crate) script: Script,
    pub(crate) finish: Finish,
    /// Whether commits are acknowledged at once.
    pub(crate) acknowledges: bool,
    /// Whether what has ended is stored before anything else.
    pub(crate) settles: bool,
    /// Tasks that the driver has, and when their work is done.
    pub(crate) pending: Vec<(Task<Value>, Option<Time>)>,
    /// The names of nodes in the order they were started, each attempt.
    pub(crate) started: Vec<String>,
    pub(crate) tasks: Vec<Task<Value>>,
    pub(crate) cancelled: Vec<TaskId>,
    pub(crate) commits: Vec<Commit<Value>>,
    /// The run's own graph at each of its commits, and how many commits there were.
    pub(crate) images: Vec<(usize, GraphSnapshot<Value>)>,
    pub(crate) events: Vec<Event>,
    draws: u64,
}

/// When runs begin: 2024-01-01.
pub(crate) const BEGIN: Time = Time::from_micros(1_704_067_200_000_000);

pub(crate) fn driver(graph: &Arc<Graph<Value>>, script: Script) -> TestDriver {
    TestDriver::new(graph, script, json!({}), Limits::default())
}

impl TestDriver {
    pub(crate) fn new(
        graph: &Arc<Graph<Value>>,
        script: Script,
        input: Value,
        limits: Limits,
    ) -> Self {
        let options = Options { limits, ..options() };
        Self::with(graph, script, input, options)
    }

    pub(crate) fn with(
        graph: &Arc<Graph<Value>>,
        script: Script,
        input: Value,
        options: Options,
    ) -> Self {
        let Value::Object(input) = input else { panic!("an input is an object") };
        let writes = input.into_iter();
        let writes =
            writes.map(|(key, value)| Write::merge(graph.channel_id(&key).unwrap(), value));
        let run = Run::new(Arc::clone(graph), writes.collect::<Vec<_>>(), options, BEGIN);
        Self::of(run, script)
    }

    /// Resumes from what commits add up to.
    pub(crate) fn resume(
        graph: &Arc<Graph<Value>>,
        script: Script,
        recovered: RecoveredRun<Value>,
    ) -> Self {
        let options = Options { commits: true, ..options() };
        Self::of(Run::resume(Arc::clone(graph), recovered, options, BEGIN), script)
    }

    pub(crate) fn of(run: Run<Value>, script: Script) -> Self {
        Self {
            run,
            now: BEGIN,
            script,
            finish: Finish::default(),
            acknowledges: true,
            settles: false,
            pending: Vec::new(),
            started: Vec::new(),
            tasks: Vec::new(),
            cancelled: Vec::new(),
            commits: Vec::new(),
            images: Vec::new(),
            events: Vec::new(),
            draws: 0,
        }
    }

    /// Asks for the next effect and does what it says at once, as far as that
    /// is possible without ending a task.
    pub(crate) fn step(&mut self) -> Effect<Value> {
        let settled = self.settles.then(|| self.run.settle(self.now, &mut self.script)).flatten();
        let effect = settled.unwrap_or_else(|| self.run.step(self.now, &mut self.script));
        match &effect {
            Effect::Start(tasks) => tasks.iter().for_each(|task| self.start(task)),
            Effect::Cancel(ids) => self.stop(ids),
            Effect::Commit(commit) => {
                self.commits.push(Commit::clone(commit));
                if commit.within.is_empty() {
                    self.images.push((self.commits.len(), self.run.graph_snapshot().unwrap()));
                }
                if self.acknowledges {
                    self.run.committed(commit.id);
                }
            }
            _ => {}
        }
        let events = self.run.take_events();
        events.iter().for_each(documented::check);
        self.events.extend(events);
        effect
    }

    /// Runs until the run ends, pauses, or cannot continue.
    pub(crate) fn go(&mut self) -> End {
        loop {
            match self.step() {
                Effect::Start(_) | Effect::Cancel(_) | Effect::Commit(_) => {}
                Effect::Wait(until) => {
                    if !self.answer_one() && !self.pass_time(until) {
                        return End::Stuck;
                    }
                }
                Effect::Paused(questions) => return End::Paused(questions),
                Effect::Done(ending) => return End::Done(ending),
                Effect::Failed(fault) => return End::Failed(fault),
            }
        }
    }

    /// Runs to a normal end and returns the state.
    pub(crate) fn complete(&mut self) -> Value {
        match self.go() {
            End::Done(Ending::Completed) => self.state(),
            other => panic!("the run did not complete: {other:?}"),
        }
    }

    pub(crate) fn fails(&mut self) -> Fault {
        match self.go() {
            End::Failed(fault) => fault,
            other => panic!("the run did not fail: {other:?}"),
        }
    }

    pub(crate) fn pauses(&mut self) -> Vec<Question<Value>> {
        match self.go() {
            End::Paused(questions) => questions,
            other => panic!("the run did not pause: {other:?}"),
        }
    }

    pub(crate) fn ends(&mut self) -> Ending {
        match self.go() {
            End::Done(ending) => ending,
            other => panic!("the run did not end: {other:?}"),
        }
    }

    /// The supersteps that were committed, those of nested graphs apart.
    pub(crate) fn deltas(&self) -> Vec<&SuperstepDelta<Value>> {
        let own = self.commits.iter().filter(|commit| commit.within.is_empty());
        own.filter_map(|commit| match &commit.change {
            CommitChange::Step(delta) => Some(delta),
            _ => None,
        })
        .collect()
    }

    /// The state as an object.
    pub(crate) fn state(&self) -> Value {
        let graph = self.run.graph(0).unwrap();
        let held = graph.channels().iter().filter_map(|channel| {
            let id = graph.channel_id(&channel.name)?;
            Some((channel.name.to_string(), self.run.state().get(id)?.clone()))
        });
        Value::Object(held.collect::<Map<_, _>>())
    }

    pub(crate) fn kinds(&self) -> Vec<EventKind> {
        self.events.iter().map(|event| event.kind).collect()
    }

    pub(crate) fn of_kind(&self, kind: EventKind) -> Vec<&Event> {
        self.events.iter().filter(|event| event.kind == kind).collect()
    }

    /// The path of a task, for readers.
    pub(crate) fn path(&self, id: TaskId) -> String {
        self.run.path(id).join("/")
    }

    fn start(&mut self, task: &Task<Value>) {
        let path = self.path(task.id);
        let name = self.name(task);
        let took = self.script.takes.get(&name).copied().unwrap_or(Some(Duration::ZERO));
        self.started.push(path);
        self.tasks.push(task.clone());
        self.pending.push((task.clone(), took.map(|took| self.now + took)));
    }

    fn name(&self, task: &Task<Value>) -> String {
        match &task.work {
            TaskWork::Tool(invocation) => invocation.call.name.clone(),
            _ => self.run.node(task.id.scope, task.node).unwrap().name.to_string(),
        }
    }

    fn stop(&mut self, ids: &[TaskId]) {
        for &id in ids {
            self.cancelled.push(id);
            let place = self.pending.iter().position(|(task, _)| task.id == id);
            assert!(self.tasks.iter().any(|task| task.id == id), "only what was started");
            // It may have ended in the same instant.
            let Some(place) = place else { continue };
            let (task, ready) = &self.pending[place];
            let continues = self.script.unstoppable.contains(&self.name(task));
            if ready.is_some() && !(continues && self.run.let_finish(id)) {
                self.pending.remove(place);
                let late = TaskOutcome::failed(fault(Category::Cancelled));
                self.run.resolve(id, late, self.now);
            }
        }
    }

    /// Ends one of the tasks whose work is done.
    pub(crate) fn answer_one(&mut self) -> bool {
        let ready = self
            .pending
            .iter()
            .enumerate()
            .filter(|(_, (_, at))| *at <= Some(self.now) && at.is_some());
        let ready: Vec<usize> = ready.map(|(place, _)| place).collect();
        let chosen = match self.finish {
            Finish::InOrder => ready.first(),
            Finish::Backwards => ready.last(),
            Finish::Shuffled(seed) => {
                self.draws += 1;
                let draw = Seed::new(seed).child(self.draws).number();
                ready.get(usize::try_from(draw).unwrap_or(0) % ready.len().max(1))
            }
        };
        let Some(&place) = chosen else { return false };
        let (task, _) = self.pending.remove(place);
        let outcome = self.outcome(&task);
        self.run.resolve(task.id, outcome, self.now);
        true
    }

    /// What the script makes of a task.
    pub(crate) fn outcome(&mut self, task: &Task<Value>) -> TaskOutcome<Value> {
        let name = self.run.node(task.id.scope, task.node).map(|node| node.name.to_string());
        let body = self.script.nodes.get(&name.unwrap_or_default()).cloned();
        let mut call = Call { run: &mut self.run, task, commits: &mut self.commits };
        match body {
            Some(body) => body(&mut call),
            None => call.done([]),
        }
    }

    /// Advances time to the next event.
    fn pass_time(&mut self, until: Option<Time>) -> bool {
        let work = self.pending.iter().filter_map(|(_, at)| *at);
        let next = work.chain(until).filter(|at| *at > self.now).min();
        if let Some(at) = next {
            self.now = at;
        }
        next.is_some()
    }
}

/// Validates the arguments that a person changes.
pub(crate) const SCHEMAS: Schemas = Some(&JsonSchemas);

/// Seed 7, events on.
pub(crate) fn options() -> Options {
    let seed = Seed::new(7);
    Options { run_id: "test".into(), seed, events: true, schemas: SCHEMAS, ..Options::default() }
}

pub(crate) fn fault(category: Category) -> Fault {
    Fault::foreign(category, category.as_str(), "it failed")
}

pub(crate) fn policy(policy: NodePolicy, name: &str) -> Node<Value> {
    Node { name: name.into(), work: NodeWork::Call, policy }
}

/// A node that is a graph.
pub(crate) fn nested(name: &str, graph: Arc<Graph<Value>>) -> Node<Value> {
    Node { name: name.into(), work: NodeWork::Graph(graph), policy: NodePolicy::default() }
}

/// A graph of nodes one after the other, and a channel `log` to append to.
pub(crate) fn chain(names: &[&str]) -> GraphBuilder<Value> {
    let mut graph = Graph::builder("chain");
    graph.channel("log", antiphon_core::channel::Reducer::Append);
    let mut before = antiphon_core::graph::START;
    for name in names {
        graph.node(*name);
        graph.edge(before, *name);
        before = name;
    }
    graph
}

/// A graph of nodes side by side.
pub(crate) fn fan(
    names: &[&str],
    channels: &[(&str, antiphon_core::channel::Reducer)],
) -> GraphBuilder<Value> {
    let mut graph = Graph::builder("fan");
    for (name, merge) in channels {
        graph.channel(*name, merge.clone());
    }
    for name in names {
        graph.node(*name);
        graph.edge(antiphon_core::graph::START, *name);
    }
    graph
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A run from nothing whose commits are kept.
pub(crate) fn stored(graph: &Arc<Graph<Value>>, script: Script) -> TestDriver {
    TestDriver::with(graph, script, json!({}), Options { commits: true, ..options() })
}

/// What a store recovers from commits.
pub(crate) fn folded(graph: &Arc<Graph<Value>>, commits: &[Commit<Value>]) -> RecoveredRun<Value> {
    let mut recovered = RecoveredRun::new(graph);
    for commit in commits {
        recovered.fold(graph, commit.clone()).unwrap();
    }
    recovered
}
