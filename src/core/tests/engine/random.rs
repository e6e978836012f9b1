//! Graphs and hosts made of small numbers, for properties.

use std::sync::{Arc, Mutex};

use antiphon_core::channel::{ChannelId, Reducer};
use antiphon_core::checkpoint::{Call as Wanted, Commit, RecoveredRun};
use antiphon_core::command::Route;
use antiphon_core::graph::{Graph, NodePolicy, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Fault, Jitter, RetryPolicy};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    Call, End, Finish, Script, TestDriver, chain, choose, fault, ms, name, nested, options, policy,
    send, tool,
};

/// One node: where it leads and how it behaves.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate coin")]
pub(crate) struct Step {
    edges: Vec<usize>,
    routes: Vec<usize>,
    sends: u8,
    failures: u32,
    questions: usize,
    fails: bool,
    deferred: bool,
    nested: bool,
    also: bool,
    /// So many calls, of which every other one may be made twice.
    calls: u8,
}

/// A graph of at most eight nodes, and what its host says.
#[derive(Clone, Debug)]
pub(crate) struct RandomGraph {
    steps: Vec<Step>,
    joins: Vec<(Vec<usize>, usize)>,
    pub(crate) world: World,
}

/// What was done to the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct World(Arc<Mutex<Vec<Done>>>);

/// One thing that was done.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) key: String,
    pub(crate) attempt: u32,
    pub(crate) repeatable: bool,
    /// In a nested graph, of which there may be several attempts.
    pub(crate) within: bool,
    /// How many commits there were then.
    pub(crate) after: usize,
}

impl World {
    /// What was done, in order.
    pub(crate) fn done(&self) -> Vec<Done> {
        self.0.lock().unwrap().clone()
    }

    /// Goes back to what had been done by then.
    pub(crate) fn keep(&self, done: impl Fn(&Done) -> bool) {
        self.0.lock().unwrap().retain(done);
    }

    /// Makes a call. Of one of which nobody knows what came it looks whether it was made.
    fn makes(&self, call: &mut Call<'_>, wanted: &Wanted) -> Value {
        let fault = match self.acts(call, wanted) {
            Ok(value) => return value,
            Err(fault) => fault,
        };
        if ["task_cancelled", "budget_exhausted"].contains(&fault.code.as_str()) {
            return Value::Null;
        }
        assert_eq!(fault.code, "unknown_outcome");
        let key = fault.details["idempotency_key"].as_str().unwrap();
        let of = call.task.attempt;
        if !self.done().iter().any(|done| (done.key.as_str(), done.attempt) == (key, of)) {
            let again = Wanted { name: format!("{} again", wanted.name), ..wanted.clone() };
            self.acts(call, &again).unwrap();
        }
        json!(wanted.name)
    }

    fn acts(&self, call: &mut Call<'_>, wanted: &Wanted) -> Result<Value, Fault> {
        let (attempt, repeatable) = (call.task.attempt, wanted.repeatable);
        let within = call.task.id.scope != 0;
        let after = call.commits.len() + usize::from(!repeatable);
        call.makes(wanted, |key| {
            let key = key.to_owned();
            self.0.lock().unwrap().push(Done { key, attempt, repeatable, within, after });
            Ok(json!(wanted.name))
        })
    }
}

pub(crate) fn random_graphs() -> impl Strategy<Value = RandomGraph> {
    let place = || 0_usize..8;
    let behaviour = (0_u8..3, 0_u32..3, 0_usize..3, prop::bool::weighted(0.15), 0_u8..4);
    let kind = (prop::bool::weighted(0.15), prop::bool::weighted(0.2), any::<bool>());
    let ways = (prop::collection::vec(place(), 0..3), prop::collection::vec(place(), 0..3));
    let step = (ways, behaviour, kind).prop_map(|(ways, behaviour, kind)| Step {
        edges: ways.0,
        routes: ways.1,
        sends: behaviour.0,
        failures: behaviour.1,
        questions: behaviour.2,
        fails: behaviour.3,
        deferred: kind.0,
        nested: kind.1,
        also: kind.2,
        calls: behaviour.4,
    });
    let join = (prop::collection::vec(place(), 1..4), place());
    (prop::collection::vec(step, 1..8), prop::collection::vec(join, 0..3))
        .prop_map(|(steps, joins)| RandomGraph { steps, joins, world: World::default() })
}

