//! The quality of pages, and when a step has found enough.

use antiphon_systems::deep_research::information_gain::{
    CallRecord, StopReason, is_good_source, page_gain, query_terms, search_gain,
};

fn record(good: usize, gains: &[f64]) -> CallRecord {
    CallRecord { gains: gains.to_vec(), good: (1..=good).collect() }
}

/// DR-12 of `docs/systems/deep-research.md`: the decision.
#[test]
fn a_step_stops_early_once_good_sources_are_there_and_calls_bring_little() {
    let idle = [0.8, 0.9, 0.7, 0.0, 0.05, 0.0, 0.0, 0.09];
    assert_eq!(record(3, &idle).stop(12), Some(StopReason::EnoughSources));
    assert_eq!(record(2, &idle).stop(12), None);
    assert_eq!(record(3, &[0.0; 4]).stop(12), None, "five calls are made in any case");
    assert_eq!(record(5, &[0.9, 0.9, 0.1, 0.1, 0.05]).stop(12), Some(StopReason::EnoughSources));
    assert_eq!(record(5, &[0.9, 0.9, 0.1, 0.1, 0.15]).stop(12), None);
    assert_eq!(record(0, &[0.9; 12]).stop(12), Some(StopReason::Budget));
}

#[test]
fn a_good_source_is_long_readable_and_about_the_question() {
    let terms = query_terms("How long does green tea steep?");
    assert_eq!(terms, ["long", "green", "tea", "steep"]);
    let page = "Green tea should steep for two minutes and no longer than that. ".repeat(20);
    assert!(is_good_source(&page, &terms));
    assert!(!is_good_source("Green tea steeps.", &terms), "it is short");
    assert!(!is_good_source(&format!("Subscribe to continue. {page}"), &terms));
    assert!(!is_good_source(&"Steel is an alloy of iron and carbon. ".repeat(40), &terms));
    let navigation = "Green tea\nSteep times\nShop\nHome\n".repeat(30);
    assert!(!is_good_source(&navigation, &terms));
}

#[test]
fn gains_follow_new_pages_and_new_text() {
    let near = |gain: f64, expected: f64| assert!((gain - expected).abs() < 1e-9, "{gain}");
    near(page_gain(5_000, true), 1.0);
    near(page_gain(900, true), 0.5);
    near(page_gain(2_000, false), 0.2);
    near(page_gain(50_000, false), 0.5);
    near(search_gain(2), 0.2);
    near(search_gain(9), 0.3);
}
