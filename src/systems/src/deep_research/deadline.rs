//! The times of one question, counted from its start.

use std::time::Duration;

use super::classification::QueryMode;
use super::config::Config;

/// The times of one question, counted from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimePlan {
    /// When no further step begins.
    pub last_step: Duration,
    /// When research in progress is given up.
    pub research: Duration,
    /// When the report is given up.
    pub synthesis: Duration,
}

/// The share of the time of a research that is kept for delivering the report, at most.
const RESERVE: f64 = 0.1;

impl TimePlan {
    /// The times of a mode.
    pub fn of(config: &Config, mode: QueryMode) -> Self {
        let seconds = |value: f64| Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX);
        match mode {
            QueryMode::Simple => Self::until(seconds(config.simple_timeout_s)),
            QueryMode::WebSearch => Self::until(seconds(config.web_search_timeout_s)),
            QueryMode::DeepResearch => {
                let limit = config.research_timeout_s;
                let synthesis = seconds(limit - config.delivery_reserve_s.min(limit * RESERVE));
                // A step that has begun in time keeps half of what is left after the last start.
                let research = seconds(limit * f64::midpoint(config.research_share, 1.0));
                let last_step = seconds(limit * config.research_share).min(synthesis);
                Self { last_step, research: research.min(synthesis), synthesis }
            }
        }
    }

    const fn until(limit: Duration) -> Self {
        Self { last_step: limit, research: limit, synthesis: limit }
    }

    /// Whether a step may begin.
    pub fn may_begin_step(&self, elapsed: Duration) -> bool {
        elapsed < self.last_step
    }
}
