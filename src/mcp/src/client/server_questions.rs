//! The questions that a server asks during one call, for the run that makes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_runtime::CallContext;
use serde_json::Value as Json;
use tokio::sync::watch;

use super::elicitation::{ElicitationAnswer, ElicitationQuestion};

/// The questions of one call. They have answers in the order in which they are asked; the first
/// one without an answer ends the call, which the run makes again with the answer.
#[derive(Debug)]
pub(super) struct ServerQuestions {
    /// None where nobody can be asked.
    answers: Option<Vec<Json>>,
    asked: AtomicUsize,
    progress: watch::Sender<CallProgress>,
}

/// How far the call is.
#[derive(Debug, Default)]
enum CallProgress {
    #[default]
    Started,
    /// It ends, because this question has no answer.
    Asks(Json),
    Ended,
}

impl ServerQuestions {
    pub(super) fn of(cx: &CallContext) -> Arc<Self> {
        let (answers, progress) = (cx.answers.clone(), watch::Sender::default());
        Arc::new(Self { answers, asked: AtomicUsize::new(0), progress })
    }

    /// The answer to the next question, or `None`: then [`Self::unanswered`] has it.
    pub(super) fn answer(&self, question: &ElicitationQuestion) -> Option<ElicitationAnswer> {
        let Some(answers) = &self.answers else { return Some(ElicitationAnswer::Decline) };
        let mut asked = question.as_json();
        // An answer that does not fit is no answer: the next one is to the same question.
        while let Some(answer) = answers.get(self.asked.fetch_add(1, Ordering::Relaxed)) {
            let answer = ElicitationAnswer::read(question, answer);
            let Some(misfit) = question.misfit(&answer) else { return Some(answer) };
            if let Some(fields) = asked.as_object_mut() {
                fields.insert("problem".to_owned(), misfit.into());
            }
        }
        self.progress.send_if_modified(|progress| {
            let is_first = matches!(progress, CallProgress::Started);
            if is_first {
                *progress = CallProgress::Asks(asked);
            }
            is_first
        });
        None
    }

    /// Waits for the first question without an answer.
    pub(super) async fn unanswered(&self) -> Json {
        let mut progress = self.progress.subscribe();
        loop {
            if let CallProgress::Asks(question) = &*progress.borrow_and_update() {
                return question.clone();
            }
            if progress.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The call has a result, or was told to stop.
    pub(super) fn end(&self) {
        self.progress.send_replace(CallProgress::Ended);
    }

    /// Waits for [`Self::end`].
    pub(super) async fn ended(&self) {
        let mut progress = self.progress.subscribe();
        // An error would mean that the call is gone, which is an end too.
        let _ = progress.wait_for(|progress| matches!(progress, CallProgress::Ended)).await;
    }
}
