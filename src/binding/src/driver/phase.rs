//! How a run stands.

use antiphon_core::Fault;
use antiphon_core::effect::{Ending, Question};

use crate::value::object::Object;

/// How a run stands.
#[derive(Debug)]
pub(crate) enum RunPhase {
    Running,
    Paused(Vec<Question<Object>>),
    Ended(Ending),
    Failed(Fault),
}
