//! The settings of a deep research, checked before anything costs.

use std::time::Duration;

use antiphon_citation::CitationSettings;
use antiphon_core::Fault;
use antiphon_core::budget::{BudgetDimension, Limits};
use schemars::{JsonSchema, Schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::classification::{Depth, QueryMode};
use super::deadline::TimePlan;
use super::partial::replaced;
use super::structured_report::compiled;
use crate::config::{at_least_one, check_temperature, invalid, read, seconds};
use crate::system::SystemConfig;

/// Settings of the stages of citation that each depth has itself.
const WORDS: [&str; 2] = ["min_words", "max_words"];

/// How a question is researched. Keys that do not exist are errors.
///
/// ```
/// use antiphon_systems::deep_research::{Config, Depth};
/// use serde_json::json;
/// let config = Config::from_json(&json!({"research_timeout_s": 60})).unwrap();
/// assert_eq!(config.depth(Depth::Medium).max_steps, 6);
/// assert!(Config::from_json(&json!({"max_plan_iterations": 0})).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The least thorough research; keys that are left out keep their defaults.
    #[serde(deserialize_with = "light")]
    pub light: DepthSettings,
    /// The usual research, as `light`.
    #[serde(deserialize_with = "medium")]
    pub medium: DepthSettings,
    /// The most thorough research, as `light`.
    #[serde(deserialize_with = "extended")]
    pub extended: DepthSettings,
    /// Settings of the stages of citation in place of those of the depth, by default none.
    #[serde(deserialize_with = "citation")]
    #[schemars(with = "CitationSettings")]
    pub citation: Map<String, Json>,
    /// Whether a few searches are made before the first plan, by default yes.
    pub background_investigation: bool,
    /// Searches before the first plan, by default 3.
    pub max_background_queries: usize,
    /// Results that each of them contributes, by default 3.
    pub background_results_per_query: usize,
    /// Results that they contribute in all, by default 5.
    pub max_background_results: usize,
    /// Times that a person is asked what a question means, by default 3.
    pub max_clarification_rounds: usize,
    /// Questions that a person is asked at a time, by default 3.
    pub max_clarifying_questions: usize,
    /// Plans of one question, the first included; by default 3.
    pub max_plan_iterations: usize,
    /// Whether the research goes on until the depth's least number of steps, by default yes.
    pub enforce_min_steps: bool,
    /// Searches that a step of the classic researcher may ask for, by default 3.
    pub max_generated_queries: usize,
    /// Results of each search, by default 5.
    pub max_search_results: usize,
    /// Characters of a page that a model reads, by default 3,000.
    pub content_preview: usize,
    /// Characters of a page that are kept, by default 10,000.
    pub content_storage: usize,
    /// Earlier observations that the researcher reads, by default 10.
    pub max_previous_observations: usize,
    /// Failed steps in a row after which the report is written, by default 3.
    pub max_failed_steps: usize,
    /// Seconds a search may take, by default 30.
    pub search_timeout_s: f64,
    /// Seconds a page may take, by default 30.
    pub page_timeout_s: f64,
    /// Seconds a direct answer may take, by default 30.
    pub simple_timeout_s: f64,
    /// Seconds after which a web search is answered directly, by default 15.
    pub web_search_timeout_s: f64,
    /// Seconds a deep research may take, by default 300.
    pub research_timeout_s: f64,
    /// The share of that time after which no step begins, by default 0.8.
    pub research_share: f64,
    /// Seconds that are kept for delivering the report, by default 10; at most a tenth of
    /// `research_timeout_s`.
    pub delivery_reserve_s: f64,
    /// Earlier questions that a thread keeps, by default 10.
    pub history_turns: usize,
    /// 0 is the least random; by default each model's own. Some models accept no other.
    pub temperature: Option<f64>,
    /// How often a model is asked again for a reply that does not fit, by default 1.
    pub max_reasks: u32,
    /// The JSON Schema of the reports, by default none: they are Markdown.
    pub output: Option<Json>,
}

