//! The steps of a question, and who does them.

use serde::{Deserialize, Serialize};

/// Where a question stands. Names on the wire are exact.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum StepName {
    /// The question has been read.
    #[default]
    Input,
    /// The work is split into steps.
    Planner,
    /// The plan is reviewed.
    CriticPlanner,
    /// Something is looked up.
    Researcher,
    /// What was looked up is reviewed.
    CriticResearcher,
    /// The answer is worked out.
    Expert,
    /// The answer is reviewed.
    CriticExpert,
    /// The answer is put into its final words.
    Finalizer,
}

impl StepName {
    /// All steps, in the order of a question without rejections.
    pub const ALL: [Self; 8] = [
        Self::Input,
        Self::Planner,
        Self::CriticPlanner,
        Self::Researcher,
        Self::CriticResearcher,
        Self::Expert,
        Self::CriticExpert,
        Self::Finalizer,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Planner => "planner",
            Self::CriticPlanner => "critic_planner",
            Self::Researcher => "researcher",
            Self::CriticResearcher => "critic_researcher",
            Self::Expert => "expert",
            Self::CriticExpert => "critic_expert",
            Self::Finalizer => "finalizer",
        }
    }

    /// The step of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == name)
    }

    /// Whose work the step makes or reviews.
    pub const fn worker(self) -> Option<Worker> {
        match self {
            Self::Planner | Self::CriticPlanner => Some(Worker::Planner),
            Self::Researcher | Self::CriticResearcher => Some(Worker::Researcher),
            Self::Expert | Self::CriticExpert => Some(Worker::Expert),
            Self::Input | Self::Finalizer => None,
        }
    }

    /// Whether the step is done once per research step.
    pub const fn is_research(self) -> bool {
        matches!(self, Self::Researcher | Self::CriticResearcher)
    }

    /// Whether the step reviews another's work.
    pub const fn is_critic(self) -> bool {
        matches!(self, Self::CriticPlanner | Self::CriticResearcher | Self::CriticExpert)
    }
}

/// An agent whose work is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Worker {
    /// Splits the question into steps.
    Planner,
    /// Looks things up.
    Researcher,
    /// Works out the answer.
    Expert,
}

impl Worker {
    /// The step in which it works; also its name on the wire.
    pub const fn step(self) -> StepName {
        match self {
            Self::Planner => StepName::Planner,
            Self::Researcher => StepName::Researcher,
            Self::Expert => StepName::Expert,
        }
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        self.step().as_str()
    }
}
