//! Runs that a task starts: what they have committed is known when the task begins again.

use std::sync::{Arc, Mutex};

use antiphon_core::checkpoint::{
    Commit, CommitChange, KnownSubrun, RecoveredRun, SubrunCommit, SubrunLog,
};
use antiphon_core::graph::Graph;
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, Seed};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Call, Script, TestDriver, chain, options, tool};

/// What a node does, in order.
#[derive(Clone, Debug)]
enum NodeAction {
    /// Starts a run of that name, which commits so often.
    Starts(u8, u8),
    /// Makes a call of that name.
    Calls(u8),
}

/// What a subrun was when it was begun: its place, name, seed and what was known of it.
type SubrunRecord = (u32, String, Seed, Vec<Vec<u8>>, bool);

/// What a node has seen of its subruns, attempt by attempt.
type Seen = Arc<Mutex<Vec<SubrunRecord>>>;

fn starts(call: &mut Call<'_>, name: u8, commits: u8, seen: &Seen) -> Result<(), Fault> {
    let (id, name) = (call.task.id, format!("graph{name}"));
    let started = call.run.begin_subrun(id, &name, 7)?.unwrap();
    call.commits.extend(started.intent.map(|intent| *intent));
    let log = match started.known {
        KnownSubrun::Commits(log) => log,
        _ => SubrunLog::default(),
    };
    seen.lock().unwrap().push((started.index, name, started.seed, log.commits.clone(), log.ended));
    for nth in u8::try_from(log.commits.len()).unwrap()..commits {
        let ended = nth + 1 == commits;
        let commit = SubrunCommit {
            index: started.index,
            must_be_durable: false,
            repeatable: false,
            ended,
            bytes: vec![nth],
        };
        let commit = call.run.commit_subrun(id, commit)?;
        call.commits.extend(commit.map(|commit| *commit));
    }
    call.run.end_subrun(id, started.index);
    Ok(())
}

/// A node that does all that, and nothing else.
fn script(actions: &[NodeAction], seen: &Seen) -> Script {
    let (actions, seen) = (actions.to_vec(), Arc::clone(seen));
    Script::new().node("a", move |call| {
        for action in &actions {
            let done = match action {
                NodeAction::Starts(name, commits) => starts(call, *name, *commits, &seen),
                NodeAction::Calls(name) => {
                    let wanted = tool(&format!("tool{name}"), &json!({}));
                    call.makes(&wanted, |_| Ok(json!(1))).map(drop)
                }
            };
            if let Err(fault) = done {
                return TaskOutcome::failed(fault);
            }
        }
        call.done([("log", json!(["done"]))])
    })
}

fn graph() -> Arc<Graph<Value>> {
    chain(&["a"]).build().unwrap()
}

fn stored(script: Script) -> TestDriver {
    TestDriver::with(&graph(), script, json!({}), Options { commits: true, ..options() })
}

fn folded(commits: &[Commit<Value>]) -> RecoveredRun<Value> {
    let mut recovered = RecoveredRun::new(&graph());
    for commit in commits {
        recovered.fold(&graph(), commit.clone()).unwrap();
    }
    recovered
}

/// Commits of subruns among the first ones, by the places of the subruns.
fn kept(commits: &[Commit<Value>], index: u32) -> Vec<Vec<u8>> {
    let of = |commit: &Commit<Value>| match &commit.change {
        CommitChange::Subrun(_, _, commit) if commit.index == index => Some(commit.bytes.clone()),
        _ => None,
    };
    commits.iter().filter_map(of).collect()
}

fn actions() -> impl Strategy<Value = Vec<NodeAction>> {
    let action = prop_oneof![
        (0_u8..2, 1_u8..4).prop_map(|(name, commits)| NodeAction::Starts(name, commits)),
        (0_u8..2).prop_map(NodeAction::Calls),
    ];
    prop::collection::vec(action, 1..6)
}

proptest! {
    /// Wherever the run is cut off, each subrun is begun as the same one, with
    /// exactly what was stored of it.
    #[test]
    fn a_subrun_resumes_with_what_was_kept(actions in actions(), cut in any::<prop::sample::Index>()) {
        let before = Seen::default();
        let mut whole = stored(script(&actions, &before));
        let state = whole.complete();
        let left = &whole.commits[..cut.index(whole.commits.len())];
        let rests = left.iter().any(|commit| matches!(commit.change, CommitChange::Step(_)));
        // A call of which nobody knows what came is not made again.
        let open = |name: &str| {
            let of = |outcome: bool| left.iter().filter(move |commit| matches!(
                &commit.change,
                CommitChange::Called(_, _, record) if record.call.name == name && record.outcome.is_some() == outcome
            )).count();
            of(false) > of(true)
        };
        prop_assume!(rests && !open("tool0") && !open("tool1"));
        let after = Seen::default();
        let mut resumed = TestDriver::resume(&graph(), script(&actions, &after), folded(left));
        prop_assert_eq!(resumed.complete(), state);
        let (before, after) = (before.lock().unwrap(), after.lock().unwrap());
        if after.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(before.len(), after.len());
        for (one, other) in before.iter().zip(after.iter()) {
            prop_assert_eq!((one.0, &one.1, one.2), (other.0, &other.1, other.2));
            prop_assert_eq!(&other.3, &kept(left, other.0));
        }
    }
}

#[test]
fn a_task_that_starts_another_run_than_before_is_refused() {
    let mut whole =
        stored(script(&[NodeAction::Starts(0, 2), NodeAction::Calls(0)], &Seen::default()));
    whole.complete();
    let is_kept = |commit: &Commit<Value>| matches!(commit.change, CommitChange::Subrun(..));
    let kept = whole.commits.iter().position(is_kept).unwrap() + 1;
    let recovered = folded(&whole.commits[..kept]);
    let other = script(&[NodeAction::Starts(1, 2)], &Seen::default());
    let fault = TestDriver::resume(&graph(), other, recovered).fails();
    assert_eq!(fault.code, "replay_diverged");
}
