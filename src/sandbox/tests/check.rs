//! What a worker sent along is either sound or refused. The Python tests hold
//! the same checks against Arrow's own library.

use antiphon_sandbox::check::{Refusal, TableExtent, figure, table};
use proptest::prelude::*;

/// All plain types, three rows in two batches, as pyarrow 26 wrote them.
const TABLE: &[u8] = include_bytes!("sent/plain.arrows");
/// Three by two pixels.
const FIGURE: &[u8] = include_bytes!("sent/small.png");

#[test]
fn a_plain_table_passes_with_its_extent() {
    assert_eq!(table(TABLE), Ok(TableExtent { rows: 3, columns: 11 }));
}

#[test]
fn a_table_without_its_end_mark_passes() {
    assert_eq!(table(&TABLE[..TABLE.len() - 8]), Ok(TableExtent { rows: 3, columns: 11 }));
}

#[test]
fn a_table_that_is_cut_is_refused_or_ends_after_a_whole_message() {
    let mut rows = Vec::new();
    for length in 0..TABLE.len() {
        rows.extend(table(&TABLE[..length]).map(|extent| extent.rows));
    }
    assert_eq!(rows, [0, 2, 3]);
}

#[test]
fn something_behind_the_end_is_refused() {
    let more = [TABLE, &[0]].concat();
    assert_eq!(table(&more), Err(Refusal("bytes follow the end of a table")));
}

#[test]
fn a_second_schema_is_refused() {
    let end = 8 + usize::try_from(u32::from_le_bytes(TABLE[4..8].try_into().unwrap())).unwrap();
    let twice = [&TABLE[..end], TABLE].concat();
    assert_eq!(table(&twice), Err(Refusal("a table has a message that is not a record batch")));
}

#[test]
fn a_figure_passes_with_its_size() {
    assert_eq!(figure(FIGURE, 6), Ok((3, 2)));
}

#[test]
fn a_figure_with_more_pixels_than_allowed_is_refused() {
    assert_eq!(figure(FIGURE, 5), Err(Refusal("a figure has too many pixels")));
}

#[test]
fn a_figure_that_was_changed_or_cut_anywhere_is_refused() {
    for at in 0..FIGURE.len() {
        assert!(figure(&FIGURE[..at], 6).is_err(), "cut at {at}");
        let mut changed = FIGURE.to_vec();
        changed[at] ^= 1;
        assert!(figure(&changed, u64::MAX).is_err(), "changed at {at}");
    }
    assert!(figure(&[FIGURE, b"more"].concat(), 6).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_a_check_panic(bytes: Vec<u8>) {
        let _ = table(&bytes);
        let _ = figure(&bytes, 1_000);
    }

    #[test]
    fn no_change_of_a_table_makes_the_check_panic(
        changes in prop::collection::vec((0..TABLE.len(), any::<u8>()), 1..8),
    ) {
        let mut bytes = TABLE.to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        // A change of a number is a sound table all the same.
        if let Ok(extent) = table(&bytes) {
            prop_assert!(extent.columns <= 11);
        }
    }
}
