//! Trying again: how often, when, and when not.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use antiphon_core::budget::{BudgetDimension, Limits};
use antiphon_core::effect::Ending;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{NodePolicy, RouterView, START, Semantics};
use antiphon_core::task::{Failure, RetryVerdict, TaskOutcome};
use antiphon_core::{Category, Fault, Jitter, RetryPolicy, Seed, Time};
use serde_json::json;

use crate::support::{BEGIN, Script, TestDriver, chain, choose, driver, fault, ms, name, policy};

fn exact(max_attempts: u32) -> RetryPolicy {
    RetryPolicy { max_attempts, jitter: Jitter::None, ..RetryPolicy::default() }
}

fn new_driver(retry: Option<RetryPolicy>, limits: Limits, script: Script) -> TestDriver {
    let mut graph = chain(&[]);
    graph.add_node(policy(NodePolicy { retry, ..NodePolicy::default() }, "a"));
    graph.edge(START, "a");
    TestDriver::new(&graph.build().unwrap(), script, json!({}), limits)
}

#[test]
fn a_transient_failure_is_tried_again_after_the_pauses_of_the_policy() {
    let script = Script::new().node("a", |call| match call.task.attempt {
        4 => call.done([("log", json!("at last"))]),
        _ => TaskOutcome::failed(fault(Category::ModelTransport)),
    });
    let mut driver = new_driver(Some(exact(4)), Limits::default(), script);
    assert_eq!(driver.complete(), json!({"log": ["at last"]}));
    assert_eq!(driver.now.since(BEGIN), Duration::from_secs(1 + 2 + 4));
    let retries = driver.of_kind(EventKind::Retry);
    let delays: Vec<_> = retries.iter().map(|event| event.data["delay_ms"].clone()).collect();
    assert_eq!(delays, [1000, 2000, 4000]);
    assert_eq!(driver.run.budget().spent().retries, 3);
}

#[test]
fn no_pause_of_a_policy_is_longer_than_its_cap() {
    let policy = RetryPolicy { cap: Duration::from_secs(5), ..exact(100) };
    let late = fault(Category::Timeout);
    let pause = |attempt| policy.pause(attempt, &late, Seed::new(1)).unwrap().as_secs();
    assert_eq!([1, 2, 3, 4, 50].map(pause), [1, 2, 4, 5, 5]);
}

#[test]
fn the_last_attempt_fails_with_the_last_fault() {
    let script = Script::new().fails("a", Category::Timeout);
    let mut driver = new_driver(Some(exact(3)), Limits::default(), script);
    assert_eq!(driver.fails().category, Category::Timeout);
    assert_eq!(driver.started.len(), 3);
}

#[test]
fn only_transient_categories_are_tried_again() {
    for category in Category::ALL {
        let script = Script::new().fails("a", category);
        let mut driver = new_driver(Some(exact(2)), Limits::default(), script);
        driver.go();
        let expected = if category.is_transient() { 2 } else { 1 };
        assert_eq!(driver.started.len(), expected, "{category:?}");
    }
}

#[test]
fn without_a_policy_nothing_is_tried_again() {
    let mut driver =
        new_driver(None, Limits::default(), Script::new().fails("a", Category::Timeout));
    driver.fails();
    assert_eq!(driver.started.len(), 1);
    assert_eq!(RetryPolicy::never().pause(1, &fault(Category::Timeout), Seed::new(1)), None);
}

#[test]
fn the_host_may_rule_a_retry_out_or_in() {
    let verdict = |verdict: fn() -> RetryVerdict, category| {
        let script = Script::new().node("a", move |_| {
            TaskOutcome::Failed(Box::new(Failure { fault: fault(category), verdict: verdict() }))
        });
        let mut driver = new_driver(Some(exact(3)), Limits::default(), script);
        driver.fails();
        driver.started.len()
    };
    assert_eq!(verdict(|| RetryVerdict::Never, Category::Timeout), 1);
    assert_eq!(verdict(|| RetryVerdict::Again(exact(5)), Category::Internal), 5);
}

