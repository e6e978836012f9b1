//! Replies to questions of a server that are not sent yet.

use std::time::Duration;

use rmcp::model::RequestId;
use tokio::sync::watch;

/// How long to wait for them: the library drops the reply to a question that its server withdraws.
const LIMIT: Duration = Duration::from_secs(1);

/// The questions of one connection whose replies are not sent yet.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingReplies {
    questions: watch::Sender<Vec<RequestId>>,
}

impl PendingReplies {
    /// A question has come.
    pub(super) fn add(&self, question: RequestId) {
        self.questions.send_modify(|questions| questions.push(question));
    }

    /// A reply is sent.
    pub(super) fn remove(&self, question: &RequestId) {
        self.questions.send_if_modified(|questions| {
            let before = questions.len();
            questions.retain(|pending| pending != question);
            questions.len() < before
        });
    }

    /// Waits until all replies are sent: a server that reads one message at a time would take the
    /// next call for the reply.
    pub(super) async fn sent(&self) {
        let mut questions = self.questions.subscribe();
        // After the limit the server has withdrawn its question.
        let _ = tokio::time::timeout(LIMIT, questions.wait_for(Vec::is_empty)).await;
    }
}