impl RandomGraph {
    /// One random graph with a bit of everything.
    pub(crate) fn sample() -> Self {
        let step = |edges: &[usize], routes: &[usize]| Step {
            edges: edges.to_vec(),
            routes: routes.to_vec(),
            sends: 2,
            failures: 1,
            questions: 0,
            fails: false,
            deferred: false,
            nested: false,
            also: true,
            calls: 2,
        };
        let within = Step { nested: true, ..step(&[3], &[]) };
        let steps = vec![step(&[1, 2], &[]), step(&[3], &[0, 1]), within, step(&[], &[0, 2])];
        Self { steps, joins: vec![(vec![1, 2], 3)], world: World::default() }
    }

    fn name(&self, place: usize) -> String {
        format!("n{}", place % self.steps.len())
    }

    /// A node that comes later, if there is one.
    fn after(&self, place: usize, which: usize) -> Option<String> {
        let rest = self.steps.len() - 1 - place % self.steps.len();
        (rest > 0).then(|| self.name(place + 1 + which % rest))
    }

    pub(crate) fn graph(&self) -> Arc<Graph<Value>> {
        let mut graph = Graph::builder("random");
        graph.channel("log", Reducer::Append);
        graph.channel("count", Reducer::Sum);
        let error = graph.channel("error", Reducer::Append);
        for place in 0..self.steps.len() {
            graph.channel(format!("own {place}"), Reducer::Set);
        }
        for (place, step) in self.steps.iter().enumerate() {
            let name = self.name(place);
            let retry =
                RetryPolicy { jitter: Jitter::Full, initial: ms(100), ..RetryPolicy::default() };
            let rules =
                NodePolicy { retry: Some(retry), deferred: step.deferred, ..NodePolicy::default() };
            if step.nested {
                graph.add_node(antiphon_core::graph::Node {
                    policy: rules,
                    ..nested(&name, inner(place))
                });
            } else {
                graph.add_node(policy(rules, &name));
            }
            graph.on_error_record(name.as_str(), error);
            if place < 2 {
                graph.edge(START, name.as_str());
            }
            for target in step.edges.iter().filter_map(|&target| self.after(place, target)) {
                graph.edge(name.as_str(), target);
            }
            if !step.routes.is_empty() {
                graph.branch(name.as_str(), "way", u32::try_from(place).unwrap(), None);
            }
        }
        for (sources, target) in &self.joins {
            let last = sources.iter().map(|source| source % self.steps.len()).max();
            let Some(target) = self.after(last.unwrap_or_default(), *target) else { continue };
            let sources: Vec<String> = sources.iter().map(|&source| self.name(source)).collect();
            let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
            graph.join(&sources, target);
        }
        graph.build().unwrap()
    }

