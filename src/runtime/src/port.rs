//! The traits that adapters implement. A future that is dropped must stop
//! what it does: that is how cancellation reaches the world.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::HostVerdict;
use antiphon_core::event::EventKind;
use antiphon_core::{Fault, ModelReply, ModelRequest, Time, ToolOutcome, ToolSpec};
use async_trait::async_trait;
use serde_json::{Number, Value as Json, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::attachments::Attachments;
use crate::clock::Clock;

/// A piece of a reply that is still being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyChunk {
    /// More of the text.
    Text(String),
    /// A transport attempt failed and will be repeated: its code and attempt number.
    Retry {
        /// Stable code of the fault.
        code: String,
        /// The attempt that failed; the first is 1.
        attempt: u32,
        /// How long the call waits before it asks again.
        delay: Duration,
    },
    /// A tool reports how far it is.
    Progress {
        /// What is done so far.
        done: Number,
        /// What there is to do, if that is known.
        total: Option<Number>,
        /// What it does now.
        message: Option<String>,
    },
}

impl ReplyChunk {
    /// The event that shows this piece: its kind, its name and its data.
    pub fn into_event(self) -> (EventKind, &'static str, Json) {
        match self {
            Self::Text(text) => (EventKind::Chunk, "text", json!({"text": text})),
            Self::Retry { code, attempt, delay } => {
                let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                let data = json!({"code": code, "attempt": attempt, "delay_ms": delay});
                (EventKind::Retry, "transport", data)
            }
            Self::Progress { done, total, message } => {
                let data = json!({"done": done, "total": total, "message": message});
                (EventKind::Custom, "progress", data)
            }
        }
    }
}

/// The context of a call within its run.
#[derive(Clone)]
pub struct CallContext {
    /// Time, for pauses and deadlines.
    pub clock: Arc<dyn Clock>,
    /// When the call must have ended; its own time-out may be shorter.
    pub deadline: Option<Time>,
    /// Where to send pieces as they come; none if nobody watches, and the
    /// adapter may then choose a form of the call that does not stream.
    pub chunks: Option<UnboundedSender<ReplyChunk>>,
    /// The model's id of the call, for a tool that a model wants called.
    pub call_id: Option<String>,
    /// Repeats on a retried call, so that the other side can recognise it.
    pub idempotency_key: Option<String>,
    /// The answers to the questions that the call has asked so far, in order; `None` where nobody
    /// can be asked. A tool asks by failing with [`Fault::question`], and is then called again.
    pub answers: Option<Vec<Json>>,
    /// Where a tool leaves bytes that its result names; `None` for a caller that reads JSON only,
    /// such as a model.
    pub attachments: Option<Attachments>,
    /// Whether the caller has other credentials for the same: those that are used up for a while are
    /// then no reason to wait.
    pub has_alternative: bool,
    /// Seeds the pauses between transport attempts.
    pub seed: antiphon_core::Seed,
    /// Adds an event to the trace of the run, with a name and its data; `None` outside of runs.
    pub notes: Option<CallNotes>,
    /// A summary of the task so far, if the call is a step of one and tools are to have it.
    pub context_summary: Option<Arc<str>>,
}

/// Adds events to the trace of a run, from any thread.
pub type CallNotes = Arc<dyn Fn(&'static str, Json) + Send + Sync>;

impl CallContext {
    /// A call with no deadline that nobody watches.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            deadline: None,
            chunks: None,
            call_id: None,
            idempotency_key: None,
            answers: None,
            attachments: None,
            has_alternative: false,
            seed: antiphon_core::Seed::default(),
            notes: None,
            context_summary: None,
        }
    }

    /// Passes a piece on, if somebody watches.
    pub fn emit(&self, chunk: ReplyChunk) {
        if let Some(chunks) = &self.chunks {
            // A watcher that has gone is no reason to stop the call.
            let _ = chunks.send(chunk);
        }
    }
}

/// A language model behind some wire.
#[async_trait]
pub trait Model: Send + Sync {
    /// What traces and people call it, for instance `openai:gpt-5-mini`.
    fn name(&self) -> &str;

    /// The names of the models that may answer: more than one for a list of models.
    fn names(&self) -> Vec<String> {
        vec![self.name().to_owned()]
    }

    /// Asks once. Transport retries happen inside and are invisible.
    ///
    /// # Errors
    /// A fault whose category says what went wrong: `ModelTransport`,
    /// `ModelOutput` (refused or filtered), `Auth`, `Timeout`, `Validation`.
    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault>;
}

/// Something an agent can do.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What models and the engine see.
    fn spec(&self) -> &ToolSpec;

    /// Decides whether a call with these arguments is made; asked only of a
    /// tool whose spec says [`antiphon_core::approval::Approval::Host`].
    ///
    /// # Errors
    /// The reason why no decision is possible; the call fails with it.
    async fn approve(&self, _arguments: &Json, _cx: &CallContext) -> Result<HostVerdict, Fault> {
        Ok(HostVerdict::Refuse(None))
    }

    /// The tool for a run whose caller passed a context; `None` if it does not look at one.
    fn bind(&self, _user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        None
    }

    /// Calls it with arguments that satisfy its schema.
    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome;
}

/// Tools that are known only while a run works, such as those of a server.
#[async_trait]
pub trait ToolRegistry: Send + Sync {
    /// What people call it; nothing in it is secret.
    fn name(&self) -> String;

    /// Its tools, in its order. A list that is older than `max_age` is read anew.
    ///
    /// # Errors
    /// Why there is no list.
    async fn tools(&self, max_age: Duration) -> Result<Vec<Arc<dyn Tool>>, Fault>;

    /// Forgets its list: the next one is read anew.
    async fn forget(&self);
}

/// What the caller of a run passes to the code that works in it; it is never stored.
pub type UserContext = Arc<dyn Any + Send + Sync>;