/// How thorough one depth is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = without_required)]
pub struct DepthSettings {
    /// The least number of steps.
    pub min_steps: usize,
    /// The most steps.
    pub max_steps: usize,
    /// The least number of words of the report.
    pub min_words: usize,
    /// The most words of the report.
    pub max_words: usize,
    /// How a step is researched.
    pub researcher: ResearcherMode,
    /// Searches of a step of the classic researcher.
    pub max_search_queries: usize,
    /// Pages that a step of the classic researcher reads.
    pub max_pages: usize,
    /// Searches and pages of a step in which the model decides.
    pub max_tool_calls: usize,
}

/// How a step is researched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResearcherMode {
    /// Some searches, then the best pages.
    #[default]
    Classic,
    /// The model decides after each result what to search or read next.
    React,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            light: DepthSettings::LIGHT,
            medium: DepthSettings::MEDIUM,
            extended: DepthSettings::EXTENDED,
            citation: Map::new(),
            background_investigation: true,
            max_background_queries: 3,
            background_results_per_query: 3,
            max_background_results: 5,
            max_clarification_rounds: 3,
            max_clarifying_questions: 3,
            max_plan_iterations: 3,
            enforce_min_steps: true,
            max_generated_queries: 3,
            max_search_results: 5,
            content_preview: 3_000,
            content_storage: 10_000,
            max_previous_observations: 10,
            max_failed_steps: 3,
            search_timeout_s: 30.0,
            page_timeout_s: 30.0,
            simple_timeout_s: 30.0,
            web_search_timeout_s: 15.0,
            research_timeout_s: 300.0,
            research_share: 0.8,
            delivery_reserve_s: 10.0,
            history_turns: 10,
            temperature: None,
            max_reasks: 1,
            output: None,
        }
    }
}

impl DepthSettings {
    const LIGHT: Self = Self::new((1, 3), (800, 1_200), ResearcherMode::Classic, (2, 3), 8);
    const MEDIUM: Self = Self::new((3, 6), (1_200, 2_000), ResearcherMode::React, (3, 5), 12);
    const EXTENDED: Self = Self::new((5, 10), (1_500, 3_200), ResearcherMode::React, (4, 8), 20);

    const fn new(
        (min_steps, max_steps): (usize, usize),
        (min_words, max_words): (usize, usize),
        researcher: ResearcherMode,
        (max_search_queries, max_pages): (usize, usize),
        max_tool_calls: usize,
    ) -> Self {
        Self {
            min_steps,
            max_steps,
            min_words,
            max_words,
            researcher,
            max_search_queries,
            max_pages,
            max_tool_calls,
        }
    }

    fn check(&self, depth: &str) -> Result<(), Fault> {
        for (key, value) in [
            ("min_steps", self.min_steps),
            ("max_words", self.max_words),
            ("max_search_queries", self.max_search_queries),
            ("max_pages", self.max_pages),
            ("max_tool_calls", self.max_tool_calls),
        ] {
            at_least_one(&format!("{depth}.{key}"), value as u64)?;
        }
        for (key, least, most) in
            [("steps", self.min_steps, self.max_steps), ("words", self.min_words, self.max_words)]
        {
            if least > most {
                let message = format!("`{depth}.max_{key}` must be at least {least}: {most}");
                return Err(invalid(message));
            }
        }
        Ok(())
    }
}

fn light<'de, D: Deserializer<'de>>(given: D) -> Result<DepthSettings, D::Error> {
    given_in_part(given, &DepthSettings::LIGHT)
}

fn medium<'de, D: Deserializer<'de>>(given: D) -> Result<DepthSettings, D::Error> {
    given_in_part(given, &DepthSettings::MEDIUM)
}

fn extended<'de, D: Deserializer<'de>>(given: D) -> Result<DepthSettings, D::Error> {
    given_in_part(given, &DepthSettings::EXTENDED)
}

/// Of any depth, they fit the settings of the stages.
fn citation<'de, D: Deserializer<'de>>(given: D) -> Result<Map<String, Json>, D::Error> {
    let given = Map::deserialize(given)?;
    replaced(&CitationSettings::extended(), &given).map_err(D::Error::custom)?;
    Ok(given)
}

fn given_in_part<'de, D: Deserializer<'de>>(
    given: D,
    depth: &DepthSettings,
) -> Result<DepthSettings, D::Error> {
    replaced(depth, &Map::deserialize(given)?).map_err(D::Error::custom)
}

