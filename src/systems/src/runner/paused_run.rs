//! Questions that wait for a person and are kept in no thread.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::{Answers, Attachments, DurableRun};
use serde_json::Value as Json;

/// A run that has paused and is kept in no thread. It can be resumed once, by the system that
/// started it.
#[derive(Clone)]
pub struct PausedRun(Arc<Mutex<Option<PausedParts>>>);

struct PausedParts {
    kept: DurableRun,
    graph: Arc<Graph<Json>>,
    input: Arc<dyn Any + Send + Sync>,
    attachments: Attachments,
}

impl PausedRun {
    pub(super) fn new<I: Send + Sync + 'static>(
        kept: DurableRun,
        graph: &Arc<Graph<Json>>,
        (input, attachments): (Arc<I>, Attachments),
    ) -> Self {
        let paused = PausedParts { kept, graph: Arc::clone(graph), input, attachments };
        Self(Arc::new(Mutex::new(Some(paused))))
    }

    /// The run with its answers, and what it was given. Answers that do not fit leave it as it is.
    pub(super) fn resume<I: Send + Sync + 'static>(
        &self,
        answers: Answers,
        graph: &Arc<Graph<Json>>,
        now: Time,
    ) -> Result<(DurableRun, (Arc<I>, Attachments)), Fault> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let paused = held.as_mut().ok_or_else(|| refusal("it was already resumed"))?;
        let input = Arc::clone(&paused.input).downcast().ok();
        let Some(input) = input.filter(|_| Arc::ptr_eq(graph, &paused.graph)) else {
            return Err(refusal("another system has asked it"));
        };
        paused.kept.answer(answers, now)?;
        let paused = held.take().ok_or_else(|| refusal("it is gone"))?;
        Ok((paused.kept, (input, paused.attachments)))
    }
}

fn refusal(reason: &str) -> Fault {
    let message = format!("the question cannot be resumed: {reason}");
    Fault::new(FaultCode::AnswerInvalid, message)
        .hint("resume the last result, with the system that returned it")
}

impl fmt::Debug for PausedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PausedRun")
    }
}
