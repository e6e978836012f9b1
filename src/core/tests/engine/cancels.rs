//! Cancelling a run.

use antiphon_core::budget::BudgetCharge;
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::CommitChange;
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use serde_json::json;

use crate::support::{Play, Script, chain, fan, ms, options, play};

/// EN-17 of `docs/engine.md`.
#[test]
fn cancelling_a_fan_out_stops_all_branches_and_commits_the_ending() {
    let names: Vec<String> = (0..8).map(|place| format!("n{place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = fan(&names, &[("log", Reducer::Append)]).build().unwrap();
    let script = names.iter().fold(Script::new(), |script, name| script.takes(name, ms(1000)));
    let with_commits = Options { commits: true, ..options() };
    let mut play =
        Play::with(&graph, script.writes("n0", "log", json!(0)), json!({}), with_commits);
    while play.tasks.is_empty() {
        play.step();
    }
    play.run.cancel("the user left", play.now);
    let Effect::Cancel(ids) = play.run.step(play.now, &mut play.script) else { panic!() };
    assert_eq!(ids, play.tasks.iter().map(|task| task.id).collect::<Vec<_>>());
    let wait = play.run.step(play.now, &mut play.script);
    assert!(matches!(wait, Effect::Wait(_)), "it waits for the answers: {wait:?}");
    for id in ids {
        let update = antiphon_core::command::Update::default();
        assert!(play.run.resolve(id, TaskOutcome::Done(update), play.now));
    }
    let Effect::Commit(last) = play.run.step(play.now, &mut play.script) else { panic!() };
    let CommitChange::Ended(Ok(ending)) = &last.change else { panic!() };
    assert_eq!(*ending, Ending::Cancelled("the user left".into()));
    let next = &play.deltas()[0].pending_work.ready;
    assert_eq!(next.len(), 8, "what it was stopped in could be taken up again");
    play.run.committed(last.id);
    let Effect::Done(ending) = play.run.step(play.now, &mut play.script) else { panic!() };
    assert_eq!(ending, Ending::Cancelled("the user left".into()));
    assert_eq!(play.state(), json!({}), "an unfinished superstep is not merged");
    play.events.extend(play.run.take_events());
    assert_eq!(play.events.last().unwrap().kind, EventKind::RunFinished);
    assert_eq!(play.events.last().unwrap().data["outcome"], "cancelled");
}

#[test]
fn a_task_that_was_not_handed_out_yet_is_neither_started_nor_cancelled() {
    let graph = chain(&["a"]).build().unwrap();
    let mut play =
        Play::with(&graph, Script::new(), json!({}), Options { commits: true, ..options() });
    play.acknowledges = false;
    assert!(matches!(play.step(), Effect::Commit(_)));
    play.run.cancel("early", play.now);
    play.run.committed(play.commits[0].id);
    play.acknowledges = true;
    assert_eq!(play.ends(), Ending::Cancelled("early".into()));
    assert!(play.tasks.is_empty() && play.cancelled.is_empty());
}

#[test]
fn a_run_can_be_cancelled_before_it_begins_and_after_it_ended() {
    let graph = chain(&["a"]).build().unwrap();
    let mut early = play(&graph, Script::new());
    early.run.cancel("early", early.now);
    assert_eq!(early.ends(), Ending::Cancelled("early".into()));
    assert!(early.tasks.is_empty());
    let mut late = play(&graph, Script::new());
    late.complete();
    late.run.cancel("late", late.now);
    assert_eq!(late.ends(), Ending::Completed);
}

#[test]
fn the_first_reason_counts() {
    let graph = chain(&["a"]).build().unwrap();
    let mut play = play(&graph, Script::new().takes("a", ms(9)));
    play.step();
    play.run.cancel("first", play.now);
    play.run.cancel("second", play.now);
    assert_eq!(play.ends(), Ending::Cancelled("first".into()));
    assert_eq!(play.cancelled.len(), 1, "each task is cancelled once");
}

#[test]
fn cancelling_a_run_that_is_failing_cancels_it() {
    let graph = fan(&["a", "b"], &[]).build().unwrap();
    let script = Script::new().fails("a", antiphon_core::Category::Tool).takes("b", ms(1000));
    let mut play = play(&graph, script);
    while play.cancelled.is_empty() {
        play.step();
        if play.cancelled.is_empty() {
            play.answer_one();
        }
    }
    play.run.cancel("the user left", play.now);
    assert_eq!(play.ends(), Ending::Cancelled("the user left".into()));
}

#[test]
fn a_task_that_is_being_stopped_may_make_no_more_calls() {
    let graph = chain(&["a"]).build().unwrap();
    let mut play = play(&graph, Script::new().never_ends("a"));
    play.step();
    let id = play.tasks[0].id;
    assert!(play.run.request(id, BudgetCharge::Model).is_ok());
    play.run.cancel("stop", play.now);
    let fault = play.run.request(id, BudgetCharge::Model).unwrap_err();
    assert_eq!(fault.code, "task_cancelled");
    assert_eq!(play.run.budget().spent().model_calls, 1);
}

#[test]
fn a_pause_before_a_retry_ends_at_once() {
    let mut graph = chain(&[]);
    let retry = Some(antiphon_core::RetryPolicy::default());
    let again = antiphon_core::graph::NodePolicy { retry, ..Default::default() };
    graph.add_node(crate::support::policy(again, "a"));
    graph.edge(antiphon_core::graph::START, "a");
    let script = Script::new().fails("a", antiphon_core::Category::Timeout);
    let mut play = play(&graph.build().unwrap(), script);
    play.step();
    play.answer_one();
    play.run.cancel("stop", play.now);
    assert_eq!(play.ends(), Ending::Cancelled("stop".into()));
    assert_eq!(play.now, crate::support::BEGIN);
}
