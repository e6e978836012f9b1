//! Depths, plans, reflections and times, as pure functions.

use std::time::Duration;

use antiphon_systems::SystemInput;
use antiphon_systems::deep_research::classification::ClarificationSituation;
use antiphon_systems::deep_research::deadline::TimePlan;
use antiphon_systems::deep_research::plan::{PlanDraft, PlanSituation, PlanVerdict, StepDraft};
use antiphon_systems::deep_research::reflection::ReflectionSituation;
use antiphon_systems::deep_research::{
    Complexity, Config, Depth, DepthSettings, QueryClassification, QueryMode, ReflectionDecision,
    ReflectionResult, ResearchDepth, ResearchPlan, ResearchRequest, StepStatus,
};
use serde_json::json;

fn draft(titles: &[&str]) -> PlanDraft {
    let step = |title: &&str| StepDraft { title: (*title).to_owned(), ..StepDraft::default() };
    PlanDraft { steps: titles.iter().map(step).collect(), ..PlanDraft::default() }
}

fn titles(plan: &ResearchPlan) -> Vec<&str> {
    plan.steps.iter().map(|step| step.title.as_str()).collect()
}

/// DR-04 of `docs/systems/deep-research.md`.
#[test]
fn the_depth_is_what_is_asked_then_recommended_then_needed() {
    let classified = |recommended_depth, complexity| QueryClassification {
        recommended_depth,
        complexity,
        ..QueryClassification::default()
    };
    let auto = ResearchDepth::Auto;
    let extended = classified(ResearchDepth::Extended, Complexity::Simple);
    assert_eq!(Depth::resolve(auto, Some(&extended)), Depth::Extended);
    let simple = classified(auto, Complexity::Simple);
    assert_eq!(Depth::resolve(auto, Some(&simple)), Depth::Light);
    let complex = classified(auto, Complexity::Complex);
    assert_eq!(Depth::resolve(auto, Some(&complex)), Depth::Extended);
    assert_eq!(Depth::resolve(ResearchDepth::Light, Some(&extended)), Depth::Light);
    assert_eq!(Depth::resolve(auto, None), Depth::Medium);
}

#[test]
fn a_person_is_asked_only_if_it_is_allowed_and_there_is_a_question() {
    let mut classified = QueryClassification {
        is_ambiguous: true,
        clarifying_questions: vec!["Which tea?".to_owned()],
        ..QueryClassification::default()
    };
    let needs = |classified: &QueryClassification, is_enabled, rounds| {
        ClarificationSituation { classified, is_enabled, rounds, max_rounds: 3 }.needs_person()
    };
    assert!(needs(&classified, true, 0));
    assert!(needs(&classified, true, 2));
    assert!(!needs(&classified, true, 3));
    assert!(!needs(&classified, false, 0));
    classified.clarifying_questions.clear();
    assert!(!needs(&classified, true, 0));
}

