//! The trait of state values, which are opaque to the engine.

use std::fmt;

use serde_json::Value as Json;

use crate::channel::{Reducer, ValueKind};
use crate::fault::FaultRecord;

mod json;

/// A value of a channel or a message. Clones share it where possible; merging consumes the old
/// value, so that a sole owner can change it in place.
pub trait Value: Clone + fmt::Debug {
    /// A copy for another state: changes made in place do not reach the original.
    #[must_use]
    fn fresh_copy(&self) -> Self {
        self.clone()
    }

    /// Whether two writers of one `set` channel agree: the same object, or equal JSON.
    fn agrees_with(&self, other: &Self) -> bool;

    /// Whether the value is of this kind.
    fn fits(&self, kind: ValueKind) -> bool;

    /// Checks that `merge` can apply `new`, before anything is changed.
    ///
    /// # Errors
    /// What the reducer needs and what it was given, as one sentence.
    fn check(merge: &Reducer, old: Option<&Self>, new: &Self) -> Result<(), String>;

    /// Applies a built-in reducer whose check has passed.
    fn merge(merge: &Reducer, old: Option<Self>, new: Self) -> Self;

    /// A failure as a value, for the channels that record errors.
    fn from_fault_record(record: &FaultRecord<'_>) -> Self;

    /// A value that the engine itself creates.
    fn from_json(json: Json) -> Self;

    /// The fields of a record by name, or `None` if it is not a record: how the input of a nested
    /// graph reaches its channels.
    fn fields(&self) -> Option<Vec<(String, Self)>>;

    /// The size that events show: items of a container, characters of a text.
    fn size(&self) -> usize;

    /// The value as JSON, for events; `None` if JSON cannot express it.
    fn to_json(&self) -> Option<Json>;
}