#[test]
fn a_pause_that_the_other_side_asks_for_is_a_floor() {
    let asked = fault(Category::ModelTransport).retry_after(Duration::from_secs(9));
    assert_eq!(exact(3).pause(1, &asked, Seed::new(1)), Some(Duration::from_secs(9)));
    let short = fault(Category::ModelTransport).retry_after(ms(1));
    assert_eq!(exact(3).pause(2, &short, Seed::new(1)), Some(Duration::from_secs(2)));
}

#[test]
fn jitter_comes_on_top_of_what_the_other_side_asks_for() {
    let nine = Duration::from_secs(9);
    let asked = fault(Category::ModelTransport).retry_after(nine);
    for jitter in [Jitter::Full, Jitter::Additive] {
        let policy = RetryPolicy { jitter, ..exact(3) };
        let pauses: BTreeSet<_> =
            (0..50).filter_map(|seed| policy.pause(1, &asked, Seed::new(seed))).collect();
        assert!(pauses.len() > 40, "turned away together, they do not return together");
        assert!(pauses.iter().all(|pause| (nine..=nine + Duration::from_secs(2)).contains(pause)));
    }
}

#[test]
fn a_pause_never_reaches_past_the_deadline() {
    let script = Script::new().fails("a", Category::ModelTransport);
    let limits = Limits { wall_time: Some(ms(2500)), ..Limits::default() };
    let mut driver = new_driver(Some(exact(9)), limits, script);
    assert_eq!(driver.fails().category, Category::ModelTransport);
    assert_eq!(driver.now.since(BEGIN), Duration::from_secs(1), "not 1 s and 2 s");
}

#[test]
fn jitter_stays_within_its_bounds_and_spreads() {
    let full = RetryPolicy { jitter: Jitter::Full, ..exact(9) };
    let additive = RetryPolicy { jitter: Jitter::Additive, ..exact(9) };
    let pause = |policy: &RetryPolicy, seed, attempt| {
        policy.pause(attempt, &fault(Category::Timeout), Seed::new(seed)).unwrap()
    };
    let mut small = 0;
    for seed in 0..500 {
        let exact = pause(&exact(9), seed, 3);
        assert_eq!(exact, Duration::from_secs(4));
        assert!(pause(&full, seed, 3) <= exact);
        small += u32::from(pause(&full, seed, 3) < exact / 2);
        let added = pause(&additive, seed, 3);
        assert!(exact <= added && added <= exact + Duration::from_secs(1));
        assert_eq!(pause(&full, seed, 3), pause(&full, seed, 3), "the same seed, the same pause");
    }
    assert!((150..350).contains(&small), "{small}");
}

#[test]
fn pauses_grow_no_further_than_the_cap_for_any_numbers() {
    let none: Fault = fault(Category::Timeout);
    assert_eq!(exact(u32::MAX).pause(4_000, &none, Seed::new(1)), Some(Duration::from_mins(1)));
    let at_once = RetryPolicy { initial: Duration::ZERO, ..exact(u32::MAX) };
    assert_eq!(at_once.pause(4_000, &none, Seed::new(1)), Some(Duration::ZERO));
    let odd = RetryPolicy { factor: f64::NAN, ..exact(9) };
    assert!(odd.pause(2, &none, Seed::new(1)).unwrap() <= Duration::from_mins(1));
}

#[test]
fn a_spent_budget_of_retries_is_a_budget_ending() {
    let script = Script::new().fails("a", Category::Timeout);
    let limits = Limits { retries: Some(1), ..Limits::default() };
    let mut driver = new_driver(Some(exact(9)), limits, script);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::Retries));
    assert_eq!(driver.started.len(), 2);
    assert_eq!(driver.run.budget().spent().retries, 1);
}

