//! Events: the trace of a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::Time;

pub mod content;
mod fields;

pub use fields::EventFields;

/// An event. `seq` has no gaps within a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts from 1.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// The names of the nodes that lead to its scope or task; empty for the run itself.
    pub path: Vec<Arc<str>>,
    /// What changed.
    pub kind: EventKind,
    /// The node, tool, model or custom event it is about.
    pub name: Arc<str>,
    /// Fields that depend on the kind.
    pub data: EventFields,
    /// Its severity.
    pub level: Level,
    /// One per execution of a node and per call within it; 16 hexadecimal digits.
    pub span_id: String,
    /// The span that contains this one.
    pub parent_span_id: Option<String>,
}

impl Event {
    /// Packs the data, once nobody changes them any more. Pieces of replies stay as they are: they are
    /// read at once, and not kept.
    pub fn pack(&mut self) {
        if !self.kind.is_droppable() {
            self.data.pack();
        }
    }
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The run began.
    RunStarted,
    /// The run ended: `outcome`.
    RunFinished,
    /// A node was started: `attempt`.
    NodeStarted,
    /// A node is done: `attempt`, `wrote`.
    NodeFinished,
    /// An edge was taken: `source`, `target`, `label`.
    EdgeTaken,
    /// A superstep was merged: `step`, `changed` (size by channel).
    StateUpdated,
    /// A model is called: `turn`, and the [`content`] of the request.
    ModelCall,
    /// A model answered: `model`, `finish`, `usage`, `attempts`, `text`, `tool_calls`.
    ModelReply,
    /// A reply was parsed only after repair or coercion: `level`, `coerced`.
    OutputRepaired,
    /// A tool is called: `call_id`, `arguments`.
    ToolCall,
    /// A tool returned: `call_id`, `ok`, `truncated`, `result` as the model reads it.
    ToolResult,
    /// An attempt failed and will be repeated: `attempt`, `code`, `delay_ms`.
    Retry,
    /// A budget is spent: `dimension`.
    Budget,
    /// A superstep was handed to the store: `id`, `step`.
    Checkpoint,
    /// A node asks: `id`.
    Interrupt,
    /// Something failed for good: `category`, `code`, `message`.
    Error,
    /// An event of a system or of a user's code.
    Custom,
    /// A piece of a reply; the only kind that may be dropped.
    Chunk,
    /// A slow watcher missed events: `count`.
    Dropped,
}

impl EventKind {
    /// Whether a slow watcher may miss it.
    pub const fn is_droppable(self) -> bool {
        matches!(self, Self::Chunk)
    }
}

/// The severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Details.
    Debug,
    /// Progress.
    Info,
    /// A problem that did not end anything.
    Warning,
    /// A failure.
    Error,
}
