//! Cancelling a run.

use antiphon_core::budget::BudgetCharge;
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::CommitChange;
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use serde_json::json;

use crate::support::{Script, TestDriver, chain, driver, fan, ms, options};

/// EN-17 of `docs/engine.md`.
#[test]
fn cancelling_a_fan_out_stops_all_branches_and_commits_the_ending() {
    let names: Vec<String> = (0..8).map(|place| format!("n{place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = fan(&names, &[("log", Reducer::Append)]).build().unwrap();
    let script = names.iter().fold(Script::new(), |script, name| script.takes(name, ms(1000)));
    let with_commits = Options { commits: true, ..options() };
    let mut driver =
        TestDriver::with(&graph, script.writes("n0", "log", json!(0)), json!({}), with_commits);
    while driver.tasks.is_empty() {
        driver.step();
    }
    driver.run.cancel("the user left", driver.now);
    let Effect::Cancel(ids) = driver.run.step(driver.now, &mut driver.script) else { panic!() };
    assert_eq!(ids, driver.tasks.iter().map(|task| task.id).collect::<Vec<_>>());
    let wait = driver.run.step(driver.now, &mut driver.script);
    assert!(matches!(wait, Effect::Wait(_)), "it waits for the answers: {wait:?}");
    for id in ids {
        let update = antiphon_core::command::Update::default();
        assert!(driver.run.resolve(id, TaskOutcome::Done(update), driver.now));
    }
    let Effect::Commit(last) = driver.run.step(driver.now, &mut driver.script) else { panic!() };
    let CommitChange::Ended(Ok(ending)) = &last.change else { panic!() };
    assert_eq!(*ending, Ending::Cancelled("the user left".into()));
    let next = &driver.deltas()[0].pending_work.ready;
    assert_eq!(next.len(), 8, "what it was stopped in could be taken up again");
    driver.run.committed(last.id);
    let Effect::Done(ending) = driver.run.step(driver.now, &mut driver.script) else { panic!() };
    assert_eq!(ending, Ending::Cancelled("the user left".into()));
    assert_eq!(driver.state(), json!({}), "an unfinished superstep is not merged");
    driver.events.extend(driver.run.take_events());
    assert_eq!(driver.events.last().unwrap().kind, EventKind::RunFinished);
    assert_eq!(driver.events.last().unwrap().data["outcome"], "cancelled");
}

#[test]
fn a_task_that_was_not_handed_out_yet_is_neither_started_nor_cancelled() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver =
        TestDriver::with(&graph, Script::new(), json!({}), Options { commits: true, ..options() });
    driver.acknowledges = false;
    assert!(matches!(driver.step(), Effect::Commit(_)));
    driver.run.cancel("early", driver.now);
    driver.run.committed(driver.commits[0].id);
    driver.acknowledges = true;
    assert_eq!(driver.ends(), Ending::Cancelled("early".into()));
    assert!(driver.tasks.is_empty() && driver.cancelled.is_empty());
}

#[test]
fn a_run_can_be_cancelled_before_it_begins_and_after_it_ended() {
    let graph = chain(&["a"]).build().unwrap();
    let mut early = driver(&graph, Script::new());
    early.run.cancel("early", early.now);
    assert_eq!(early.ends(), Ending::Cancelled("early".into()));
    assert!(early.tasks.is_empty());
    let mut late = driver(&graph, Script::new());
    late.complete();
    late.run.cancel("late", late.now);
    assert_eq!(late.ends(), Ending::Completed);
}

#[test]
fn the_first_reason_counts() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver = driver(&graph, Script::new().takes("a", ms(9)));
    driver.step();
    driver.run.cancel("first", driver.now);
    driver.run.cancel("second", driver.now);
    assert_eq!(driver.ends(), Ending::Cancelled("first".into()));
    assert_eq!(driver.cancelled.len(), 1, "each task is cancelled once");
}

#[test]
fn cancelling_a_run_that_is_failing_cancels_it() {
    let graph = fan(&["a", "b"], &[]).build().unwrap();
    let script = Script::new().fails("a", antiphon_core::Category::Tool).takes("b", ms(1000));
    let mut driver = driver(&graph, script);
    while driver.cancelled.is_empty() {
        driver.step();
        if driver.cancelled.is_empty() {
            driver.answer_one();
        }
    }
    driver.run.cancel("the user left", driver.now);
    assert_eq!(driver.ends(), Ending::Cancelled("the user left".into()));
}

#[test]
fn a_task_that_is_being_stopped_may_make_no_more_calls() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver = driver(&graph, Script::new().never_ends("a"));
    driver.step();
    let id = driver.tasks[0].id;
    assert!(driver.run.request(id, BudgetCharge::Model).is_ok());
    driver.run.cancel("stop", driver.now);
    let fault = driver.run.request(id, BudgetCharge::Model).unwrap_err();
    assert_eq!(fault.code, "task_cancelled");
    assert_eq!(driver.run.budget().spent().model_calls, 1);
}

#[test]
fn a_pause_before_a_retry_ends_at_once() {
    let mut graph = chain(&[]);
    let retry = Some(antiphon_core::RetryPolicy::default());
    let again = antiphon_core::graph::NodePolicy { retry, ..Default::default() };
    graph.add_node(crate::support::policy(again, "a"));
    graph.edge(antiphon_core::graph::START, "a");
    let script = Script::new().fails("a", antiphon_core::Category::Timeout);
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.step();
    driver.answer_one();
    driver.run.cancel("stop", driver.now);
    assert_eq!(driver.ends(), Ending::Cancelled("stop".into()));
    assert_eq!(driver.now, crate::support::BEGIN);
}
