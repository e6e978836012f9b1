//! For all verdicts of critics, a question ends, and the counts add up.

use antiphon_core::{Fault, FaultCode};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::{ManualClock, Model};
use antiphon_systems::review_loop::config::{AgentLimits, LimitScope, OnFailure};
use antiphon_systems::review_loop::decide::{DecisionContext, Failure, Limits, RetryTally, decide};
use antiphon_systems::review_loop::state::Decision as Judgement;
use antiphon_systems::review_loop::{Config, FAILURE_TEXT, ReviewLoop, StepName};
use antiphon_systems::{Outcome, Session, SystemResourcesBuilder, SystemRunner};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

use crate::scene::{always, approve, found, plan, reject, solved};
use crate::tools::search_tool;

/// What a critic says next: approval, a rejection, nonsense, or nothing.
fn verdict(kind: u8) -> ScriptedReply {
    match kind {
        0 | 1 => approve().into(),
        2 => reject("again").into(),
        5 => json!({"decision": "reject", "feedback": "more", "needs_research": true}).into(),
        3 => ScriptedReply::text("hm"),
        _ => Fault::new(FaultCode::ModelTimeout, "too late: x").into(),
    }
}

fn judgement() -> impl Strategy<Value = Judgement> {
    prop_oneof![
        Just(Judgement::None),
        Just(Judgement::Approve),
        Just(Judgement::Reject),
        Just(Judgement::NotKnown),
    ]
}

fn failure() -> impl Strategy<Value = Option<Failure>> {
    prop_oneof![
        4 => Just(None),
        1 => (1_u32..4).prop_map(|count| Some(Failure::Passing(count))),
        1 => Just(Some(Failure::Lasting(Outcome::Error))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_sequence_of_verdicts_ends_within_the_limits(
        verdicts in prop::collection::vec(0_u8..6, 0..40),
        steps in 0_usize..4,
        limit in 1_u32..7,
        (parallel, escalates) in any::<(bool, bool)>(),
    ) {
        let names: Vec<String> = (0..steps).map(|step| format!("s{step}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let critic = ScriptBranch::tag("role", "critic").replies(verdicts.into_iter().map(verdict));
        let model = ScriptedModel::new::<&str>([])
            .branch(always("planner", plan(&names, &["e"])))
            .branch(always("researcher", found("a")))
            .branch(always("expert", solved("x", "why")))
            .branch(critic.then_always(approve()));
        let model: Arc<dyn Model> = Arc::new(model);
        let mode = if parallel { "parallel" } else { "sequential" };
        let settings = json!({
            "retry_limit": limit, "research_mode": mode, "escalate_to_planner": escalates,
        });
        let config = Config::from_json(&settings).unwrap();
        let resources = SystemResourcesBuilder::new().model(model);
        let resources = resources.tools("researcher", vec![search_tool(true)]);
        let system = SystemRunner::<ReviewLoop>::new(config, resources).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let session = Session::new(Arc::new(ManualClock::default()));
        let answer = runtime.block_on(system.ask("q", session)).unwrap();
        answer.state.check().unwrap();
        prop_assert!(answer.output.retry_count <= limit);
        match answer.outcome {
            Outcome::Answered => {
                prop_assert!(answer.output.retry_count < limit);
                prop_assert_eq!(answer.state.research_results.iter().flatten().count(), steps);
            }
            Outcome::RetryLimit => {
                prop_assert_eq!(answer.output.retry_count, limit);
                prop_assert_eq!(answer.output.final_answer.as_str(), FAILURE_TEXT);
            }
            other => prop_assert!(false, "ended as {:?}", other),
        }
    }

    #[test]
    fn the_table_has_an_answer_to_everything(
        step in prop::option::of(0_usize..StepName::ALL.len()),
        (failure, verdict) in (failure(), judgement()),
        (planned, index) in (0_usize..4, -1_i64..4),
        (missing, stalled, given_up) in any::<(bool, bool, bool)>(),
        (total, limit) in (0_u32..6, 1_u32..6),
        (model, words_answers, needs_research) in any::<(bool, bool, bool)>(),
    ) {
        let context = DecisionContext {
            step: step.map(|place| StepName::ALL[place]),
            failure,
            verdict,
            needs_research,
            rejected: if verdict == Judgement::Reject { vec![0] } else { Vec::new() },
            planned,
            index,
            missing,
            stalled,
            given_up,
            tally: RetryTally { total, errors: total, ..RetryTally::default() },
        };
        let on_failure = if model { OnFailure::Model } else { OnFailure::Bypass };
        let per_agent = AgentLimits::default();
        let limits = Limits {
            retries: limit, per_agent, scope: LimitScope::Question, on_failure, words_answers,
        };
        let decision = decide(&context, &limits);
        prop_assert_eq!(&decision, &decide(&context, &limits), "the same again");
        let added = decision.tally.total - total;
        prop_assert!(decision.tally.total <= limit.max(total), "never counts past the limit");
        let counted = decision.tally.by_agent;
        let parts = counted.planner + counted.researcher + counted.expert + decision.tally.errors;
        prop_assert_eq!(parts, total + added, "the parts add up");
        if decision.ending.is_some() {
            prop_assert_eq!(decision.next, Some(StepName::Finalizer));
        }
        if decision.next.is_some() && decision.tally.total >= limit {
            prop_assert_eq!(decision.next, Some(StepName::Finalizer), "no work past the limit");
        }
        if decision.bypass {
            prop_assert!(decision.ending.is_some() || given_up || !words_answers);
        }
    }
}
