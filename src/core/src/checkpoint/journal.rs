//! The calls that a task makes, so that no finished call is made again.
//!
//! An interrupted attempt runs again from its start, and its calls are answered from the journal.
//! They are matched by callee, name and arguments, in the order of their start; concurrent calls
//! may come in another order.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{SubrunCommit, SubrunLog};
use crate::event::EventKind;
use crate::fault::{Fault, FaultCode};
use crate::model::ModelReply;
use crate::seed::{KeySeed, Seed};

/// A call, as it is matched when its task runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The kind of callee.
    pub callee: Callee,
    /// Its name.
    pub name: String,
    /// The [`digest`] of its arguments.
    pub digest: u64,
    /// Whether it may be made twice.
    pub repeatable: bool,
}

/// The kind of callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A model.
    Model,
    /// A tool.
    Tool,
    /// A function of the host.
    Step,
    /// A run of another graph.
    Graph,
}

/// The outcome of a call.
#[derive(Clone, Debug)]
pub enum CallOutcome<V> {
    /// A value of the host.
    Value(V),
    /// A failure, as a value of the host.
    Raised(V),
    /// A model's reply.
    Reply(Box<ModelReply>),
    /// What a tool of a declared agent returned.
    Json(Json),
    /// A failure.
    Failed(Fault),
    /// It asked a question, and is made again after the answer.
    Interrupted,
}

/// A call that a task has started, and its outcome, if it is known.
#[derive(Clone, Debug)]
pub struct CallRecord<V> {
    /// Counts the calls of an attempt from 0, in the order of their start.
    pub index: u32,
    /// Whether no other call of the task was open when it started.
    pub alone: bool,
    /// The call.
    pub call: Call,
    /// Its outcome.
    pub outcome: Option<CallOutcome<V>>,
}

/// The recorded calls of an attempt.
#[derive(Clone, Debug)]
pub struct CallJournal<V> {
    /// The attempt; the first is 1.
    pub attempt: u32,
    /// The calls in the order of their start; some may be missing.
    pub records: Vec<CallRecord<V>>,
    /// Answers about an agent's calls, by their keys, in the order they were given.
    pub answered: Vec<(u64, V)>,
    /// The commits of its subruns, by the index of the call.
    pub subruns: BTreeMap<u32, SubrunLog>,
    /// Whether the attempt has failed; the next one may make other calls.
    pub failed: bool,
}

impl<V> CallRecord<V> {
    /// Whether an ended call is stored. The intent of a call with side effects was stored, so its
    /// interruption must be stored too; a repeatable call has no intent.
    pub(crate) const fn is_stored(&self) -> bool {
        !(self.call.repeatable && matches!(self.outcome, Some(CallOutcome::Interrupted)))
    }
}

impl Call {
    /// Whether this is the same call as another one.
    pub fn is(&self, other: &Self) -> bool {
        (self.digest, self.callee, &self.name) == (other.digest, other.callee, &other.name)
    }

    /// Its event when it begins. A step shows as a tool that no model has asked for.
    pub fn start_event(&self, key: &str) -> (EventKind, Json) {
        let kind = match self.callee {
            Callee::Model => EventKind::ModelCall,
            Callee::Tool | Callee::Step | Callee::Graph => EventKind::ToolCall,
        };
        (kind, self.event_data(json!({"call_id": key})))
    }

    /// Its event when it ends; without a key it was made before its task began again.
    pub fn end_event<V>(&self, outcome: &CallOutcome<V>, key: Option<&str>) -> (EventKind, Json) {
        let kind = match self.callee {
            Callee::Model => EventKind::ModelReply,
            Callee::Tool | Callee::Step | Callee::Graph => EventKind::ToolResult,
        };
        let ok = outcome.is_success();
        (
            kind,
            self.event_data(match key {
                Some(key) => json!({"call_id": key, "ok": ok}),
                None => json!({"ok": ok, "replayed": true}),
            }),
        )
    }

    fn event_data(&self, mut data: Json) -> Json {
        if let (Callee::Step, Some(fields)) = (self.callee, data.as_object_mut()) {
            fields.insert("step".to_owned(), true.into());
        }
        data
    }
}

impl Callee {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Model, Self::Tool, Self::Step, Self::Graph];

    /// The name in stores and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Step => "step",
            Self::Graph => "graph",
        }
    }
}

