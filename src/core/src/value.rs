//! What a state value must be able to do. The engine never looks inside one.

use std::fmt;

use serde_json::Value as Json;

use crate::channel::{Reducer, ValueKind};
use crate::fault::FaultRecord;

mod json;

/// A value that channels hold and tasks pass on. Cloning one shares it where
/// that is possible; merging takes the old value over, so that a sole owner
/// can change it in place.
pub trait Value: Clone + fmt::Debug {
    /// A copy for a state of its own: nothing done to it in place reaches the original.
    #[must_use]
    fn fresh(&self) -> Self {
        self.clone()
    }

    /// Whether two writers of one `set` channel agree: the same object, or equal JSON.
    fn same(&self, other: &Self) -> bool;

    /// Whether the value is of a declared kind.
    fn fits(&self, kind: ValueKind) -> bool;

    /// Whether `merge` can take `new`; asked before anything is changed.
    ///
    /// # Errors
    /// One sentence that says what the rule needs and what it was given.
    fn check(merge: &Reducer, old: Option<&Self>, new: &Self) -> Result<(), String>;

    /// Applies a built-in rule whose `check` has passed.
    fn merge(merge: &Reducer, old: Option<Self>, new: Self) -> Self;

    /// A failure as a value, for the channels that record errors.
    fn from_fault_record(record: &FaultRecord<'_>) -> Self;

    /// What the engine itself asks or says, as a value.
    fn from_json(json: Json) -> Self;

    /// The fields of a record by name, or none if it is not a record: how the
    /// input of a nested graph reaches its channels.
    fn fields(&self) -> Option<Vec<(String, Self)>>;

    /// How large it is for a reader of events: items of a container, characters of a text.
    fn size(&self) -> usize;

    /// The value as JSON, for events; none if it has no such form.
    fn to_json(&self) -> Option<Json>;
}
