//! Drivers that break every rule: nothing panics, nothing hangs.

use antiphon_core::budget::{BudgetCharge, Limits};
use antiphon_core::effect::Effect;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, START};
use antiphon_core::model::Usage;
use antiphon_core::run::Options;
use antiphon_core::task::{Task, TaskId, TaskOutcome};
use antiphon_core::{Category, Fault};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::engine::random::random_graphs;
use crate::support::{Script, TestDriver, ms, nested, options};

#[derive(Clone, Debug)]
enum Operation {
    Step,
    Resolve(usize, u8),
    Wrong(u32, u32, u64),
    Answer(usize),
    AnswerNobody,
    Commit(u64),
    Cancel,
    Pass(u64),
    Request(usize),
    Note(usize),
}

fn operations() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => Just(Operation::Step),
        8 => (any::<usize>(), 0_u8..9).prop_map(|(task, how)| Operation::Resolve(task, how)),
        2 => (0_u32..4, 0_u32..4, 0_u64..30).prop_map(|(u, s, n)| Operation::Wrong(u, s, n)),
        3 => any::<usize>().prop_map(Operation::Answer),
        1 => Just(Operation::AnswerNobody),
        4 => (0_u64..40).prop_map(Operation::Commit),
        1 => Just(Operation::Cancel),
        3 => (0_u64..5000).prop_map(Operation::Pass),
        1 => any::<usize>().prop_map(Operation::Request),
        1 => any::<usize>().prop_map(Operation::Note),
    ]
}

fn outcome(driver: &mut TestDriver, task: &Task<Value>, how: u8) -> TaskOutcome<Value> {
    let fault = |category| Fault::foreign(category, "strange", "it failed");
    match how {
        0 => TaskOutcome::Escalate(antiphon_core::command::Update::default()),
        1 => TaskOutcome::Opened(vec![]),
        2 => TaskOutcome::failed(fault(Category::Internal)),
        3 => TaskOutcome::Ask(json!(1)),
        4 => TaskOutcome::Returned(Ok(json!(1))),
        5 => TaskOutcome::failed(fault(Category::Timeout)),
        _ => driver.outcome(task),
    }
}

fn act(driver: &mut TestDriver, seen: &mut Vec<Task<Value>>, operation: &Operation) {
    let any = |tasks: &[Task<Value>], place: usize| tasks.get(place % tasks.len().max(1)).cloned();
    match operation {
        Operation::Step => {
            let effect = driver.run.step(driver.now, &mut driver.script);
            if let Effect::Start(tasks) = effect {
                seen.extend(tasks);
            }
        }
        Operation::Resolve(place, how) => {
            if let Some(task) = any(seen, *place) {
                let outcome = outcome(driver, &task, *how);
                driver.run.resolve(task.id, outcome, driver.now);
            }
        }
        Operation::Wrong(scope, slot, serial) => {
            let id = TaskId { scope: *scope, slot: *slot, serial: *serial };
            driver.run.resolve(id, TaskOutcome::Ask(json!(0)), driver.now);
            driver.run.path(id);
            driver.run.node_of(id);
            driver.run.namespace(*scope);
        }
        Operation::Answer(place) => {
            let questions = driver.run.questions();
            if let Some(question) = questions.get(place % questions.len().max(1)) {
                assert!(driver.run.answer(&question.id, json!("!"), driver.now).is_ok());
            }
        }
        Operation::AnswerNobody => {
            assert!(driver.run.answer("nobody", json!("!"), driver.now).is_err());
        }
        Operation::Commit(id) => driver.run.committed(*id),
        Operation::Cancel => driver.run.cancel("strange", driver.now),
        Operation::Pass(time) => driver.now = driver.now + ms(*time),
        Operation::Request(place) => {
            if let Some(task) = any(seen, *place) {
                let granted = driver.run.request(task.id, BudgetCharge::Tool).is_ok();
                driver
                    .run
                    .charge(task.id, Usage { input_tokens: u64::from(granted), output_tokens: 1 });
            }
        }
        Operation::Note(place) => {
            if let Some(task) = any(seen, *place) {
                driver.run.note(task.id, EventKind::Custom, "strange", json!(null));
            }
        }
    }
}

