//! The nodes of the graph as the driver calls them.

use std::sync::Arc;

use antiphon_core::agent::AgentResult;
use antiphon_core::command::{Destination, Destinations, Update};
use antiphon_core::state::View;
use antiphon_core::task::{Failure, TaskOutcome};
use antiphon_core::{Fault, FaultCode, Message};
use antiphon_runtime::sandbox::{self, GuestFault, GuestFaultKind};
use antiphon_runtime::{Host, Model, NodeCall};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::config::Config;
use super::conversation::{planning, summing_up};
use super::graph::{AGAIN, COMPUTED, LOOK, OVER, PLAN};
use super::outcome::Attempt;
use super::reply::{Plan, Summary, read};
use super::sandbox_runner::SandboxRunner;
use super::shown::{cut, value};
use super::state::State;
use super::task::RESULT;
use crate::patch::Patch;

/// One question with its interpreter.
pub(super) struct ComputationNodes {
    pub(super) config: Arc<Config>,
    pub(super) model: Arc<dyn Model>,
    pub(super) runner: SandboxRunner,
}

impl ComputationNodes {
    async fn work(&self, call: &NodeCall) -> Result<Update<Json>, Fault> {
        if *call.node == *LOOK {
            let inputs = self.runner.look().await.map_err(|trouble| unusable(&trouble))?;
            let mut patch = Patch::default();
            patch.set(State::inputs, inputs);
            return patch.commit(call);
        }
        self.run(call).await
    }

    /// Runs the code that was planned.
    async fn run(&self, call: &NodeCall) -> Result<Update<Json>, Fault> {
        let State { plan, attempts, .. } = call.state.read()?;
        let Plan { reasoning, python, explain } = plan;
        let outcome = self.runner.compute(&python).await.map_err(|trouble| unusable(&trouble))?;
        let trouble = wrong(&outcome);
        let printed = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let mut shown = String::new();
        if trouble.is_none() {
            let text = self.runner.show(&outcome).await.or_else(|| value(&outcome));
            shown = cut(&text.unwrap_or_default(), self.config.max_shown);
        }
        self.runner.clear();
        let kind = trouble.as_ref().map(|trouble| trouble.kind);
        let usage = &outcome.usage;
        call.note(
            "code_ran",
            json!({"attempt": attempts.len() + 1, "trouble": kind, "wall_s": usage.wall.as_secs_f64()}),
        );
        self.runner.keep(outcome);
        let attempt = Attempt { reasoning, python, explain, trouble };
        let mut patch = Patch::default();
        patch
            .set(State::attempts, [attempt])
            .set(State::shown, shown)
            .set(State::printed, cut(&printed, self.config.max_shown));
        patch.commit(call)
    }

    fn verdict(&self, attempts: Option<&Json>) -> &'static str {
        let attempts = attempts.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let trouble = attempts.last().and_then(|last| last.get("trouble"));
        if trouble.is_none_or(Json::is_null) {
            COMPUTED
        } else if attempts.len() < self.config.max_attempts as usize {
            AGAIN
        } else {
            OVER
        }
    }
}

#[async_trait]
impl Host for ComputationNodes {
    async fn node(&self, call: NodeCall) -> TaskOutcome<Json> {
        let failed = |fault: Fault| TaskOutcome::Failed(Box::new(Failure::from(fault)));
        self.work(&call).await.map_or_else(failed, TaskOutcome::Done)
    }

    async fn open(&self, call: NodeCall) -> Result<Vec<Message>, Fault> {
        let state: State = call.state.read()?;
        let opening = if *call.node == *PLAN { planning } else { summing_up };
        opening(&self.runner.task, &state, &self.config)
    }

    async fn close(&self, call: NodeCall, conclusion: AgentResult) -> Result<Update<Json>, Fault> {
        let mut patch = Patch::default();
        if *call.node == *PLAN {
            let plan: Plan = read(conclusion.value)?;
            let note = json!({"python": plan.python, "explain": plan.explain});
            patch.note("code_planned", note).set(State::plan, plan);
        } else {
            patch.set(State::summary, read::<Summary>(conclusion.value)?);
        }
        patch.commit(&call)
    }

    fn model(&self, _: &NodeCall) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::clone(&self.model))
    }

    fn route(&self, _: u32, view: &View<'_, Json>) -> Result<Destinations<Json>, Fault> {
        let label = self.verdict(view.named(State::attempts.name()));
        Ok(Destinations::from_iter([Destination::Name(label.into())]))
    }
}

/// Why there is no result, if there is none.
fn wrong(outcome: &sandbox::JobOutcome) -> Option<GuestFault> {
    if outcome.error.is_some() {
        return outcome.error.clone();
    }
    let has_table = outcome.tables.iter().any(|table| table.name == RESULT);
    if outcome.locals.contains_key(RESULT) || has_table {
        return None;
    }
    let lost = outcome.local_errors.get(RESULT).or_else(|| outcome.table_errors.get(RESULT));
    if let Some(trouble) = lost {
        return Some(trouble.clone());
    }
    // A last expression will do: what was meant is plain.
    if outcome.value.as_ref().is_some_and(|value| !value.is_null()) {
        return None;
    }
    let missing = format!("the code assigned nothing to `{RESULT}`");
    Some(
        outcome
            .value_error
            .clone()
            .unwrap_or_else(|| GuestFault::new(GuestFaultKind::PythonError, missing)),
    )
}

/// A trouble that other code does not mend, as the fault of its node.
fn unusable(trouble: &GuestFault) -> Fault {
    let code = match trouble.kind {
        GuestFaultKind::Cancelled => FaultCode::RunCancelled,
        GuestFaultKind::Unavailable => FaultCode::SandboxUnavailable,
        _ => FaultCode::SandboxCrashed,
    };
    Fault::new(code, trouble.message.clone())
}
