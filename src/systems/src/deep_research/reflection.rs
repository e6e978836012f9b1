//! What the reflector decides after a step, and what its decision is held to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the research goes on after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectionDecision {
    /// With the next step.
    #[default]
    Continue,
    /// With another plan.
    Adjust,
    /// With the report.
    Complete,
}

/// What the reflector says after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReflectionResult {
    /// How the research goes on.
    pub decision: ReflectionDecision,
    /// Why.
    pub reasoning: String,
    /// What another plan should do.
    pub suggested_changes: Vec<String>,
    /// Topics that are still to be researched.
    pub remaining_topics: Vec<String>,
    /// Topics that are covered.
    pub covered_topics: Vec<String>,
    /// What is missing of those.
    pub coverage_gaps: Vec<String>,
}

/// What a decision is held to.
#[derive(Clone, Copy, Debug)]
pub struct ReflectionSituation {
    /// Completed steps.
    pub completed: usize,
    /// Steps that wait for their turn.
    pub pending: usize,
    /// The least number of steps; 0 if it is not enforced.
    pub min_steps: usize,
    /// Plans so far.
    pub plan_iterations: usize,
    /// The most plans.
    pub max_plan_iterations: usize,
}

impl ReflectionSituation {
    /// The decision that counts, and whether it is another one than the reflector's.
    pub fn settle(&self, mut said: ReflectionResult) -> (ReflectionResult, bool) {
        let asked = said.decision;
        let may_adjust = self.plan_iterations < self.max_plan_iterations;
        // Without another plan there are no more steps than this one has.
        let least = if may_adjust {
            self.min_steps
        } else {
            self.min_steps.min(self.completed + self.pending)
        };
        if said.decision == ReflectionDecision::Complete && self.completed < least {
            said.decision = if self.pending == 0 {
                ReflectionDecision::Adjust
            } else {
                ReflectionDecision::Continue
            };
        }
        if said.decision == ReflectionDecision::Adjust && !may_adjust {
            said.decision = ReflectionDecision::Continue;
        }
        if said.decision == ReflectionDecision::Adjust && said.suggested_changes.is_empty() {
            said.suggested_changes = vec![said.reasoning.clone()];
        }
        let is_overridden = said.decision != asked;
        (said, is_overridden)
    }
}
