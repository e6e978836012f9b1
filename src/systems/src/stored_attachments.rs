//! Attachments in a checkpoint. A store keeps JSON, so that bytes stand there as base64: with
//! the superstep of the node that has put them, and in each later snapshot of the thread.

use antiphon_runtime::Attachments;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::base64_bytes::Base64Bytes;

/// Takes back what an earlier drive of the run has stored, as far as it is not there.
pub(crate) fn restore(attachments: &Attachments, stored: Option<&Json>) {
    for (id, bytes) in stored.and_then(Json::as_object).into_iter().flatten() {
        if attachments.get(id).is_some() {
            continue;
        }
        if let Ok(bytes) = Base64Bytes::deserialize(bytes) {
            attachments.restore(id, bytes.0);
        }
    }
}

/// What has come since the last call.
pub(crate) fn take_unsaved(attachments: &Attachments) -> Map<String, Json> {
    let unsaved = attachments.take_unsaved().into_iter();
    unsaved.map(|(id, bytes)| (id, json!(Base64Bytes(bytes.into())))).collect()
}
