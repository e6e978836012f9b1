//! Runs without an answer because no request to a model succeeded: one rule for all systems.

use antiphon_core::Fault;
use antiphon_core::graph::Graph;
use antiphon_core::run::Run;
use serde::Deserialize;
use serde_json::Value as Json;

use super::RunEnding;
use crate::node::RunScope;
use crate::request_tally::is_request_failure;
use crate::result::Outcome;
use crate::state::ERROR;
use crate::system::System;

/// Why such a run has no answer; its fault says what the requests failed with.
const NOT_ASKED: &str = "no request to a model succeeded";

/// How a run ended, its fault, and the reason if it has no answer since no request succeeded: it
/// has failed then, however its graph ended.
pub(super) fn ending_of_requests<S: System>(
    (graph, run, state): (&Graph<Json>, &Run<Json>, &S::State),
    (ending, fault): (RunEnding, Option<Fault>),
    scope: &RunScope<S>,
) -> (RunEnding, Option<Fault>, Option<String>) {
    let usage = run.budget().spent().usage;
    if scope.requests.has_reply() || usage.input_tokens + usage.output_tokens > 0 {
        return (ending, fault, None);
    }
    let failure = scope.requests.failure();
    let failure = match (ending, S::completed_outcome(state), &fault) {
        (RunEnding::Completed, Outcome::NoAnswer | Outcome::RetryLimit | Outcome::Error, None) => {
            failure.or_else(|| stored_failure(graph, run))
        }
        // It may have failed for another reason.
        (RunEnding::Failed, _, Some(fault)) => failure.filter(|failure| failure.code == fault.code),
        _ => None,
    };
    match failure {
        Some(failure) => (RunEnding::Failed, fault.or(Some(failure)), Some(NOT_ASKED.to_owned())),
        None => (ending, fault, None),
    }
}

/// What the state of a run that ended before says of its requests.
fn stored_failure(graph: &Graph<Json>, run: &Run<Json>) -> Option<Fault> {
    let stored = run.state().get(graph.channel_id(ERROR)?)?;
    let fault = Fault::deserialize(stored).ok()?;
    (is_request_failure(&fault) && run.budget().spent().model_calls > 0).then_some(fault)
}
