//! Questions are reported once the store holds them, and in their order.

use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::{CommitChange, RecoveredRun};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::notice::{EventOptions, Notice, TaskProgress};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use serde_json::{Value, json};

use crate::support::{Call, End, Script, TestDriver, chain, fan, ms, options};

fn asks(call: &mut Call<'_>) -> TaskOutcome<Value> {
    match call.answers().first() {
        None => TaskOutcome::Ask(json!("go on?")),
        Some(answer) => call.done([("log", answer.clone())]),
    }
}

/// Two nodes that ask and one that does not, over a store that answers later.
fn stored() -> TestDriver {
    let graph = fan(&["a", "b", "c"], &[("log", Reducer::Append)]).build().unwrap();
    let script = Script::new().node("a", asks).node("b", asks).writes("c", "log", json!("c"));
    let event_options = EventOptions { tasks: true, ..EventOptions::default() };
    let options = Options { commits: true, event_options, ..options() };
    let mut driver = TestDriver::with(&graph, script.takes("c", ms(10)), json!({}), options);
    driver.acknowledges = false;
    driver
}

/// Steps until something must be answered by the store; gives the commit's id.
fn to_commit(driver: &mut TestDriver) -> u64 {
    loop {
        match driver.step() {
            Effect::Commit(commit) => return commit.id,
            Effect::Wait(_) => assert!(driver.answer_one(), "nothing is under way"),
            _ => {}
        }
    }
}

fn asked(driver: &mut TestDriver) -> usize {
    let notices = driver.run.take_notices();
    let asked = notices.iter().filter(|notice| match notice {
        Notice::Task(task) => matches!(task.progress, TaskProgress::Asked(_)),
        _ => false,
    });
    asked.count()
}

fn is_question(driver: &TestDriver) -> bool {
    matches!(driver.commits.last().unwrap().change, CommitChange::Asked(..))
}

fn check_numbers(driver: &TestDriver) {
    let numbers: Vec<_> = driver.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_question_is_reported_when_its_commit_is_acknowledged_and_not_before() {
    let mut driver = stored();
    let first = to_commit(&mut driver);
    driver.run.committed(first);
    for reported in 0..2 {
        let id = to_commit(&mut driver);
        assert!(is_question(&driver));
        for _ in 0..3 {
            driver.step();
            assert_eq!(driver.of_kind(EventKind::Interrupt).len(), reported);
            assert_eq!(asked(&mut driver), 0);
        }
        driver.run.committed(id);
        driver.step();
        assert_eq!(driver.of_kind(EventKind::Interrupt).len(), reported + 1);
        assert_eq!(asked(&mut driver), 1);
        check_numbers(&driver);
    }
    assert_eq!(driver.of_kind(EventKind::Interrupt).len(), 2);
    driver.acknowledges = true;
    assert_eq!(driver.pauses().len(), 2);
    check_numbers(&driver);
    assert_eq!(driver.events.len() as u64, driver.run.event_count());
}

#[test]
fn what_happens_after_a_question_is_reported_after_it() {
    let mut driver = stored();
    let first = to_commit(&mut driver);
    driver.run.committed(first);
    let id = to_commit(&mut driver);
    let task = driver.tasks.iter().find(|task| driver.path(task.id) == "c").unwrap().id;
    driver.run.note(task, EventKind::Custom, "later", json!({}));
    driver.step();
    assert!(driver.of_kind(EventKind::Custom).is_empty());
    driver.run.committed(id);
    driver.acknowledges = true;
    driver.pauses();
    let kinds = driver.kinds();
    let place = |kind| kinds.iter().position(|found| *found == kind).unwrap();
    assert!(place(EventKind::Interrupt) < place(EventKind::Custom));
    check_numbers(&driver);
}

#[test]
fn a_question_that_cannot_be_stored_is_never_reported() {
    let mut driver = stored();
    let first = to_commit(&mut driver);
    driver.run.committed(first);
    to_commit(&mut driver);
    assert!(is_question(&driver));
    driver.run.cancel("store_full", driver.now);
    driver.run.abandon_commits();
    driver.acknowledges = true;
    match driver.go() {
        End::Done(Ending::Cancelled(reason)) => assert_eq!(reason, "store_full"),
        other => panic!("the run was not cancelled: {other:?}"),
    }
    assert!(driver.of_kind(EventKind::Interrupt).is_empty());
    assert_eq!(asked(&mut driver), 0);
    assert_eq!(*driver.kinds().last().unwrap(), EventKind::RunFinished);
    check_numbers(&driver);
    assert_eq!(driver.events.len() as u64, driver.run.event_count());
}

#[test]
fn a_run_that_keeps_nothing_tells_its_questions_at_once() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", asks);
    let mut driver = TestDriver::with(&graph, script, json!({}), options());
    driver.step();
    driver.answer_one();
    driver.step();
    assert_eq!(driver.of_kind(EventKind::Interrupt).len(), 1);
}

#[test]
fn a_run_that_is_taken_up_counts_on_after_its_question() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", asks);
    let stored = Options { commits: true, ..options() };
    let mut driver = TestDriver::with(&graph, script.clone(), json!({}), stored);
    let question = driver.pauses().remove(0);
    let mut recovered = RecoveredRun::new(&graph);
    for commit in driver.commits.clone() {
        recovered.fold(&graph, commit).unwrap();
    }
    assert_eq!(recovered.events, driver.events.len() as u64);
    let mut later = TestDriver::resume(&graph, script, recovered);
    // The tasks are lined up with the first step.
    later.step();
    later.run.answer(&question.id, json!("yes"), later.now).unwrap();
    later.complete();
    assert_eq!(later.events[0].seq, driver.events.len() as u64 + 1);
}
