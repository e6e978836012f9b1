//! Channels: the keys of a state, each with its reducer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A channel of one graph, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChannelId(pub u32);

/// A named slot.
#[derive(Clone, Debug)]
pub struct Channel<V> {
    /// The key under which nodes see it.
    pub name: Arc<str>,
    /// How writes are merged.
    pub merge: Reducer,
    /// The value before the first write; with `None` the key is absent.
    pub default: Option<V>,
    /// The kind of value that a write must have; checked at the node that wrote.
    pub kind: ValueKind,
}

/// How a write is merged into the current value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reducer {
    /// The new value replaces the old; two writers in one superstep must agree.
    Set,
    /// The new value replaces the old; of two writers the later in order wins.
    Last,
    /// As `Set`, but a second write is an error.
    Once,
    /// Adds one element to a list.
    Append,
    /// Adds the elements of a list to a list.
    Extend,
    /// Merges an object into an object, one level deep.
    Record,
    /// As `Record`, but two writers in one superstep must agree on each field.
    Fields,
    /// Replaces the element with the same key, or appends; keeps the order.
    Upsert {
        /// The field that identifies an element.
        key: String,
    },
    /// Writes one slot of a sparse list: the write is `[index, value]`.
    Put,
    /// Adds a number.
    Sum,
    /// Keeps the larger number.
    Max,
    /// A list of messages: a known id is replaced, a new one appended.
    Messages,
    /// A reducer of the host, by its number.
    Foreign(u32),
}

impl Reducer {
    /// Whether a write is a part of the value rather than the whole.
    pub const fn takes_parts(&self) -> bool {
        matches!(self, Self::Append | Self::Upsert { .. } | Self::Put | Self::Foreign(_))
    }

    /// Whether the two give the same value for the same writes, once these are known to fit.
    pub fn merges_like(&self, other: &Self) -> bool {
        use Reducer::{Fields, Foreign, Last, Once, Record, Set};
        match (self, other) {
            (Set | Last | Once, Set | Last | Once)
            | (Record | Fields, Record | Fields)
            // The results of these are stored, whichever function computed them.
            | (Foreign(_), Foreign(_)) => true,
            _ => self == other,
        }
    }

    /// Whether several tasks may write in one superstep without agreeing.
    pub const fn joins(&self) -> bool {
        !matches!(self, Self::Set | Self::Once)
    }
}

/// The kind of value that a write must have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Anything.
    #[default]
    Any,
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// An object.
    Record,
}

impl ValueKind {
    /// The kind as error messages name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Text => "a text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::List => "a list",
            Self::Record => "an object",
        }
    }
}

/// One write of one task.
#[derive(Clone, Debug, PartialEq)]
pub struct Write<V> {
    /// Where to.
    pub channel: ChannelId,
    /// What, and whether the rule applies.
    pub op: WriteOp<V>,
}

/// What a write does.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteOp<V> {
    /// Merges the value by the channel's rule.
    Merge(V),
    /// Replaces the value of the channel, for every rule.
    Replace(V),
    /// Clears the channel to its default; merges of the same superstep follow.
    Reset,
}

impl<V> Write<V> {
    /// A write that the channel's rule merges.
    pub const fn merge(channel: ChannelId, value: V) -> Self {
        Self { channel, op: WriteOp::Merge(value) }
    }
}

impl<V> WriteOp<V> {
    /// Whether it clears its channel.
    pub const fn is_reset(&self) -> bool {
        matches!(self, Self::Reset)
    }
}
