//! What holds for any graph, any outcomes and any order of completion.

use std::collections::BTreeMap;

use antiphon_core::event::{Event, EventKind};
use proptest::prelude::*;

use crate::engine::random::plans;
use crate::support::{Finish, Play};

/// The events of each span, without when and in which place of the run.
fn by_span(play: &Play) -> BTreeMap<String, Vec<Event>> {
    let mut spans: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for event in &play.events {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn completion_order_shows_neither_in_the_state_nor_in_any_path(plan in plans(), seed in any::<u64>()) {
        let (expected, end) = plan.play(Finish::InOrder);
        for finish in [Finish::Backwards, Finish::Shuffled(seed)] {
            let (play, other) = plan.play(finish);
            prop_assert_eq!(&other, &end);
            prop_assert_eq!(play.state(), expected.state());
            prop_assert_eq!(play.run.budget().spent(), expected.run.budget().spent());
            prop_assert_eq!(play.now, expected.now);
            prop_assert_eq!(by_span(&play), by_span(&expected));
        }
    }

    #[test]
    fn the_same_outcomes_in_the_same_order_give_the_same_bytes(plan in plans(), seed in any::<u64>()) {
        let (one, _) = plan.play(Finish::Shuffled(seed));
        let (two, _) = plan.play(Finish::Shuffled(seed));
        prop_assert_eq!(serde_json::to_vec(&one.events).unwrap(), serde_json::to_vec(&two.events).unwrap());
        prop_assert_eq!(format!("{:?}", one.deltas), format!("{:?}", two.deltas));
        let seqs: Vec<u64> = one.events.iter().map(|event| event.seq).collect();
        prop_assert_eq!(seqs, (1..=one.events.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn the_deltas_of_a_run_add_up_to_its_state(plan in plans(), seed in any::<u64>()) {
        let (play, _) = plan.play(Finish::Shuffled(seed));
        let mut stored = BTreeMap::new();
        for delta in play.deltas.iter().filter(|delta| delta.unit == 0) {
            stored.extend(delta.changed.iter().cloned());
        }
        for (channel, value) in stored {
            prop_assert_eq!(play.run.state().get(channel), value.as_ref());
        }
    }
}
