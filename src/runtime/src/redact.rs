//! Removes known secrets from what models, tools and servers say, before it reaches a state, an
//! event, a store or a log. Models echo keys that stand in their context, and tools return them.
//!
//! The secrets are those of the whole process, because a tool may return the key of any model. They
//! stay known when the model that was opened with them is gone: what it has said may not be.
//! [`register`] adds one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use antiphon_core::event::Event;
use antiphon_core::{ContentPart, Fault, MediaSource, ModelReply, ToolOutcome};
use serde_json::{Map, Value as Json};

use crate::sandbox::{GuestFault, JobOutcome};

mod piece_redactor;
mod secret_index;

pub use piece_redactor::PieceRedactor;
use secret_index::SecretIndex;

/// What replaces a secret.
pub const MASK: &str = "***";
/// Shorter values are taken for words, not for secrets.
const SHORTEST: usize = 8;
/// A shorter value without a digit is a placeholder such as `not-needed`: keys of this length have
/// digits, and to remove a word from every reply would do harm.
const LONGEST_PLACEHOLDER: usize = 20;

static KNOWN: RwLock<SecretIndex> = RwLock::new(SecretIndex::new());
/// Spares processes without secrets the lock.
static ANY: AtomicBool = AtomicBool::new(false);

/// Makes a secret known to the whole process. Values of fewer than 8 characters, and those of fewer
/// than 20 without a digit, are placeholders and ignored.
pub fn register(secret: &str) {
    let secret = secret.trim();
    let length = secret.chars().count();
    let is_word = length < LONGEST_PLACEHOLDER && !secret.bytes().any(|b| b.is_ascii_digit());
    if length < SHORTEST || is_word {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    for spelling in spellings(secret) {
        known.insert(spelling);
    }
    ANY.store(true, Ordering::Release);
}

/// A secret as it may be echoed: as it is, in JSON, and in a URL.
pub fn spellings(secret: &str) -> [String; 3] {
    let in_json = secret.replace('\\', "\\\\").replace('"', "\\\"").replace('/', "\\/");
    let mut in_url = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            in_url.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(in_url, "%{byte:02X}");
        }
    }
    [secret.to_owned(), in_json, in_url]
}

/// `text` with `***` in place of each known secret, and of each beginning of one with at least 16
/// characters. Shorter beginnings, such as `sk-proj-`, are common to many keys.
pub fn clean_text(text: &str) -> Cow<'_, str> {
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    with_known(|known| known.clean(text, true).0).unwrap_or(Cow::Borrowed(text))
}

/// Masks the secrets in bytes that hold texts, such as columns of Arrow, with one `*` for each byte,
/// so that nothing moves; returns whether there were any.
pub fn mask_bytes(bytes: &mut [u8]) -> bool {
    with_known(|known| known.mask(bytes)).unwrap_or(false)
}