/// No key of a depth has to be given.
fn without_required(schema: &mut Schema) {
    schema.remove("required");
}

impl Config {
    /// Reads and checks settings; what is left out keeps its default.
    ///
    /// # Errors
    /// A `Validation` fault `system_setting_invalid`.
    pub fn from_json(settings: &Json) -> Result<Self, Fault> {
        read(settings)
    }

    /// The settings of a depth.
    pub const fn depth(&self, depth: Depth) -> &DepthSettings {
        match depth {
            Depth::Light => &self.light,
            Depth::Medium => &self.medium,
            Depth::Extended => &self.extended,
        }
    }

    /// The settings of the stages of citation in a depth.
    ///
    /// # Errors
    /// A `Validation` fault `system_setting_invalid`.
    pub fn citation(&self, depth: Depth) -> Result<CitationSettings, Fault> {
        let usual = match depth {
            Depth::Light => CitationSettings::light(),
            Depth::Medium => CitationSettings::medium(),
            Depth::Extended => CitationSettings::extended(),
        };
        for key in WORDS {
            if self.citation.contains_key(key) {
                let message = format!("`citation.{key}` is a setting of a depth: light.{key}");
                return Err(invalid(message));
            }
        }
        let settings = replaced(&usual, &self.citation)
            .map_err(|error| invalid(format!("`citation` is invalid: {error}")))?;
        if let Some(error) = settings.out_of_range() {
            return Err(invalid(format!("`citation` is invalid: {error}")));
        }
        let DepthSettings { min_words, max_words, .. } = *self.depth(depth);
        Ok(CitationSettings { min_words, max_words, ..settings })
    }

    fn times(&self) -> [(&'static str, f64); 5] {
        [
            ("search_timeout_s", self.search_timeout_s),
            ("page_timeout_s", self.page_timeout_s),
            ("simple_timeout_s", self.simple_timeout_s),
            ("web_search_timeout_s", self.web_search_timeout_s),
            ("research_timeout_s", self.research_timeout_s),
        ]
    }

    fn counts(&self) -> [(&'static str, usize); 9] {
        [
            ("max_background_queries", self.max_background_queries),
            ("background_results_per_query", self.background_results_per_query),
            ("max_background_results", self.max_background_results),
            ("max_plan_iterations", self.max_plan_iterations),
            ("max_generated_queries", self.max_generated_queries),
            ("max_search_results", self.max_search_results),
            ("content_preview", self.content_preview),
            ("content_storage", self.content_storage),
            ("max_failed_steps", self.max_failed_steps),
        ]
    }
}

impl SystemConfig for Config {
    const LABEL: &'static str = "deep research";

    fn check(&self) -> Result<(), Fault> {
        self.light.check("light")?;
        self.medium.check("medium")?;
        self.extended.check("extended")?;
        self.citation(Depth::Extended)?;
        self.output.as_ref().map(compiled).transpose()?;
        for (key, value) in self.counts() {
            at_least_one(key, value as u64)?;
        }
        for (key, value) in self.times() {
            seconds(key, value)?;
        }
        if !(0.0..=1.0).contains(&self.research_share) {
            let value = self.research_share;
            return Err(invalid(format!("`research_share` must be from 0 to 1: {value}")));
        }
        if !(0.0..f64::INFINITY).contains(&self.delivery_reserve_s) {
            let value = self.delivery_reserve_s;
            let message = format!("`delivery_reserve_s` must be a number of seconds: {value}");
            return Err(invalid(message));
        }
        check_temperature(self.temperature)
    }

    /// The longest that any mode takes; the modes keep their own times before it.
    fn limits(&self) -> Limits {
        let searched = self.web_search_timeout_s + self.simple_timeout_s;
        let searched = Duration::try_from_secs_f64(searched).unwrap_or(Duration::MAX);
        let longest = TimePlan::of(self, QueryMode::DeepResearch).synthesis.max(searched);
        Limits {
            wall_time: Some(longest).filter(|time| *time < Duration::MAX),
            ..Limits::default()
        }
    }

    fn setting_of(limit: BudgetDimension) -> Option<&'static str> {
        (limit == BudgetDimension::WallTime).then_some("research_timeout_s")
    }
}
