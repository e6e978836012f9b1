//! The plan of a research: its steps, and what stays of them when it changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prompt::is_copied;

/// What a step does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepType {
    /// It looks for something.
    #[default]
    Research,
    /// It thinks about what was found.
    Analysis,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It waits for its turn.
    #[default]
    Pending,
    /// It is researched.
    InProgress,
    /// It has an observation.
    Completed,
    /// It is not researched any more.
    Skipped,
}

/// One step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// Its id, which no other step of the question has.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// What exactly is to be found.
    pub description: String,
    /// What it does.
    pub step_type: StepType,
    /// Whether it searches.
    pub needs_search: bool,
    /// How far it is.
    pub status: StepStatus,
    /// What was found, once it is completed.
    pub observation: Option<String>,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResearchPlan {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Why it has these steps.
    pub thought: String,
    /// The steps, in the order in which they are researched.
    pub steps: Vec<PlanStep>,
    /// Whether the question can be answered without further steps.
    pub has_enough_context: bool,
    /// 1 for the first plan of a question.
    pub iteration: usize,
    /// When it was made, RFC 3339 in UTC.
    pub created_at: String,
}

/// A step as the planner writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StepDraft {
    /// What it is about.
    pub title: String,
    /// What exactly is to be found.
    pub description: String,
    /// What it does.
    pub step_type: StepType,
    /// Whether it searches; by default a step of research does.
    pub needs_search: Option<bool>,
}

impl StepDraft {
    /// Takes out what was copied from the form; the description stands for such a title.
    pub(super) fn drop_copied(&mut self) {
        if is_copied(&self.description) {
            self.description.clear();
        }
        if is_copied(&self.title) {
            self.title.clone_from(&self.description);
        }
    }
}

/// A plan as the planner writes it: it names no ids, and no steps that are completed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PlanDraft {
    /// What it is about.
    pub title: String,
    /// Why it has these steps.
    pub thought: String,
    /// Whether the question can be answered without further steps.
    pub has_enough_context: bool,
    /// The new steps.
    pub steps: Vec<StepDraft>,
}

impl PlanDraft {
    /// A plan of one step, which looks for the question itself.
    pub fn of_question(query: &str) -> Self {
        let step = StepDraft {
            title: query.to_owned(),
            description: query.to_owned(),
            ..StepDraft::default()
        };
        Self { title: query.to_owned(), steps: vec![step], ..Self::default() }
    }
}

impl ResearchPlan {
    /// The plan that follows `previous`: its completed steps, unchanged and in their order, then
    /// the new ones. A new step with the title of one that is already there is left out, and so
    /// is what exceeds `max_steps`.
    pub fn revised(previous: Option<&Self>, draft: PlanDraft, max_steps: usize) -> Self {
        let iteration = previous.map_or(0, |plan| plan.iteration) + 1;
        let mut steps: Vec<PlanStep> =
            previous.into_iter().flat_map(Self::completed).cloned().collect();
        for (number, draft) in (1..).zip(draft.steps) {
            let title = normal(&draft.title);
            let is_known = steps.iter().any(|step| normal(&step.title) == title);
            if title.is_empty() || is_known || steps.len() >= max_steps {
                continue;
            }
            let needs_search = draft.needs_search.unwrap_or(draft.step_type == StepType::Research);
            steps.push(PlanStep {
                id: format!("step-{iteration}-{number}"),
                title: draft.title.trim().to_owned(),
                description: draft.description.trim().to_owned(),
                step_type: draft.step_type,
                needs_search,
                status: StepStatus::Pending,
                observation: None,
            });
        }
        Self {
            id: format!("plan-{iteration}"),
            title: draft.title,
            thought: draft.thought,
            steps,
            has_enough_context: draft.has_enough_context,
            iteration,
            created_at: String::new(),
        }
    }

    /// The steps with an observation.
    pub fn completed(&self) -> impl Iterator<Item = &PlanStep> {
        self.steps.iter().filter(|step| step.status == StepStatus::Completed)
    }

    /// The place of the step that is researched next, or now.
    pub fn next(&self) -> Option<usize> {
        self.steps.iter().position(PlanStep::is_open)
    }

    /// Takes the observation of a step over; one that has an observation keeps it.
    pub fn complete(&mut self, place: usize, observation: &str) {
        if let Some(step) = self.steps.get_mut(place).filter(|step| step.is_open()) {
            step.status = StepStatus::Completed;
            step.observation = Some(observation.to_owned());
        }
    }

    /// Skips all steps without an observation, and returns them.
    pub fn skip_open(&mut self) -> Vec<PlanStep> {
        let open = self.steps.iter_mut().filter(|step| step.is_open());
        open.map(|step| {
            step.status = StepStatus::Skipped;
            step.clone()
        })
        .collect()
    }
}

impl PlanStep {
    /// Whether it has still to be researched.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, StepStatus::Pending | StepStatus::InProgress)
    }

    /// Whether it is researched with tools.
    pub fn searches(&self) -> bool {
        self.needs_search && self.step_type == StepType::Research
    }
}

/// What happens with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanVerdict {
    /// Its steps are researched.
    Research,
    /// The planner is asked again, because the plan has too few steps.
    AskAgain,
    /// The report is written from what is known.
    Synthesize,
    /// Nothing is known and nothing planned: the question is answered directly.
    Respond,
}

/// What a plan is judged by.
#[derive(Clone, Copy, Debug)]
pub struct PlanSituation {
    /// Completed steps.
    pub completed: usize,
    /// All steps.
    pub steps: usize,
    /// The least number of steps.
    pub min_steps: usize,
    /// Whether there is a source, or a result of the background searches.
    pub has_sources: bool,
    /// Whether the planner says that the question can be answered.
    pub has_enough_context: bool,
    /// Whether the planner was already asked again.
    pub is_second: bool,
}

impl PlanSituation {
    /// What happens with the plan.
    pub const fn verdict(&self) -> PlanVerdict {
        let has_new = self.steps > self.completed;
        if self.has_enough_context && (self.completed >= self.min_steps || self.has_sources) {
            return PlanVerdict::Synthesize;
        }
        if self.has_enough_context && !has_new && self.completed == 0 {
            return PlanVerdict::Respond;
        }
        if self.steps < self.min_steps && !self.is_second {
            return PlanVerdict::AskAgain;
        }
        PlanVerdict::Research
    }
}

/// A title in which case, spaces and signs do not matter.
fn normal(title: &str) -> String {
    let words = title.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}