/// Cleans every text of a value, names of fields included; returns whether it held a secret.
pub fn clean_json(value: &mut Json) -> bool {
    match value {
        Json::String(text) => clean_string(text),
        Json::Array(items) => items.iter_mut().fold(false, |found, item| clean_json(item) | found),
        Json::Object(fields) => clean_fields(fields),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Cleans a reply of a model: its text, its tool calls, and the names that the server gives. Content
/// in the provider's own form is left out if it holds a secret, because a provider verifies it.
pub fn clean_reply(reply: &mut ModelReply) {
    if !is_any_known() {
        return;
    }
    clean_written(&mut reply.text);
    for part in &mut reply.media {
        clean_part(part);
    }
    clean_string(&mut reply.model);
    for call in &mut reply.tool_calls {
        clean_string(&mut call.id);
        clean_string(&mut call.name);
        clean_written(&mut call.arguments);
    }
    reply.provider_content.take_if(|own| clean_json(&mut own.content));
}

fn clean_part(part: &mut ContentPart) {
    match part {
        ContentPart::Text { text } => clean_string(text),
        ContentPart::Data { value } => clean_json(value),
        ContentPart::Image(media) | ContentPart::File { media, .. } => match &mut media.source {
            MediaSource::Text(text) => clean_string(text),
            MediaSource::Base64(_) | MediaSource::Url(_) => false,
        },
    };
}

/// The result of a tool, or its fault, cleaned.
///
/// # Errors
/// The fault of `outcome`.
pub fn clean_outcome(outcome: ToolOutcome) -> ToolOutcome {
    match outcome {
        Ok(mut value) => {
            clean_json(&mut value);
            Ok(value)
        }
        Err(fault) => Err(clean_fault(fault)),
    }
}

/// A fault with its texts cleaned.
#[must_use]
pub fn clean_fault(mut fault: Fault) -> Fault {
    if is_any_known() {
        clean_string(&mut fault.message);
        if let Some(hint) = &mut fault.hint {
            clean_string(hint);
        }
        clean_fields(&mut fault.details);
    }
    fault
}

/// Cleans what came of code in a sandbox: values, output and faults. Tables are masked by what takes
/// them out of a sandbox.
pub fn clean_job(outcome: &mut JobOutcome) {
    if !is_any_known() {
        return;
    }
    outcome.value.as_mut().map(clean_json);
    outcome.tables.iter_mut().for_each(|table| {
        clean_string(&mut table.name);
    });
    clean_fields(&mut outcome.locals);
    mask_bytes(&mut outcome.stdout);
    mask_bytes(&mut outcome.stderr);
    clean_names(&mut outcome.local_errors);
    clean_names(&mut outcome.table_errors);
    let own = outcome.error.iter_mut().chain(&mut outcome.value_error);
    let named = outcome.local_errors.values_mut().chain(outcome.table_errors.values_mut());
    own.chain(named).for_each(clean_guest_fault);
}

fn clean_guest_fault(fault: &mut GuestFault) {
    clean_string(&mut fault.message);
    for frame in fault.frames.iter_mut().flatten() {
        clean_string(&mut frame.function);
        clean_string(&mut frame.source);
    }
    fault.exception.iter_mut().chain(&mut fault.source).for_each(|text| {
        clean_string(text);
    });
}

/// Cleans names that code has chosen.
fn clean_names<T>(named: &mut BTreeMap<String, T>) {
    let all = std::mem::take(named).into_iter();
    named.extend(all.map(|(name, value)| (clean_text(&name).into_owned(), value)));
}

/// Cleans the data of an event.
pub fn clean_event(event: &mut Event) {
    clean_fields(&mut event.data);
}

/// Whether there is anything to remove.
pub fn is_any_known() -> bool {
    ANY.load(Ordering::Acquire)
}

/// `None` if no secret is known.
fn with_known<T>(read: impl FnOnce(&SecretIndex) -> T) -> Option<T> {
    is_any_known().then(|| read(&KNOWN.read().unwrap_or_else(PoisonError::into_inner)))
}

fn clean_string(text: &mut String) -> bool {
    let Cow::Owned(cleaned) = clean_text(text) else { return false };
    *text = cleaned;
    true
}

fn clean_fields(fields: &mut Map<String, Json>) -> bool {
    if !is_any_known() {
        return false;
    }
    let found = fields.values_mut().fold(false, |found, value| clean_json(value) | found);
    if fields.keys().all(|name| matches!(clean_text(name), Cow::Borrowed(_))) {
        return found;
    }
    let cleaned = std::mem::take(fields).into_iter();
    fields.extend(cleaned.map(|(name, value)| (clean_text(&name).into_owned(), value)));
    true
}

/// Cleans what a model wrote. Where that is JSON, an escape can hide a secret that is plain again
/// once the text has been parsed.
fn clean_written(text: &mut String) {
    clean_string(text);
    if !text.contains('\\') || !text.trim_start().starts_with(['{', '[']) {
        return;
    }
    if let Ok(mut value) = serde_json::from_str::<Json>(text)
        && clean_json(&mut value)
    {
        *text = value.to_string();
    }
}