/// DR-06 of `docs/systems/deep-research.md`.
#[test]
fn a_plan_is_cut_to_the_most_steps_and_asked_again_below_the_least() {
    let many: Vec<String> = (1..=12).map(|number| format!("Topic {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let plan = ResearchPlan::revised(None, draft(&many), 6);
    assert_eq!(plan.steps.len(), 6);
    let judged = |steps, is_second| {
        PlanSituation {
            completed: 0,
            steps,
            min_steps: 3,
            has_sources: true,
            has_enough_context: false,
            is_second,
        }
        .verdict()
    };
    assert_eq!(judged(2, false), PlanVerdict::AskAgain);
    assert_eq!(judged(2, true), PlanVerdict::Research);
    assert_eq!(judged(3, false), PlanVerdict::Research);
}

/// DR-07 of `docs/systems/deep-research.md`.
#[test]
fn another_plan_keeps_completed_steps_and_drops_their_titles() {
    let mut first = ResearchPlan::revised(None, draft(&["a", "b"]), 6);
    first.complete(0, "seen");
    first.complete(0, "seen again");
    let skipped = first.skip_open();
    assert_eq!(skipped[0].title, "b");
    let plan = ResearchPlan::revised(Some(&first), draft(&["A!", "c", "d", " C "]), 6);
    assert_eq!(titles(&plan), ["a", "c", "d"]);
    assert_eq!((plan.next(), plan.iteration), (Some(1), 2));
    assert_eq!(plan.steps[0].observation.as_deref(), Some("seen"));
    assert_eq!(plan.steps[0].status, StepStatus::Completed);
    let ids: Vec<_> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["step-1-1", "step-2-2", "step-2-3"]);
}

#[test]
fn enough_context_is_believed_only_with_steps_or_sources() {
    let verdict = |completed, steps, has_sources| {
        PlanSituation {
            completed,
            steps,
            min_steps: 3,
            has_sources,
            has_enough_context: true,
            is_second: true,
        }
        .verdict()
    };
    assert_eq!(verdict(3, 3, false), PlanVerdict::Synthesize);
    assert_eq!(verdict(0, 0, true), PlanVerdict::Synthesize);
    assert_eq!(verdict(0, 0, false), PlanVerdict::Respond);
    assert_eq!(verdict(1, 3, false), PlanVerdict::Research);
}

fn settled(
    decision: ReflectionDecision,
    (completed, pending): (usize, usize),
    plan_iterations: usize,
) -> (ReflectionResult, bool) {
    let situation = ReflectionSituation {
        completed,
        pending,
        min_steps: 3,
        plan_iterations,
        max_plan_iterations: 3,
    };
    let reasoning = "because".to_owned();
    situation.settle(ReflectionResult { decision, reasoning, ..ReflectionResult::default() })
}

/// DR-08 and DR-09 of `docs/systems/deep-research.md`.
#[test]
fn a_reflection_is_held_to_the_least_steps_and_the_most_plans() {
    use ReflectionDecision::{Adjust, Complete, Continue};
    let decided = |decision, steps, iterations| {
        let (result, is_overridden) = settled(decision, steps, iterations);
        (result.decision, is_overridden)
    };
    assert_eq!(decided(Complete, (1, 2), 1), (Continue, true));
    assert_eq!(decided(Complete, (3, 2), 1), (Complete, false));
    assert_eq!(decided(Complete, (2, 0), 1), (Adjust, true));
    assert_eq!(decided(Complete, (2, 0), 3), (Complete, false), "no further plan is left");
    assert_eq!(decided(Adjust, (1, 2), 2), (Adjust, false));
    assert_eq!(decided(Adjust, (1, 2), 3), (Continue, true));
    let (adjusted, _) = settled(Adjust, (1, 1), 1);
    assert_eq!(adjusted.suggested_changes, ["because"]);
}

#[test]
fn the_times_of_a_mode_follow_its_settings() {
    let config = Config::from_json(&json!({})).unwrap();
    let seconds = Duration::from_secs;
    let deep = TimePlan::of(&config, QueryMode::DeepResearch);
    let times = (deep.last_step, deep.research, deep.synthesis);
    assert_eq!(times, (seconds(240), seconds(270), seconds(290)));
    assert!(deep.may_begin_step(seconds(239)) && !deep.may_begin_step(seconds(240)));
    assert_eq!(TimePlan::of(&config, QueryMode::WebSearch).synthesis, seconds(15));
    // The reserve is at most a tenth of the time.
    let short = Config::from_json(&json!({"research_timeout_s": 4})).unwrap();
    let short = TimePlan::of(&short, QueryMode::DeepResearch);
    assert_eq!(short.synthesis, Duration::from_millis(3_600));
}

#[test]
fn settings_out_of_range_name_their_key() {
    for (settings, key) in [
        (json!({"research_share": 1.5}), "research_share"),
        (json!({"delivery_reserve_s": -1}), "delivery_reserve_s"),
        (json!({"content_storage": 0}), "content_storage"),
        (json!({"web_search_timeout_s": 0}), "web_search_timeout_s"),
        (json!({"depth": "deep"}), "depth"),
    ] {
        let fault = Config::from_json(&settings).unwrap_err();
        assert_eq!(fault.code, "system_setting_invalid");
        assert!(fault.message.contains(key), "{}", fault.message);
    }
    let mut light = serde_json::to_value(Config::default().light).unwrap();
    light["min_steps"] = json!(4);
    let fault = Config::from_json(&json!({"light": light})).unwrap_err();
    assert!(fault.message.contains("light.max_steps"), "{}", fault.message);
}

#[test]
fn a_part_of_a_question_that_cannot_be_read_is_named() {
    let fault = ResearchRequest::read(&json!({"question": "q", "research_depth": "lite"}));
    let fault = fault.unwrap_err();
    assert_eq!(fault.code, "input_invalid");
    let message = "`research_depth` must be one of `auto`, `light`, `medium`, `extended`: \"lite\"";
    assert_eq!((&*fault.message, fault.hint.as_deref()), (message, Some("did you mean `light`?")));
}

#[test]
fn settings_that_are_given_in_part_keep_the_other_defaults() {
    let config = Config::from_json(&json!({
        "medium": {"max_steps": 4},
        "citation": {"max_external_searches": 2},
    }))
    .unwrap();
    assert_eq!(config.medium, DepthSettings { max_steps: 4, ..Config::default().medium });
    assert_eq!(config.light, Config::default().light);
    let light = config.citation(Depth::Light).unwrap();
    assert_eq!((light.max_external_searches, light.max_words, light.revises), (2, 1_200, false));
    assert!(config.citation(Depth::Medium).unwrap().revises);
    for (settings, part) in [
        (json!({"light": {"max_step": 2}}), "unknown setting of the deep research: light.max_step"),
        (
            json!({"light": {"max_steps": "two"}}),
            "`light.max_steps` must be a non-negative integer: a string",
        ),
        (json!({"citation": {"keyword_weight": 2}}), "`keyword_weight` must be from 0 to 1: 2"),
        (json!({"citation": {"max_facts": 0}}), "`max_facts` must be at least 1"),
        (json!({"citation": {"revises": 1}}), "`citation.revises` must be true or false: a number"),
        (json!({"citation": {"max_words": 10}}), "light.max_words"),
        (
            json!({"citation": {"max_fact": 1}}),
            "unknown setting of the deep research: citation.max_fact",
        ),
    ] {
        let fault = Config::from_json(&settings).unwrap_err();
        assert_eq!(fault.code, "system_setting_invalid");
        assert!(fault.message.contains(part), "{}", fault.message);
    }
}
