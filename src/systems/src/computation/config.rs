//! The settings of a computation, checked before anything costs.

use antiphon_core::Fault;
use antiphon_core::budget::{BudgetDimension, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::config::{check_temperature, invalid, read, seconds};
use crate::system::SystemConfig;

/// How a question is computed. Keys that do not exist are errors.
///
/// ```
/// use antiphon_systems::computation::Config;
/// use serde_json::json;
/// assert_eq!(Config::from_json(&json!({})).unwrap().max_attempts, 2);
/// assert!(Config::from_json(&json!({"max_attempts": 0})).is_err());
/// assert!(Config::from_json(&json!({"attempts": 3})).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Pieces of code that are tried; 1 to 10, by default 2.
    pub max_attempts: u32,
    /// 0 is the least random; by default the model's own. Some models accept no other.
    pub temperature: Option<f64>,
    /// How often the model is asked again for a reply that does not fit, by default 1.
    pub max_reasks: u32,
    /// Further facts in an answer, by default 5.
    pub max_highlights: usize,
    /// Characters of a result, and of what was printed, that the model gets to
    /// read to put it into words; by default 4,000.
    pub max_shown: usize,
    /// What to heed when the result is put into words; by default nothing.
    pub guidance: String,
    /// Packages that the code may import, for the model to know of.
    pub packages: Vec<String>,
    /// Whether a model puts the result into words, by default yes.
    pub summarise: bool,
    /// Whether the model says how it gets to the answer before it writes code,
    /// by default yes. The smallest ones write better code without.
    pub reasoning: bool,
    /// Whether other code, which the model writes without a look at the first, has to come to the
    /// same result; by default for small models.
    pub cross_check: Option<bool>,
    /// Seconds that a question may take, by default 120.
    pub question_timeout_s: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_attempts: 2,
            temperature: None,
            max_reasks: 1,
            max_highlights: 5,
            max_shown: 4_000,
            guidance: String::new(),
            packages: Vec::new(),
            summarise: true,
            reasoning: true,
            cross_check: None,
            question_timeout_s: 120.0,
        }
    }
}

impl Config {
    /// Reads and checks settings; what is left out keeps its default.
    ///
    /// # Errors
    /// A `Validation` fault `system_setting_invalid`.
    pub fn from_json(settings: &Json) -> Result<Self, Fault> {
        read(settings)
    }
}

impl SystemConfig for Config {
    const LABEL: &'static str = "computation";

    fn check(&self) -> Result<(), Fault> {
        let Self { max_attempts, max_shown, .. } = self;
        if !(1..=10).contains(max_attempts) {
            return Err(invalid(format!("`max_attempts` must be from 1 to 10: {max_attempts}")));
        }
        check_temperature(self.temperature)?;
        if !(100..=100_000).contains(max_shown) {
            return Err(invalid(format!("`max_shown` must be from 100 to 100,000: {max_shown}")));
        }
        seconds("question_timeout_s", self.question_timeout_s)?;
        Ok(())
    }

    fn limits(&self) -> Limits {
        let wall_time = seconds("question_timeout_s", self.question_timeout_s).ok();
        Limits { wall_time, ..Limits::default() }
    }

    fn setting_of(limit: BudgetDimension) -> Option<&'static str> {
        (limit == BudgetDimension::WallTime).then_some("question_timeout_s")
    }
}