/// Obeys from here on; says whether the run came to an end.
fn obey(driver: &mut TestDriver, seen: &mut Vec<Task<Value>>) -> bool {
    for _ in 0..5_000 {
        match driver.run.step(driver.now, &mut driver.script) {
            Effect::Start(tasks) => seen.extend(tasks),
            Effect::Cancel(_) => {}
            Effect::Commit(commit) => driver.run.committed(commit.id),
            Effect::Wait(until) => {
                for id in 0..200 {
                    driver.run.committed(id);
                }
                for task in std::mem::take(seen) {
                    let outcome = driver.outcome(&task);
                    driver.run.resolve(task.id, outcome, driver.now);
                }
                driver.now = until.map_or(driver.now, |until| until.max(driver.now));
            }
            Effect::Paused(questions) => {
                for question in questions {
                    driver.run.answer(&question.id, json!("!"), driver.now).unwrap();
                }
            }
            Effect::Done(_) | Effect::Failed(_) => return true,
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_calls_panics_or_keeps_a_run_from_ending(
        random in random_graphs(),
        operations in prop::collection::vec(operations(), 0..80),
        commits in any::<bool>(),
    ) {
        let limits = Limits {
            supersteps: Some(25),
            retries: Some(20),
            tool_calls: Some(3),
            wall_time: Some(ms(20_000)),
            ..Limits::default()
        };
        let options = Options { commits, limits, ..options() };
        let mut driver = TestDriver::with(&random.graph(), random.script(), json!({}), options);
        let mut seen = Vec::new();
        for operation in &operations {
            act(&mut driver, &mut seen, operation);
        }
        prop_assert!(obey(&mut driver, &mut seen), "the run did not end");
        let events = driver.run.take_events();
        prop_assert_eq!(events.last().map(|event| event.kind), Some(EventKind::RunFinished));
        let finished = events.iter().filter(|event| event.kind == EventKind::RunFinished);
        prop_assert_eq!(finished.count(), 1);
        prop_assert!(driver.run.questions().is_empty());
    }
}

#[test]
fn an_answer_is_taken_once() {
    let graph = crate::support::chain(&["a"]).build().unwrap();
    let mut driver = crate::support::driver(&graph, Script::new().never_ends("a"));
    driver.step();
    let id = driver.tasks[0].id;
    let done = || TaskOutcome::Done(antiphon_core::command::Update::default());
    assert!(!driver.run.resolve(TaskId { serial: id.serial + 1, ..id }, done(), driver.now));
    assert!(!driver.run.resolve(TaskId { slot: 9, ..id }, done(), driver.now));
    assert!(!driver.run.resolve(TaskId { scope: 9, ..id }, done(), driver.now));
    assert!(driver.run.resolve(id, done(), driver.now));
    assert!(!driver.run.resolve(id, done(), driver.now));
    driver.complete();
}

#[test]
fn a_task_that_was_not_handed_out_takes_no_answer() {
    let graph = crate::support::chain(&["a"]).build().unwrap();
    let stored = Options { commits: true, ..options() };
    let mut driver = TestDriver::with(&graph, Script::new(), json!({}), stored);
    driver.acknowledges = false;
    driver.step();
    let guessed = TaskId { scope: 0, slot: 0, serial: 1 };
    let done = || TaskOutcome::Done(antiphon_core::command::Update::default());
    assert!(!driver.run.resolve(guessed, done(), driver.now));
    driver.run.committed(1);
    driver.step();
    assert_eq!(driver.tasks[0].id, guessed);
    assert!(driver.run.resolve(guessed, done(), driver.now));
}

#[test]
fn a_loop_that_asks_nothing_of_its_driver_still_ends() {
    let mut empty = Graph::<Value>::builder("empty");
    empty.node("never");
    empty.branch(START, "nowhere", 0, None);
    let mut graph = Graph::builder("loop");
    graph.add_node(nested("sub", empty.build().unwrap()));
    graph.edge(START, "sub").edge("sub", "sub");
    let script = Script::new().router(0, |_| crate::support::choose([]));
    let mut driver = crate::support::driver(&graph.build().unwrap(), script);
    assert!(matches!(driver.step(), Effect::Done(_)));
    assert_eq!(driver.run.supersteps(), 1000);
}