#[test]
fn a_node_may_have_its_own_budget_of_retries() {
    let mut graph = chain(&[]);
    let limits = Limits { retries: Some(2), ..Limits::default() };
    let own = NodePolicy { retry: Some(exact(9)), limits, ..NodePolicy::default() };
    graph.add_node(policy(own, "a"));
    graph.edge(START, "a");
    let script = Script::new().fails("a", Category::Timeout);
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::Retries));
    assert_eq!(driver.started.len(), 3);
}

#[test]
fn jitter_does_not_depend_on_who_fails_first() {
    let graph = || {
        let mut graph = chain(&[]);
        for name in ["a", "b"] {
            let retry = Some(RetryPolicy::default());
            graph.add_node(policy(NodePolicy { retry, ..NodePolicy::default() }, name));
            graph.edge(START, name);
        }
        graph.build().unwrap()
    };
    let delays = |finish| {
        let script = Script::new().fails("a", Category::Timeout).fails("b", Category::Timeout);
        let mut driver = driver(&graph(), script);
        driver.finish = finish;
        driver.go();
        let retries = driver.of_kind(EventKind::Retry).into_iter();
        let mut delays: Vec<(String, String)> = retries
            .map(|event| (event.name.to_string(), event.data["delay_ms"].to_string()))
            .collect();
        delays.sort();
        delays
    };
    let (one, other) =
        (delays(crate::support::Finish::InOrder), delays(crate::support::Finish::Backwards));
    assert_eq!(one[..2], other[..2]);
    assert_ne!(one[0].1, one[one.len() - 1].1, "each task draws its own");
}

#[test]
fn a_retry_waits_until_its_instant() {
    let script = Script::new().fails("a", Category::Timeout);
    let mut driver = new_driver(Some(exact(2)), Limits::default(), script);
    driver.step();
    driver.answer_one();
    let antiphon_core::effect::Effect::Wait(Some(until)) = driver.step() else { panic!() };
    assert_eq!(until, BEGIN + Duration::from_secs(1));
    driver.now = Time::from_micros(until.as_micros() - 1);
    assert!(matches!(driver.step(), antiphon_core::effect::Effect::Wait(Some(_))));
    driver.now = until;
    assert!(matches!(driver.step(), antiphon_core::effect::Effect::Start(_)));
}

/// A graph whose node `a` may run three times, beside `b`, with a branch that
/// fails the first time it is asked.
fn branching(router_view: RouterView, beside: bool) -> TestDriver {
    let mut graph = chain(&["last"]);
    graph.semantics(Semantics { router_view, ..Semantics::default() });
    graph.add_node(policy(NodePolicy { retry: Some(exact(3)), ..NodePolicy::default() }, "a"));
    graph.edge(START, "a").branch("a", "way", 0, None);
    if beside {
        graph.node("b");
        graph.edge(START, "b");
    }
    let asked = AtomicU32::new(0);
    let script = Script::new()
        .node("a", |call| call.done([("log", json!(call.task.attempt))]))
        .writes("b", "log", json!("b"))
        .router(0, move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Err(fault(Category::Timeout)),
            _ => choose([name("last")]),
        });
    driver(&graph.build().unwrap(), script)
}

#[test]
fn a_failing_branch_runs_its_node_again_and_drops_what_it_wrote() {
    let mut driver = branching(RouterView::Own, false);
    assert_eq!(driver.complete(), json!({"log": [2]}));
    assert_eq!(driver.started, ["last", "a", "a", "last"]);
}

#[test]
fn a_failing_branch_leaves_the_tasks_beside_it_as_they_are() {
    let mut driver = branching(RouterView::Own, true);
    assert_eq!(driver.complete(), json!({"log": [2, "b"]}));
    assert_eq!(driver.started, ["last", "a", "b", "a", "last"]);
}

#[test]
fn a_branch_that_is_asked_after_the_merge_is_not_asked_again() {
    let mut driver = branching(RouterView::Merged, false);
    assert_eq!(driver.fails().category, Category::Timeout);
    assert_eq!(driver.started, ["last", "a"]);
}
