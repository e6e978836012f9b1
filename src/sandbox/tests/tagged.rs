//! What a worker calls a value is counted, then checked.

use antiphon_sandbox::tagged::{ValueFault, ValueSize, bytes, check, parse};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

const SIZE: ValueSize = ValueSize { bytes: 1 << 20, nodes: 1_000, depth: 16 };

fn refused(value: &Json) -> bool {
    matches!(check(value, SIZE), Err(ValueFault::Malformed(_)))
}

#[test]
fn each_tag_of_the_wire_is_known() {
    for value in [
        json!({"$": "int", "v": "123456789012345678901234567890"}),
        json!({"$": "float", "v": "nan"}),
        json!({"$": "bytes", "v": "AAE="}),
        json!({"$": "tuple", "v": [1, {"$": "set", "v": [2]}]}),
        json!({"$": "frozenset", "v": []}),
        json!({"$": "dict", "v": [[1, 2], [{"$": "tuple", "v": []}, null]]}),
        json!({"$": "complex", "v": [1.5, {"$": "float", "v": "-inf"}]}),
        json!({"$": "datetime", "v": "2026-01-01T00:00:00"}),
        json!({"$": "date", "v": "2026-01-01"}),
        json!({"$": "time", "v": "10:00:00"}),
        json!({"$": "timedelta", "v": [-1, 2, 3]}),
        json!({"$": "decimal", "v": "1.10"}),
        json!({"$": "fraction", "v": ["1", "3"]}),
        json!({"$": "uuid", "v": "12345678-1234-5678-1234-567812345678"}),
        json!({"$": "array", "dtype": "<f8", "shape": [2, 3], "v": "AAE="}),
        json!({"$": "table", "name": "df"}),
        json!({"$": "object", "type": "Thing", "repr": "<Thing>"}),
    ] {
        assert_eq!(check(&value, SIZE), Ok(()), "{value}");
    }
}

#[test]
fn a_tag_with_other_fields_is_refused() {
    for value in [
        json!({"$": "int", "v": 1}),
        json!({"$": "int"}),
        json!({"$": "int", "v": "1", "w": 1}),
        json!({"$": "float", "v": "1.5"}),
        json!({"$": "dict", "v": [[1]]}),
        json!({"$": "complex", "v": ["1", 2]}),
        json!({"$": "timedelta", "v": [1, 2]}),
        json!({"$": "array", "dtype": "<f8", "shape": [-1], "v": ""}),
        json!({"$": "object", "type": "Thing", "repr": 3}),
        json!({"$": "pickle", "v": "gASVDA=="}),
        json!({"$": 1}),
        json!([{"a": {"$": null}}]),
    ] {
        assert!(refused(&value), "{value}");
    }
}

#[test]
fn depth_and_nodes_are_counted_as_the_guest_counts_them() {
    let mut nested = json!(1);
    for _ in 0..16 {
        nested = json!({"$": "tuple", "v": [nested]});
    }
    assert_eq!(check(&nested, SIZE), Ok(()));
    assert_eq!(check(&json!([nested]), SIZE), Err(ValueFault::TooLarge("depth")));
    let wide = json!(vec![0; 999]);
    assert_eq!(check(&wide, SIZE), Ok(()));
    assert_eq!(check(&json!(vec![0; 1_000]), SIZE), Err(ValueFault::TooLarge("nodes")));
}

#[test]
fn a_text_that_is_too_deep_is_refused_before_it_is_built() {
    let deep = vec![b'['; 1 << 19];
    assert_eq!(parse(&deep, SIZE), Err(ValueFault::TooLarge("depth")));
    let wide = [b"[".to_vec(), b"0,".repeat(1 << 18), b"0]".to_vec()].concat();
    assert_eq!(parse(&wide, SIZE), Err(ValueFault::TooLarge("nodes")));
    let long = vec![b' '; (1 << 20) + 1];
    assert_eq!(parse(&long, SIZE), Err(ValueFault::TooLarge("bytes")));
}

#[test]
fn brackets_and_commas_in_strings_are_not_counted() {
    let text = serde_json::to_vec(&json!(["[[[[,,,,\\\"{{{{".repeat(1_000)])).unwrap();
    assert!(parse(&text, SIZE).is_ok());
}

#[test]
fn a_value_as_deep_as_its_budget_is_read_back() {
    let size = ValueSize { depth: 64, ..SIZE };
    let mut nested = json!(1);
    for _ in 0..64 {
        nested = json!({"$": "dict", "v": [[1, nested]]});
    }
    let text = serde_json::to_vec(&nested).unwrap();
    assert_eq!(bytes(&nested), text.len() as u64);
    assert_eq!(check(&parse(&text, size).unwrap(), size), Ok(()));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = parse(&text, SIZE).map(|value| check(&value, SIZE));
    }

    #[test]
    fn no_jumble_of_tags_makes_the_check_panic(
        text in "[\\[\\]{}\":,$v0-9a-d \\\\]{0,200}",
    ) {
        let _ = parse(text.as_bytes(), SIZE).map(|value| check(&value, SIZE));
    }
}
