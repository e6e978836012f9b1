//! What holds for any graph, any outcomes and any order of completion.

use std::collections::BTreeMap;

use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::PendingWork;
use antiphon_core::event::{Event, EventKind};
use proptest::prelude::*;
use serde_json::Value;

use crate::engine::random::{Done, random_graphs};
use crate::support::{Finish, TestDriver};

/// The events of each span, without when and in which place of the run.
fn by_span(driver: &TestDriver) -> BTreeMap<String, Vec<Event>> {
    let mut spans: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for event in &driver.events {
        let mut event = event.clone();
        event.seq = 0;
        event.at = antiphon_core::Time::default();
        if event.kind == EventKind::Checkpoint {
            // Commits are numbered as they come.
            event.data.remove("id");
        }
        spans.entry(event.span_id.clone()).or_default().push(event);
    }
    spans
}

/// The pending work, without the order and list that it is kept in.
fn to_come(pending_work: &PendingWork<Value>) -> String {
    let (ready, sends) = pending_work.upcoming();
    let mut nodes = [ready, &pending_work.deferred].concat();
    nodes.sort();
    nodes.dedup();
    let PendingWork { arrived, over, sealed, exempt, grace, detour, .. } = pending_work;
    format!("{nodes:?} {sends:?} {arrived:?} {over} {sealed:?} {exempt:?} {grace:?} {detour:?}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn completion_order_shows_neither_in_the_state_nor_in_any_path(random in random_graphs(), seed in any::<u64>()) {
        let (expected, end) = random.driver(Finish::InOrder);
        for finish in [Finish::Backwards, Finish::Shuffled(seed)] {
            let (driver, other) = random.driver(finish);
            prop_assert_eq!(&other, &end);
            prop_assert_eq!(driver.state(), expected.state());
            prop_assert_eq!(driver.run.budget().spent(), expected.run.budget().spent());
            prop_assert_eq!(driver.now, expected.now);
            prop_assert_eq!(by_span(&driver), by_span(&expected));
        }
    }

    #[test]
    fn the_same_outcomes_in_the_same_order_give_the_same_bytes(random in random_graphs(), seed in any::<u64>()) {
        let (one, _) = random.driver(Finish::Shuffled(seed));
        let (two, _) = random.driver(Finish::Shuffled(seed));
        prop_assert_eq!(serde_json::to_vec(&one.events).unwrap(), serde_json::to_vec(&two.events).unwrap());
        prop_assert_eq!(format!("{:?}", one.commits), format!("{:?}", two.commits));
        let seqs: Vec<u64> = one.events.iter().map(|event| event.seq).collect();
        prop_assert_eq!(seqs, (1..=one.events.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn the_commits_of_a_run_add_up_to_its_state(random in random_graphs(), seed in any::<u64>()) {
        let (driver, end) = random.driver(Finish::Shuffled(seed));
        let recovered = random.recovered(&driver.commits);
        let channels = driver.run.graph(0).unwrap().channels().len();
        for channel in (0_u32..).take(channels).map(ChannelId) {
            prop_assert_eq!(recovered.root.state.get(channel), driver.run.state().get(channel));
        }
        prop_assert_eq!(recovered.spent.supersteps, driver.run.budget().spent().supersteps);
        prop_assert_eq!(format!("{:?}", recovered.ended.is_some_and(|ended| ended.is_ok())), format!("{}", end.starts_with("Done")));
        prop_assert!(recovered.tasks.is_empty() && recovered.nested.is_empty() || end.starts_with("Failed"));
    }

    #[test]
    fn an_image_is_what_the_commits_so_far_add_up_to(random in random_graphs(), seed in any::<u64>()) {
        let (driver, _) = random.driver(Finish::Shuffled(seed));
        for (count, graph_snapshot) in &driver.images {
            let folded = random.recovered(&driver.commits[..*count]).root;
            prop_assert_eq!(graph_snapshot.state.snapshot(), folded.state.snapshot());
            prop_assert_eq!(graph_snapshot.step, folded.step);
            prop_assert_eq!(to_come(&graph_snapshot.pending_work), to_come(&folded.pending_work));
        }
    }

    #[test]
    fn a_run_that_was_lost_after_any_commit_ends_like_one_that_was_not(
        random in random_graphs(),
        seed in any::<u64>(),
        lost in any::<prop::sample::Index>(),
        late in any::<bool>(),
    ) {
        let (driver, end) = random.driver(Finish::Shuffled(seed));
        let kept = lost.index(driver.commits.len()) + 1;
        // What follows the last commit may have been done, or not yet.
        random.world.keep(|done| done.after < kept || late && done.after == kept);
        let before = random.world.done();
        let (resumed, other) = random.resume(&driver.commits[..kept], Finish::Shuffled(seed ^ 1));
        prop_assert_eq!(&other, &end);
        prop_assert_eq!(resumed.state(), driver.state());
        // Those of an attempt that failed before it was stored are not known any more.
        let supersteps = |driver: &TestDriver| driver.run.budget().spent().supersteps;
        prop_assert!(supersteps(&resumed) <= supersteps(&driver));
        let tried_again = driver.of_kind(EventKind::Retry);
        let tried_again = tried_again.iter().any(|event| event.name.starts_with('n'));
        for done in random.world.done()[before.len()..].iter().filter(|done| !(done.within && tried_again)) {
            let same = |other: &&Done| (&other.key, other.attempt) == (&done.key, done.attempt);
            let twice = before.iter().find(same);
            let twice = twice.filter(|earlier| earlier.after < kept || !earlier.repeatable);
            prop_assert!(twice.is_none() || kept == driver.commits.len(), "{:?}", done);
        }
    }
}
