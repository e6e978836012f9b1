//! Which parts of a thread stay: the requested checkpoints, everything that they are
//! read from, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use antiphon_core::Time;
use antiphon_runtime::store::{EntryKind, EntryMark};
use antiphon_stores::RetentionPolicy;
use antiphon_stores::retention::checkpoints;
use proptest::prelude::*;

/// A thread of entries that follow each other, but for some that begin a branch.
fn thread(choices: &[(u8, prop::sample::Index)]) -> Vec<EntryMark> {
    let at = Time::from_micros(1);
    let run = EntryMark { seq: 1, parent: 0, base: 0, kind: EntryKind::Run, step: 0, at, size: 9 };
    let mut marks = vec![run];
    for (choice, place) in choices {
        let last = *marks.last().unwrap();
        let seq = last.seq + 1;
        let steps: Vec<EntryMark> =
            marks.iter().filter(|mark| mark.kind == EntryKind::Step).copied().collect();
        let entry = |parent: EntryMark, kind, more| {
            let (step, base) = (parent.step + more, parent.base);
            let base = if kind == EntryKind::Snapshot { seq } else { base };
            EntryMark { seq, parent: parent.seq, base, kind, step, at, size: 5 + seq }
        };
        marks.push(match choice % 20 {
            // A snapshot repeats the superstep before it.
            0 | 1 if last.kind == EntryKind::Step => entry(last, EntryKind::Snapshot, 0),
            2 => entry(last, EntryKind::Part, 0),
            3 => entry(last, EntryKind::End, 0),
            4 => entry(last, EntryKind::Run, 0),
            5 if !steps.is_empty() => entry(steps[place.index(steps.len())], EntryKind::Step, 1),
            _ => entry(last, EntryKind::Step, 1),
        });
    }
    marks
}

/// What is read to get to an entry.
fn way(marks: &BTreeMap<u64, EntryMark>, seq: u64) -> Vec<u64> {
    let ancestors = std::iter::successors(marks.get(&seq), |mark| marks.get(&mark.parent));
    let mut way = Vec::new();
    for mark in ancestors {
        way.push(mark.seq);
        if mark.kind == EntryKind::Snapshot {
            break;
        }
    }
    way
}

proptest! {
    #[test]
    fn the_last_checkpoints_stay_with_what_they_are_read_from_and_nothing_else(
        choices in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>()), 0..200),
        last in 1_u64..30,
    ) {
        let marks = thread(&choices);
        let by_seq: BTreeMap<u64, EntryMark> = marks.iter().map(|mark| (mark.seq, *mark)).collect();
        let shown: Vec<u64> = checkpoints(&marks).map(|mark| mark.seq).collect();
        let keep = RetentionPolicy { last: Some(last), ..RetentionPolicy::default() };
        let plan = keep.plan(&marks, Time::from_micros(2));
        let is_gone =
            |seq: u64| plan.spans.iter().any(|span| (span.from..=span.to).contains(&seq));
        let kept: BTreeSet<u64> =
            marks.iter().map(|mark| mark.seq).filter(|seq| !is_gone(*seq)).collect();
        prop_assert_eq!((marks.len() - kept.len()) as u64, plan.entries);

        let count = usize::try_from(last).unwrap();
        if shown.len() <= count {
            prop_assert_eq!(kept.len(), marks.len());
            return Ok(());
        }
        let wanted: BTreeSet<u64> = shown.iter().take(count).copied().collect();
        let tip = marks.last().unwrap().seq;
        let mut needed: BTreeSet<u64> =
            wanted.iter().chain([&tip]).flat_map(|seq| way(&by_seq, *seq)).collect();
        // What happened after a checkpoint, before the next one, is listed with it.
        for mark in &marks {
            let ancestors = std::iter::successors(Some(mark), |mark| by_seq.get(&mark.parent));
            let nearest = ancestors.map(|mark| mark.seq).find(|seq| shown.contains(seq));
            if nearest.is_some_and(|seq| wanted.contains(&seq)) {
                needed.insert(mark.seq);
            }
        }
        prop_assert_eq!(kept, needed);
    }
}
