//! The keys of the state that events name.

use crate::channel::{Channel, Reducer, Write, WriteOp};
use crate::value::Value;

/// Whether the host made the channel for itself: such names begin with `__`.
pub(super) fn is_internal<V>(channel: &Channel<V>) -> bool {
    channel.name.starts_with("__")
}

/// The keys that a write to a channel names: the channel's, or, of an internal channel whose fields
/// are the keys of an open state, the fields.
pub(super) fn written_keys<V: Value>(channel: &Channel<V>, write: &Write<V>) -> Vec<String> {
    if is_internal(channel) {
        internal_keys(channel, write)
    } else {
        vec![channel.name.to_string()]
    }
}

/// As `written_keys`, of internal channels alone.
pub(super) fn internal_keys<V: Value>(channel: &Channel<V>, write: &Write<V>) -> Vec<String> {
    let (WriteOp::Merge(value) | WriteOp::Replace(value)) = &write.op else { return Vec::new() };
    if !is_internal(channel) || channel.merge != Reducer::Fields {
        return Vec::new();
    }
    value.fields().unwrap_or_default().into_iter().map(|(key, _)| key).collect()
}
