//! Settings that arrive as JSON: a fault names what cannot be read.

use std::collections::BTreeMap;

use antiphon_core::{FaultCode, settings};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    count: u32,
    names: Vec<String>,
    workers: BTreeMap<String, Worker>,
    profiles: BTreeMap<String, Vec<String>>,
    pairs: Vec<Vec<u32>>,
    auth: Option<Auth>,
    choices: BTreeMap<String, Choice>,
    limits: LimitOptions,
    depth: Depth,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct LimitOptions {
    max_steps: u32,
    max_words: u32,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Depth {
    #[default]
    Light,
    Medium,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Choice {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Worker {
    tools: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Auth {
    Bearer { token: String },
}

fn refused(given: &Value) -> String {
    let read = settings::read::<Options>(given, "a thing", FaultCode::SystemSettingInvalid);
    read.unwrap_err().message.clone()
}

#[test]
fn a_wrong_element_is_named_with_its_place_and_value() {
    assert_eq!(refused(&json!({"count": "x"})), "`count` must be a non-negative integer: \"x\"");
    assert_eq!(refused(&json!({"names": ["a", 3]})), "`names[1]` must be a string: 3");
    assert_eq!(refused(&json!({"names": [3, 3]})), "`names[0]` must be a string: 3");
    assert_eq!(
        refused(&json!({"pairs": [[1], [2, "x"]]})),
        "`pairs[1][1]` must be a non-negative integer: \"x\""
    );
}

#[test]
fn of_the_fields_of_an_object_the_place_and_the_kind_are_named() {
    assert_eq!(refused(&json!({"workers": {"A": 3}})), "`workers.A` must be an object: a number");
    assert_eq!(
        refused(&json!({"profiles": {"A": ["paid"], "B": ["paid", 3]}})),
        "`profiles.B[1]` must be a string: a number"
    );
    assert_eq!(
        refused(&json!({"workers": {"A": {"tools": ["x", null]}}})),
        "`workers.A.tools[1]` must be a string: null"
    );
    assert_eq!(
        refused(&json!({"auth": {"type": "bearer", "token": 12_345_678}})),
        "a field of `auth` must be a string: its fields are type, token"
    );
    assert_eq!(
        refused(&json!({"workers": {"A": {"tools": [{}]}}})),
        "`workers.A.tools[0]` must be a string: an object without fields"
    );
}

#[test]
fn a_part_that_fits_none_of_several_types_is_named_in_words() {
    assert_eq!(
        refused(&json!({"choices": {"A": "paid", "B": 3}})),
        "`choices.B` has none of the accepted forms: a number"
    );
}

/// The message and the hint.
fn advised(given: &Value) -> (String, String) {
    let read = settings::read::<Options>(given, "a thing", FaultCode::SystemSettingInvalid);
    let fault = read.unwrap_err();
    (fault.message.clone(), fault.hint.clone().unwrap_or_default())
}

#[test]
fn an_unknown_setting_is_named_with_the_one_that_was_meant() {
    let (message, hint) = advised(&json!({"coumt": 3}));
    assert_eq!(message, "unknown setting of a thing: coumt");
    assert!(hint.starts_with("did you mean `count`? Its settings are "), "{hint}");
    for value in [json!(3), json!({"secret": "x"})] {
        let (message, hint) = advised(&json!({"limits": {"max_words": 1, "max_step": value}}));
        assert_eq!(message, "unknown setting of a thing: limits.max_step");
        assert_eq!(hint, "did you mean `max_steps`? Its settings are max_steps, max_words");
    }
}

#[test]
fn a_word_that_is_no_choice_is_named_with_the_choices() {
    let message = "`depth` must be `light` or `medium`: \"lite\"";
    let hint = "did you mean `light`?";
    assert_eq!(advised(&json!({"depth": "lite"})), (message.to_owned(), hint.to_owned()));
    assert_eq!(advised(&json!({"depth": "x"})).1, "");
}

#[test]
fn a_long_value_is_cut() {
    let message = refused(&json!({"count": "x".repeat(5_000)}));
    assert!(message.chars().count() < 150, "{message}");
}