impl<V> CallOutcome<V> {
    /// Whether the call succeeded.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Value(_) | Self::Reply(_) | Self::Json(_))
    }
}

impl<V> CallJournal<V> {
    /// An empty journal.
    pub const fn new(attempt: u32) -> Self {
        Self {
            attempt,
            records: Vec::new(),
            answered: Vec::new(),
            subruns: BTreeMap::new(),
            failed: false,
        }
    }

    /// Records that a call of an attempt has started, or its outcome. A later attempt starts with
    /// an empty journal.
    pub fn note(&mut self, attempt: u32, record: CallRecord<V>) {
        if attempt < self.attempt {
            return;
        }
        if attempt > self.attempt {
            *self = Self::new(attempt);
        }
        let left = matches!(record.outcome, Some(CallOutcome::Interrupted));
        let found = self.records.binary_search_by_key(&record.index, |record| record.index);
        if let Ok(place) = found {
            self.records.remove(place);
        }
        if !left {
            let (Ok(place) | Err(place)) = found;
            self.records.insert(place, record);
        }
    }

    /// Records a commit of a subrun of an attempt. A later attempt starts with an empty journal.
    pub(crate) fn note_subrun(&mut self, attempt: u32, commit: SubrunCommit) {
        if attempt < self.attempt {
            return;
        }
        if attempt > self.attempt {
            *self = Self::new(attempt);
        }
        let place = self.records.binary_search_by_key(&commit.index, |record| record.index);
        if let Some(record) = place.ok().and_then(|place| self.records.get_mut(place)) {
            record.call.repeatable &= commit.repeatable;
        }
        self.subruns.entry(commit.index).or_default().push(commit);
    }

    /// Records the answer about a call, in place of an earlier one.
    pub(crate) fn answer(&mut self, call: u64, answer: V) {
        self.answered.retain(|(other, _)| *other != call);
        self.answered.push((call, answer));
    }

    /// Forgets the failed and repeatable calls of a failed run: resuming it is meant to give
    /// another outcome.
    pub(crate) fn fail(&mut self) {
        let stays = |record: &CallRecord<V>| {
            // A subrun forgets its own failed calls.
            let is_known = record.outcome.as_ref().is_none_or(CallOutcome::is_success);
            record.call.callee == Callee::Graph || (!record.call.repeatable && is_known)
        };
        self.records.retain(stays);
        self.attempt = 1;
        self.failed = true;
    }
}

/// A digest of the arguments of a call: the same for the same bytes, on any machine and in any
/// version.
pub fn digest(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
    let words = words.iter().chain(std::iter::once(&last)).map(|word| u64::from_le_bytes(*word));
    words.fold(Seed::new(bytes.len() as u64), Seed::child).number()
}

/// The [`crate::run::Options::key_salt`] of a run, so that runs with the same seed have different
/// call keys.
pub fn key_salt(run_id: &str) -> u64 {
    digest(run_id.as_bytes())
}

/// The idempotency key of a call: the same in every attempt and after a restart, and unique to the
/// call. `nth` distinguishes equal calls of one attempt. 32 hexadecimal digits.
pub(crate) fn key(task: KeySeed, call: &Call, nth: u64) -> String {
    let named = task.named(call.callee.as_str()).named(&call.name);
    named.child(call.digest).child(nth).digits()
}

/// `unknown_outcome`: a call that was possibly made.
pub(crate) fn unknown_outcome(call: &Call, key: &str) -> Fault {
    let Call { callee, name, .. } = call;
    let callee = callee.as_str();
    let message = format!("the outcome of the {callee} call is unknown: {name}");
    Fault::new(FaultCode::UnknownOutcome, message)
        .with(callee, name.as_str())
        .with("idempotency_key", key)
        .hint("find out whether it was made; declare what may be made twice as `idempotent`")
}

/// `replay_diverged`: a task that makes another call when it runs again.
pub(crate) fn diverged(before: &Call, now: &Call) -> Fault {
    let shown = |call: &Call| format!("{} {}", call.callee.as_str(), call.name);
    let (was, is) = (shown(before), shown(now));
    let message = if was == is {
        format!("a restarted node repeated a call with other arguments: {is}")
    } else {
        format!("a restarted node called `{is}` instead of: {was}")
    };
    Fault::new(FaultCode::ReplayDiverged, message)
        .with("before", was)
        .with("now", is)
        .hint("take times and random numbers from `ctx.step`, and do not change the code of a node while runs are in the middle of it")
}
