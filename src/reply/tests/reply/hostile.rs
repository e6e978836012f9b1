//! Replies that mean harm: a megabyte of anything, read in linear time and
//! bounded depth. Each is small enough for a debug build to take well under a
//! second, and would take minutes if anything were quadratic.

use antiphon_core::reply::ReplyParser as _;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::{any_object, shape};

const MEGABYTE: usize = 1 << 20;

fn filled(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len())
}

#[test]
fn a_megabyte_of_one_thing_is_read_in_linear_time() {
    let shape = any_object();
    for unit in [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        "`",
        "```",
        "``` ",
        "```\n",
        "```x\n",
        "~~~ ```",
        "\\",
        "\\\"",
        "#",
        "/",
        "//",
        "/*",
        "{/*",
        "{//",
        "{# ",
        "[# ",
        "{'",
        "[\"",
        "[[\"",
        "{a:",
        "{\"a\":",
        "[{\"a\":",
        "{a",
        "[1,",
        "{}",
        "[]",
        "{} ",
        "[}",
        "{]",
        "[[}}",
        ":",
        ",",
        "\n",
        " ",
        "{ ",
        "\u{feff}",
        "é",
        "\u{0}",
        "1",
        "-",
        "{\n",
        "{\"a\": \"",
        "```\n{\"a\":",
        "```\n1\n```\n",
        "[0",
        "{\"\\u",
        "{a:1}",
    ] {
        let _ = shape.parse(&filled(unit, MEGABYTE));
        let text = filled(unit, MEGABYTE / 8);
        let _ = shape.parse(&format!("{{\"a\": {text}"));
        let _ = shape.parse(&format!("{{\"a\": \"{text}"));
        let _ = shape.parse(&format!("```\n{{\"a\": [{text}\n```"));
    }
}

#[test]
fn nesting_is_refused_where_it_gets_dangerous() {
    let nested = |depth: usize, comma: &str| {
        format!("{{\"a\": {}{}{comma}}}", "[".repeat(depth), "]".repeat(depth))
    };
    let shape = any_object();
    assert!(shape.parse(&nested(100, "")).is_ok());
    assert!(shape.parse(&nested(100, ",")).unwrap().repaired());
    for comma in ["", ","] {
        let errors = shape.parse(&nested(100_000, comma)).unwrap_err().errors;
        assert_eq!(errors[0].expected, "less deeply nested JSON");
    }
    let mut deep = json!(1);
    for _ in 0..500 {
        deep = json!([deep]);
    }
    assert_eq!(shape.validate(&deep).unwrap_err()[0].expected, "at most 127 levels of nesting");
}

/// A node is of one of two kinds that look alike until the end.
fn tangle(keyword: &str) -> Json {
    json!({"$ref": "#/$defs/n", "$defs": {"n": {keyword: [
        {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["c"]},
        {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}, "d": {"type": "string"}}},
    ]}}})
}

#[test]
fn choices_that_nest_in_themselves_do_not_explode() {
    for keyword in ["anyOf", "oneOf"] {
        let shape = shape(tangle(keyword));
        for depth in [3, 8, 30, 120] {
            let text = format!("{}\"bad\"{}", "{\"c\": ".repeat(depth), "}".repeat(depth));
            assert!(!shape.parse(&text).unwrap_err().errors.is_empty());
            assert!(shape.validate(&serde_json::from_str(&text).unwrap()).is_err());
        }
    }
}

#[test]
fn a_great_many_errors_cause_no_failure() {
    let list = shape(json!({"type": "object", "properties": {"a": {
        "type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    }}}));
    let items = |item: &str| {
        let mut text = String::from("{\"a\": [0");
        (0..20_000).for_each(|_| write!(text, ", {item}").unwrap());
        text + "]}"
    };
    assert_eq!(list.parse(&items("\"7\"")).unwrap().coerced.len(), 20_000);
    let unreadable = list.parse(&items("\"x\"")).unwrap_err();
    assert_eq!(unreadable.errors.len(), 20_000);
    assert!(unreadable.feedback().len() < 4_000);
}
