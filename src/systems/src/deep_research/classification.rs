//! What kind of question it is, and how thorough its research is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way a question takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueryMode {
    /// One model request answers.
    Simple,
    /// One step of research, then the report.
    WebSearch,
    /// A plan, researched step by step.
    #[default]
    DeepResearch,
}

/// How thorough a research is asked to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResearchDepth {
    /// As the question needs.
    #[default]
    Auto,
    /// 1 to 3 steps.
    Light,
    /// 3 to 6 steps.
    Medium,
    /// 5 to 10 steps.
    Extended,
}

/// How thorough a research is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// 1 to 3 steps.
    Light,
    /// 3 to 6 steps.
    #[default]
    Medium,
    /// 5 to 10 steps.
    Extended,
}

/// How much work a question is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// One fact.
    Simple,
    /// A few facts that belong together.
    #[default]
    Moderate,
    /// Several topics, or a comparison of many things.
    Complex,
}

/// How a question relates to those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// It asks what an answer meant.
    Clarification,
    /// It asks for more about the same.
    ComplexFollowUp,
    /// It is about something else.
    #[default]
    NewTopic,
}

/// What the coordinator says of a question. The default is what counts if it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueryClassification {
    /// Whether it can mean several things that need different research.
    pub is_ambiguous: bool,
    /// How much work it is.
    pub complexity: Complexity,
    /// Why.
    pub reasoning: String,
    /// What a person would have to say.
    pub clarifying_questions: Vec<String>,
    /// How thorough the research should be.
    pub recommended_depth: ResearchDepth,
    /// How it relates to the questions before it.
    pub follow_up_type: FollowUp,
}

impl ResearchDepth {
    const fn chosen(self) -> Option<Depth> {
        match self {
            Self::Auto => None,
            Self::Light => Some(Depth::Light),
            Self::Medium => Some(Depth::Medium),
            Self::Extended => Some(Depth::Extended),
        }
    }
}

impl Depth {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Medium => "medium",
            Self::Extended => "extended",
        }
    }

    /// The depth of a question: what was asked for, else what the coordinator recommends, else
    /// what its complexity needs.
    pub fn resolve(asked: ResearchDepth, classified: Option<&QueryClassification>) -> Self {
        let recommended = || classified.and_then(|it| it.recommended_depth.chosen());
        let needed = || {
            classified.map(|it| match it.complexity {
                Complexity::Simple => Self::Light,
                Complexity::Moderate => Self::Medium,
                Complexity::Complex => Self::Extended,
            })
        };
        asked.chosen().or_else(recommended).or_else(needed).unwrap_or_default()
    }
}

/// What the coordinator decides by.
#[derive(Clone, Copy, Debug)]
pub struct ClarificationSituation<'c> {
    /// What it said of the question.
    pub classified: &'c QueryClassification,
    /// Whether a person may be asked.
    pub is_enabled: bool,
    /// How often a person was asked.
    pub rounds: usize,
    /// How often a person may be asked.
    pub max_rounds: usize,
}

impl ClarificationSituation<'_> {
    /// Whether a person is asked what the question means.
    pub fn needs_person(&self) -> bool {
        let has_question = !self.classified.clarifying_questions.is_empty();
        self.is_enabled
            && self.classified.is_ambiguous
            && has_question
            && self.rounds < self.max_rounds
    }
}
