//! The calls of a connection that have no result yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_runtime::{CallContext, ReplyChunk};
use rmcp::model::{ProgressNotificationParam, ProgressToken, RequestId};
use serde_json::Number;
use tokio::sync::watch;

use super::server_questions::ServerQuestions;

/// A call, as messages of its server refer to it.
#[derive(Debug)]
pub(super) struct ActiveCall {
    pub(super) id: RequestId,
    chunks: Option<tokio::sync::mpsc::UnboundedSender<ReplyChunk>>,
    /// Those that the run answers.
    pub(super) of_run: Arc<ServerQuestions>,
    /// How many questions of its server a person has not answered.
    questions: watch::Sender<usize>,
}

impl ActiveCall {
    /// Tells the watchers of the run about its progress.
    pub(super) fn report(&self, progress: &ProgressNotificationParam) {
        let number = |value: f64| Number::from_f64(value);
        let Some(chunks) = &self.chunks else { return };
        let Some(done) = number(progress.progress) else { return };
        let total = progress.total.and_then(number);
        let message = progress.message.clone();
        // A watcher that has gone is no reason to stop the call.
        let _ = chunks.send(ReplyChunk::Progress { done, total, message });
    }
}

/// The calls by the tokens of their progress.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveCalls {
    calls: Arc<Mutex<BTreeMap<String, Arc<ActiveCall>>>>,
}

impl ActiveCalls {
    /// Adds a call until the guard is dropped.
    pub(super) fn add(
        &self,
        token: &ProgressToken,
        id: RequestId,
        (cx, of_run): (&CallContext, &Arc<ServerQuestions>),
    ) -> ActiveCallGuard {
        let (questions, open_questions) = watch::channel(0);
        let of_run = Arc::clone(of_run);
        let call = ActiveCall { id, chunks: cx.chunks.clone(), of_run, questions };
        let key = key(token);
        self.lock().insert(key.clone(), Arc::new(call));
        ActiveCallGuard { calls: self.clone(), key, open_questions }
    }

    /// The call that reports this progress.
    pub(super) fn by_token(&self, token: &ProgressToken) -> Option<Arc<ActiveCall>> {
        self.lock().get(&key(token)).cloned()
    }

    /// The call during which its server asks something: the one with that id, or the only one.
    pub(super) fn asking(&self, id: Option<&RequestId>) -> Option<Arc<ActiveCall>> {
        let calls = self.lock();
        if let Some(id) = id {
            return calls.values().find(|call| call.id == *id).cloned();
        }
        let mut all = calls.values();
        all.next().filter(|_| all.next().is_none()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ActiveCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in the list of active ones.
#[derive(Debug)]
pub(super) struct ActiveCallGuard {
    calls: ActiveCalls,
    key: String,
    /// How many questions are open: while there are some, no time-out counts.
    pub(super) open_questions: watch::Receiver<usize>,
}

impl Drop for ActiveCallGuard {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.key);
    }
}

/// A question that a person has not answered yet.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    call: Option<Arc<ActiveCall>>,
}

impl OpenQuestion {
    /// Stops the time-out of `call` until the question is dropped.
    pub(super) fn during(call: Option<Arc<ActiveCall>>) -> Self {
        if let Some(call) = &call {
            call.questions.send_modify(|open| *open += 1);
        }
        Self { call }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            call.questions.send_modify(|open| *open = open.saturating_sub(1));
        }
    }
}

fn key(token: &ProgressToken) -> String {
    token.0.to_string()
}
