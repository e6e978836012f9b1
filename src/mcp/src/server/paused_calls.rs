//! Calls whose clients have to answer a question first.
//!
//! In the current revision a server does not send requests. A call that needs an answer ends with
//! a result that says so, and its client makes it again with the answer. The work waits here
//! meanwhile, under a number that nobody can guess.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::ToolOutcome;
use rmcp::model::{
    ElicitRequest, InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::caller::RelayedQuestion;

/// The name of the only question in a result.
const QUESTION: &str = "question";

/// A call at work in the background, and the questions that it asks.
#[derive(Debug)]
pub(super) struct CallInProgress {
    questions: mpsc::Receiver<RelayedQuestion>,
    outcome: oneshot::Receiver<ToolOutcome>,
    _work: AbortGuard,
}

impl CallInProgress {
    /// Work that is stopped when the call is dropped.
    pub(super) const fn new(
        questions: mpsc::Receiver<RelayedQuestion>,
        outcome: oneshot::Receiver<ToolOutcome>,
        work: AbortHandle,
    ) -> Self {
        Self { questions, outcome, _work: AbortGuard(work) }
    }
}

#[derive(Debug)]
struct AbortGuard(AbortHandle);

impl Drop for AbortGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct PausedCall {
    call: CallInProgress,
    answer: oneshot::Sender<rmcp::model::ElicitResult>,
}

/// How a call goes on: it is done, or it waits for an answer.
pub(super) enum CallProgress {
    Done(ToolOutcome),
    Asks(InputRequiredResult),
}

/// The calls that wait for answers.
#[derive(Clone)]
pub(super) struct PausedCalls {
    calls: Arc<Mutex<HashMap<String, PausedCall>>>,
    limit: usize,
    answer_limit: Duration,
}

impl PausedCalls {
    pub(super) fn new(limit: usize, answer_limit: Duration) -> Self {
        Self { calls: Arc::default(), limit, answer_limit }
    }

    /// Follows a call until it is done or asks.
    pub(super) async fn follow(&self, mut call: CallInProgress) -> CallProgress {
        tokio::select! {
            biased;
            Some(question) = call.questions.recv() => self.pause(call, question),
            outcome = &mut call.outcome => CallProgress::Done(outcome.unwrap_or_else(|_| Err(gone()))),
        }
    }

    /// Passes the answers of a client on to the call that it belongs to; none if there is no such
    /// call, or not any more.
    pub(super) fn resume(&self, state: &str, answers: &InputResponses) -> Option<CallInProgress> {
        let paused = self.lock().remove(state)?;
        let answer = answers.get(QUESTION).cloned().and_then(|it| serde_json::from_value(it).ok());
        // Without a usable answer the question counts as not answered.
        if let Some(answer) = answer {
            let _ = paused.answer.send(answer);
        }
        Some(paused.call)
    }

    fn pause(&self, call: CallInProgress, question: RelayedQuestion) -> CallProgress {
        let RelayedQuestion { params, answer } = question;
        let state = uuid();
        let mut calls = self.lock();
        if calls.len() >= self.limit {
            return CallProgress::Done(Err(crowded(self.limit)));
        }
        calls.insert(state.clone(), PausedCall { call, answer });
        drop(calls);
        self.forget_later(state.clone());
        let asked = InputRequest::Elicitation(ElicitRequest::new(params));
        let asked = InputRequests::from([(QUESTION.to_owned(), asked)]);
        CallProgress::Asks(InputRequiredResult::new(Some(asked), Some(state)))
    }

    /// A client that never comes back must not keep its call alive.
    fn forget_later(&self, state: String) {
        let (calls, answer_limit) = (Arc::downgrade(&self.calls), self.answer_limit);
        tokio::spawn(async move {
            tokio::time::sleep(answer_limit).await;
            if let Some(calls) = calls.upgrade() {
                calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&state);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, PausedCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn uuid() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

fn gone() -> antiphon_core::Fault {
    antiphon_core::Fault::new(antiphon_core::FaultCode::TaskCancelled, "the call was stopped")
}

fn crowded(limit: usize) -> antiphon_core::Fault {
    let message = format!("too many calls wait for answers: {limit}");
    antiphon_core::Fault::new(antiphon_core::FaultCode::McpServerBusy, message)
        .hint("answer or cancel some of them")
}
