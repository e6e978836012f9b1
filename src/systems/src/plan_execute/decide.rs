//! Whether a plan that has failed is revised: pure, so that it can be tested without a run.

use super::config::Config;
use super::record::{FailedStep, ReplanRecord};

/// Characters of an error by which two failures are the same.
const SAME: usize = 50;

/// Why a plan is not revised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplanLimit {
    /// The same step has failed in the same way too often.
    SameFailure,
    /// Too many revised plans were asked for.
    Total,
    /// All revisions were used.
    Revisions,
}

/// The limit that keeps a plan from being revised; none if it is revised.
pub fn replan_limit(
    config: &Config,
    failed: &FailedStep,
    revisions_used: u32,
    history: &[ReplanRecord],
) -> Option<ReplanLimit> {
    let is_same = |record: &&ReplanRecord| {
        record.failed_step_id == failed.step_id
            && record.error_message.chars().take(SAME).eq(failed
                .error_details
                .message
                .chars()
                .take(SAME))
    };
    let same = history.iter().filter(is_same).count();
    if same >= config.max_replans_same_failure as usize {
        Some(ReplanLimit::SameFailure)
    } else if history.len() >= config.max_total_replans as usize {
        Some(ReplanLimit::Total)
    } else if revisions_used >= config.max_revisions {
        Some(ReplanLimit::Revisions)
    } else {
        None
    }
}