    pub(crate) fn script(&self) -> Script {
        let mut script = Script::new();
        for (place, step) in self.steps.iter().enumerate() {
            let targets: Vec<String> = step.routes.iter().map(|&to| self.name(to)).collect();
            script = script.router(u32::try_from(place).unwrap(), move |view| {
                let count = view.named("count").and_then(Value::as_u64).unwrap_or(0);
                let failed = view.named("error").and_then(Value::as_array).map_or(0, Vec::len);
                let count = usize::try_from(count).unwrap() + failed;
                let chosen = count % (targets.len() + 1);
                choose(targets.get(chosen).filter(|_| count < 20).map(|to| name(to)))
            });
            let (step, target) = (step.clone(), self.after(place, 0));
            let world = self.world.clone();
            let acts = move |call: &mut Call<'_>| {
                let done: Vec<_> = (0..step.calls).map(|n| step.calls(call, n, &world)).collect();
                step.act(call, place, (target.as_deref(), done))
            };
            script =
                script.node(&self.name(place), acts.clone()).node(&format!("deep {place}"), acts);
        }
        script
    }

    /// Runs to the end; whatever is asked is answered.
    pub(crate) fn driver(&self, finish: Finish) -> (TestDriver, String) {
        self.driver_that(finish, false)
    }

    /// As `driver`; it stores what has ended before anything else.
    pub(crate) fn settling_driver(&self, finish: Finish) -> (TestDriver, String) {
        self.driver_that(finish, true)
    }

    fn driver_that(&self, finish: Finish, settles: bool) -> (TestDriver, String) {
        // Who gets the last of a shared budget depends on who asks first, so
        // that nothing here may run out: edges lead on, and routers lead back
        // only so often.
        let stored = Options { commits: true, ..options() };
        let mut driver = TestDriver::with(&self.graph(), self.script(), json!({}), stored);
        (driver.finish, driver.settles) = (finish, settles);
        let end = finish_of(&mut driver);
        (driver, end)
    }

    /// What commits of a run add up to.
    pub(crate) fn recovered(&self, commits: &[Commit<Value>]) -> RecoveredRun<Value> {
        let graph = self.graph();
        let mut recovered = RecoveredRun::new(&graph);
        for commit in commits {
            recovered.fold(&graph, commit.clone()).unwrap();
        }
        recovered
    }

    /// Resumes from what was stored, to the end.
    pub(crate) fn resume(&self, commits: &[Commit<Value>], finish: Finish) -> (TestDriver, String) {
        let mut driver = TestDriver::resume(&self.graph(), self.script(), self.recovered(commits));
        driver.finish = finish;
        let end = finish_of(&mut driver);
        (driver, end)
    }
}

/// Runs to the end; whatever is asked is answered.
fn finish_of(driver: &mut TestDriver) -> String {
    loop {
        match driver.go() {
            End::Paused(questions) => {
                for question in questions {
                    driver.run.answer(&question.id, question.value, driver.now).unwrap();
                }
            }
            end => return format!("{end:?}"),
        }
    }
}

fn inner(place: usize) -> Arc<Graph<Value>> {
    let deep = format!("deep {place}");
    let mut graph = chain(&[&deep, "deeper"]);
    graph.channel("count", Reducer::Sum);
    graph.build().unwrap()
}

impl Step {
    fn calls(&self, call: &mut Call<'_>, which: u8, world: &World) -> Value {
        // What is sent differs, and so does what is done with it.
        let wanted = tool(&format!("tool {which}"), &json!([call.sent(), self.failures]));
        world.makes(call, &Wanted { repeatable: which % 2 == 1, ..wanted })
    }

    fn act(
        &self,
        call: &Call<'_>,
        place: usize,
        (target, done): (Option<&str>, Vec<Value>),
    ) -> TaskOutcome<Value> {
        if call.answers().len() < self.questions && call.sent().is_none() {
            return TaskOutcome::Ask(json!([place, call.answers().len()]));
        }
        if call.task.attempt <= self.failures {
            return TaskOutcome::failed(fault(Category::ToolTransport));
        }
        if self.fails {
            return TaskOutcome::failed(fault(Category::Tool));
        }
        let mut update =
            call.update([("log", json!([place, call.sent(), done])), ("count", json!(1))]);
        let alone = call.sent().is_none() && call.task.id.scope == 0;
        if alone {
            let own = ChannelId(3 + u32::try_from(place).unwrap());
            update.writes.push(antiphon_core::channel::Write::merge(own, call.get("count")));
            let items = (0..self.sends).map(|item| json!(item));
            let sends = items.filter_map(|item| Some(send(target?, item))).collect();
            update.route = if self.also { Route::Also(sends) } else { Route::Only(sends) };
        }
        TaskOutcome::Done(update)
    }
}
