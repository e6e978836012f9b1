//! What `docs/engine.md` says in tables. The fields of events are checked in each test that runs
//! a run.

use std::collections::BTreeSet;

use antiphon_core::RetryPolicy;
use antiphon_core::agent::AgentSpec;
use antiphon_core::budget::BudgetDimension;
use antiphon_core::run::Run;
use serde_json::Value;

use crate::support::documented::{kinds, table};

const EVENTS: &str = include_str!("../../src/event.rs");

#[test]
fn every_kind_of_event_is_in_the_table() {
    let body = EVENTS.split("pub enum EventKind {").nth(1).unwrap().split("\n}").next().unwrap();
    let variants = body.lines().filter_map(|line| line.trim().strip_suffix(','));
    let declared: BTreeSet<String> = variants.map(snake_case).collect();
    assert_eq!(declared, kinds());
}

#[test]
fn every_dimension_of_a_budget_is_in_the_table_with_its_default() {
    let rows = table("dimension");
    let names: Vec<_> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let expected: Vec<_> = BudgetDimension::ALL.iter().map(|it| it.as_str()).collect();
    assert_eq!(names, expected);
    assert_eq!(rows[0][2], format!("{} for a run", Run::<Value>::SUPERSTEPS));
}

#[test]
fn the_limits_of_agents_are_in_the_table_with_their_defaults() {
    let rows = table("limit");
    let first = |row: &[String]| row[1].split(' ').next().unwrap().parse::<u32>().unwrap();
    let documented: Vec<_> = rows.iter().map(|row| (row[0].as_str(), first(row))).collect();
    let AgentSpec { max_tool_calls, max_model_calls, max_reasks, .. } = AgentSpec::default();
    let expected = [
        ("`max_tool_calls`", max_tool_calls),
        ("`max_model_calls`", max_model_calls),
        ("`max_reasks`", max_reasks),
    ];
    assert_eq!(documented, expected);
}

#[test]
fn the_durations_of_the_core_are_in_the_table() {
    let rows = table("duration");
    let value = |name: &str| rows.iter().find(|row| row[0] == name).unwrap()[1].clone();
    let RetryPolicy { initial, cap, factor, .. } = RetryPolicy::default();
    assert!((factor - 2.0).abs() < f64::EPSILON);
    let pause = format!("{} s, doubled each time, at most {} s", initial.as_secs(), cap.as_secs());
    assert_eq!(value("retry pause"), pause);
    assert_eq!(value("call grace"), format!("{} s", Run::<Value>::CALL_GRACE.as_secs()));
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
