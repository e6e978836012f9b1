//! The calls that a task makes, so that none that has come to an end is made again.
//!
//! An attempt that was cut short begins again, and its calls are answered from
//! what is known of them. They are recognised by what they call and with what,
//! in the order they were begun; calls that were open side by side may come in
//! another order.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{SubrunCommit, SubrunLog};
use crate::event::EventKind;
use crate::fault::{Fault, FaultCode};
use crate::model::ModelReply;
use crate::seed::{KeySeed, Seed};

/// One call, as it is recognised when its task begins again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// Its name.
    pub name: String,
    /// What it is given, as [`digest`] makes it.
    pub digest: u64,
    /// Whether it does no harm to make it twice.
    pub repeatable: bool,
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A model.
    Model,
    /// A tool.
    Tool,
    /// A function of the host's own.
    Step,
    /// A run of another graph.
    Graph,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub enum CallOutcome<V> {
    /// A value of the host.
    Value(V),
    /// A failure of the host's own, as a value.
    Raised(V),
    /// What a model said.
    Reply(Box<ModelReply>),
    /// What a tool of a declared agent returned.
    Json(Json),
    /// A failure.
    Failed(Fault),
    /// Nothing yet: it asked somebody outside, and is made again after the answer.
    Left,
}

/// A call that a task has begun, and what came of it, if that is known.
#[derive(Clone, Debug)]
pub struct CallRecord<V> {
    /// Counts the calls of an attempt from 0, in the order they were begun.
    pub index: u32,
    /// No other call of the task was open when it began.
    pub alone: bool,
    /// What was called.
    pub call: Call,
    /// What came of it.
    pub came: Option<CallOutcome<V>>,
}

/// What is known of the calls of one attempt.
#[derive(Clone, Debug)]
pub struct CallJournal<V> {
    /// Which attempt; the first is 1.
    pub attempt: u32,
    /// The calls in the order they were begun; some may be missing.
    pub made: Vec<CallRecord<V>>,
    /// What an agent's attempt was answered about its calls, by their keys, in the
    /// order it was.
    pub answered: Vec<(u64, V)>,
    /// What the runs that it has started have committed, by their places among its calls.
    pub subruns: BTreeMap<u32, SubrunLog>,
    /// The attempt has failed, so that another one may go another way.
    pub failed: bool,
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
    pub fn end_event<V>(&self, came: &CallOutcome<V>, key: Option<&str>) -> (EventKind, Json) {
        let kind = match self.callee {
            Callee::Model => EventKind::ModelReply,
            Callee::Tool | Callee::Step | Callee::Graph => EventKind::ToolResult,
        };
        let ok = came.is_success();
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

    /// The name in a store and for readers.
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
    /// Whether it is what was wanted of the call.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Value(_) | Self::Reply(_) | Self::Json(_))
    }
}

impl<V> CallJournal<V> {
    /// Nothing known yet.
    pub const fn new(attempt: u32) -> Self {
        Self {
            attempt,
            made: Vec::new(),
            answered: Vec::new(),
            subruns: BTreeMap::new(),
            failed: false,
        }
    }

    /// Takes over that a call of an attempt was begun, or what came of it. A
    /// later attempt begins from nothing.
    pub fn note(&mut self, attempt: u32, made: CallRecord<V>) {
        if attempt < self.attempt {
            return;
        }
        if attempt > self.attempt {
            *self = Self::new(attempt);
        }
        let left = matches!(made.came, Some(CallOutcome::Left));
        let found = self.made.binary_search_by_key(&made.index, |made| made.index);
        if let Ok(place) = found {
            self.made.remove(place);
        }
        if !left {
            let (Ok(place) | Err(place)) = found;
            self.made.insert(place, made);
        }
    }

    /// Takes over what a run has committed that an attempt has started. A later
    /// attempt begins from nothing.
    pub(crate) fn note_subrun(&mut self, attempt: u32, commit: SubrunCommit) {
        if attempt < self.attempt {
            return;
        }
        if attempt > self.attempt {
            *self = Self::new(attempt);
        }
        let place = self.made.binary_search_by_key(&commit.index, |made| made.index);
        if let Some(made) = place.ok().and_then(|place| self.made.get_mut(place)) {
            made.call.repeatable &= commit.repeatable;
        }
        self.subruns.entry(commit.index).or_default().push(commit);
    }

    /// Takes over what the attempt was answered about a call; it holds in the place
    /// of what it was answered there before.
    pub(crate) fn answer(&mut self, call: u64, answer: V) {
        self.answered.retain(|(other, _)| *other != call);
        self.answered.push((call, answer));
    }

    /// The run has failed. Whoever takes it up wants another outcome: what
    /// failed is made again, and so is what may be made twice.
    pub(crate) fn fail(&mut self) {
        let stays = |made: &CallRecord<V>| {
            // A subrun has forgotten by itself what has failed of it.
            let is_known = made.came.as_ref().is_none_or(CallOutcome::is_success);
            made.call.callee == Callee::Graph || (!made.call.repeatable && is_known)
        };
        self.made.retain(stays);
        self.attempt = 1;
        self.failed = true;
    }
}

/// A digest of what a call is given: the same for the same bytes, on any
/// machine and in any version.
pub fn digest(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
    let words = words.iter().chain(std::iter::once(&last)).map(|word| u64::from_le_bytes(*word));
    words.fold(Seed::new(bytes.len() as u64), Seed::child).number()
}

/// What the keys of a run's calls derive from beside its seed, so that runs of
/// one seed have their own: [`crate::run::Options::mark`].
pub fn mark(run_id: &str) -> u64 {
    digest(run_id.as_bytes())
}

/// What a call is known by to whoever is called: the same each time the task
/// makes it, in every attempt and after a restart, and that of no other call.
/// `nth` tells the same calls of one attempt apart. 32 hexadecimal digits.
pub(crate) fn key(task: KeySeed, call: &Call, nth: u64) -> String {
    let named = task.named(call.callee.as_str()).named(&call.name);
    named.child(call.digest).child(nth).digits()
}

/// `unknown_outcome`: a call that may or may not have been made.
pub(crate) fn unknown_outcome(call: &Call, key: &str) -> Fault {
    let Call { callee, name, .. } = call;
    let callee = callee.as_str();
    let message = format!("it is not known what came of the call of the {callee}: {name}");
    Fault::new(FaultCode::UnknownOutcome, message)
        .with(callee, name.as_str())
        .with("idempotency_key", key)
        .hint("find out whether it was made; declare what may be made twice as `idempotent`")
}

/// `replay_diverged`: a task that begins again and does something else.
pub(crate) fn diverged(before: &Call, now: &Call) -> Fault {
    let shown = |call: &Call| format!("{} {}", call.callee.as_str(), call.name);
    let (was, is) = (shown(before), shown(now));
    let message = if was == is {
        format!("a node that was taken up again called the same with something else: {is}")
    } else {
        format!("a node that was taken up again called `{is}` where it had called: {was}")
    };
    Fault::new(FaultCode::ReplayDiverged, message)
        .with("before", was)
        .with("now", is)
        .hint("let `ctx.step` give the node its times and random numbers, and change the code of nodes only while none of them is open")
}
