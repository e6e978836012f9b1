//! What is known of a question on its way.

use antiphon_core::Fault;
use antiphon_core::channel::{Reducer, ValueKind};
use serde::{Deserialize, Serialize};

use super::outcome::Attempt;
use super::reply::{Plan, Summary};
use crate::channels::{ERROR, Row};

/// What is known of a question on its way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// The inputs, described for the model.
    pub(super) inputs: String,
    /// The code that is to run next.
    pub(super) plan: Plan,
    /// The code that has run.
    pub(super) attempts: Vec<Attempt>,
    /// The result as text.
    pub(super) shown: String,
    /// What the code has printed.
    pub(super) printed: String,
    /// The result in words.
    pub(super) summary: Option<Summary>,
    /// Why there are none.
    pub(super) error: Option<Fault>,
}

impl State {
    /// Whether the last piece of code came to a result.
    pub(super) fn has_computed(&self) -> bool {
        self.attempts.last().is_some_and(|last| last.trouble.is_none())
    }
}

/// The channels of the graph.
pub(super) const ROWS: [Row; 7] = [
    ("inputs", Reducer::Set, ValueKind::Text, true),
    ("plan", Reducer::Set, ValueKind::Record, true),
    ("attempts", Reducer::Extend, ValueKind::List, true),
    ("shown", Reducer::Set, ValueKind::Text, true),
    ("printed", Reducer::Set, ValueKind::Text, true),
    ("summary", Reducer::Set, ValueKind::Record, false),
    (ERROR, Reducer::Set, ValueKind::Any, false),
];
