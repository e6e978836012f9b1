//! What is known of the step that is researched.

use serde::{Deserialize, Serialize};

use super::information_gain::{CallRecord, StopReason};

/// What is known of the step that is researched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepWork {
    /// The numbers of the sources that it has found, in the order of finding.
    pub found: Vec<usize>,
    /// The numbers of those whose page was read.
    pub read: Vec<usize>,
    /// What was called, and what came of it, in a line each.
    pub log: Vec<String>,
    /// The calls so far.
    pub record: CallRecord,
    /// Requests to the model so far.
    pub turns: usize,
    /// Why no further call is made, if none is.
    pub stop: Option<StopReason>,
}

impl StepWork {
    /// The sources, those that were read first: they stay as they are, so that a server that keeps
    /// what it has read does not read them again.
    pub(super) fn shown(&self) -> Vec<usize> {
        let mut shown = self.read.clone();
        shown.extend(self.found.iter().filter(|number| !self.read.contains(number)));
        shown
    }

    /// Notes a source that was found.
    pub(super) fn add(&mut self, number: usize) {
        if !self.found.contains(&number) {
            self.found.push(number);
        }
    }
}
