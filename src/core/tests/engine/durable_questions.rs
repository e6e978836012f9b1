//! Questions are reported once the store holds them, and in their order.

use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::{CommitChange, RecoveredRun};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::notice::{EventOptions, Notice, TaskProgress};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use serde_json::{Value, json};

use crate::support::{Call, End, Play, Script, chain, fan, ms, options};

fn asks(call: &mut Call<'_>) -> TaskOutcome<Value> {
    match call.answers().first() {
        None => TaskOutcome::Ask(json!("go on?")),
        Some(answer) => call.done([("log", answer.clone())]),
    }
}

/// Two nodes that ask and one that does not, over a store that answers later.
fn stored() -> Play {
    let graph = fan(&["a", "b", "c"], &[("log", Reducer::Append)]).build().unwrap();
    let script = Script::new().node("a", asks).node("b", asks).writes("c", "log", json!("c"));
    let event_options = EventOptions { tasks: true, ..EventOptions::default() };
    let options = Options { commits: true, event_options, ..options() };
    let mut play = Play::with(&graph, script.takes("c", ms(10)), json!({}), options);
    play.acknowledges = false;
    play
}

/// Steps until something must be answered by the store; gives the commit's id.
fn to_commit(play: &mut Play) -> u64 {
    loop {
        match play.step() {
            Effect::Commit(commit) => return commit.id,
            Effect::Wait(_) => assert!(play.answer_one(), "nothing is under way"),
            _ => {}
        }
    }
}

fn asked(play: &mut Play) -> usize {
    let notices = play.run.take_notices();
    let asked = notices.iter().filter(|notice| match notice {
        Notice::Task(task) => matches!(task.progress, TaskProgress::Asked(_)),
        _ => false,
    });
    asked.count()
}

fn is_question(play: &Play) -> bool {
    matches!(play.commits.last().unwrap().change, CommitChange::Asked(..))
}

fn check_numbers(play: &Play) {
    let numbers: Vec<_> = play.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_question_is_reported_when_its_commit_is_acknowledged_and_not_before() {
    let mut play = stored();
    let first = to_commit(&mut play);
    play.run.committed(first);
    for reported in 0..2 {
        let id = to_commit(&mut play);
        assert!(is_question(&play));
        for _ in 0..3 {
            play.step();
            assert_eq!(play.of_kind(EventKind::Interrupt).len(), reported);
            assert_eq!(asked(&mut play), 0);
        }
        play.run.committed(id);
        play.step();
        assert_eq!(play.of_kind(EventKind::Interrupt).len(), reported + 1);
        assert_eq!(asked(&mut play), 1);
        check_numbers(&play);
    }
    assert_eq!(play.of_kind(EventKind::Interrupt).len(), 2);
    play.acknowledges = true;
    assert_eq!(play.pauses().len(), 2);
    check_numbers(&play);
    assert_eq!(play.events.len() as u64, play.run.event_count());
}

#[test]
fn what_happens_after_a_question_is_reported_after_it() {
    let mut play = stored();
    let first = to_commit(&mut play);
    play.run.committed(first);
    let id = to_commit(&mut play);
    let task = play.tasks.iter().find(|task| play.path(task.id) == "c").unwrap().id;
    play.run.note(task, EventKind::Custom, "later", json!({}));
    play.step();
    assert!(play.of_kind(EventKind::Custom).is_empty());
    play.run.committed(id);
    play.acknowledges = true;
    play.pauses();
    let kinds = play.kinds();
    let place = |kind| kinds.iter().position(|found| *found == kind).unwrap();
    assert!(place(EventKind::Interrupt) < place(EventKind::Custom));
    check_numbers(&play);
}

#[test]
fn a_question_that_cannot_be_stored_is_never_reported() {
    let mut play = stored();
    let first = to_commit(&mut play);
    play.run.committed(first);
    to_commit(&mut play);
    assert!(is_question(&play));
    play.run.cancel("store_full", play.now);
    play.run.abandon_commits();
    play.acknowledges = true;
    match play.go() {
        End::Done(Ending::Cancelled(reason)) => assert_eq!(reason, "store_full"),
        other => panic!("the run was not cancelled: {other:?}"),
    }
    assert!(play.of_kind(EventKind::Interrupt).is_empty());
    assert_eq!(asked(&mut play), 0);
    assert_eq!(*play.kinds().last().unwrap(), EventKind::RunFinished);
    check_numbers(&play);
    assert_eq!(play.events.len() as u64, play.run.event_count());
}

#[test]
fn a_run_that_keeps_nothing_tells_its_questions_at_once() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", asks);
    let mut play = Play::with(&graph, script, json!({}), options());
    play.step();
    play.answer_one();
    play.step();
    assert_eq!(play.of_kind(EventKind::Interrupt).len(), 1);
}

#[test]
fn a_run_that_is_taken_up_counts_on_after_its_question() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", asks);
    let stored = Options { commits: true, ..options() };
    let mut play = Play::with(&graph, script.clone(), json!({}), stored);
    let question = play.pauses().remove(0);
    let mut recovered = RecoveredRun::new(&graph);
    for commit in play.commits.clone() {
        recovered.fold(&graph, commit).unwrap();
    }
    assert_eq!(recovered.events, play.events.len() as u64);
    let mut later = Play::resume(&graph, script, recovered);
    // The tasks are lined up with the first step.
    later.step();
    later.run.answer(&question.id, json!("yes"), later.now).unwrap();
    later.complete();
    assert_eq!(later.events[0].seq, play.events.len() as u64 + 1);
}
