//! What a worker says came of its job. It may say anything, so everything is
//! read into types, counted again, and cut.

use std::collections::BTreeMap;

use antiphon_runtime::sandbox::{Budget, Outcome, Trouble, trouble};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use crate::tagged::{self, Refusal, Size};

/// Bytes of an outcome that are neither value nor variables: messages.
const AROUND: u64 = 4 << 20;
/// Characters of a message that are kept.
const MESSAGE: usize = 16_000;
/// Characters of a name or a line that are kept.
const LINE: usize = 1_000;
/// Frames that are kept, the innermost ones.
const FRAMES: usize = 5;

/// An outcome, as a worker sends it.
#[derive(Deserialize)]
pub(super) struct Body {
    /// A value that is null is a value.
    #[serde(default, deserialize_with = "present")]
    value: Option<Json>,
    #[serde(default)]
    value_error: Option<Trouble>,
    #[serde(default)]
    locals: Map<String, Json>,
    #[serde(default)]
    local_errors: BTreeMap<String, Trouble>,
    #[serde(default)]
    pub(super) tables: Vec<Table>,
    #[serde(default)]
    table_errors: BTreeMap<String, Trouble>,
    #[serde(default)]
    pub(super) figures: u64,
    #[serde(default)]
    error: Option<Trouble>,
}

/// A table that follows.
#[derive(Clone, Deserialize)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) columns: u64,
}

/// Most bytes that an outcome can have.
pub(super) fn longest(budget: &Budget) -> u64 {
    budget.value_bytes + budget.locals_bytes + AROUND
}

impl Body {
    /// Reads an outcome.
    ///
    /// Errors: the breach of protocol, in words.
    pub(super) fn read(text: &[u8], budget: &Budget) -> Result<Self, &'static str> {
        let size = Size {
            bytes: longest(budget),
            nodes: budget.value_nodes * 2,
            depth: budget.value_depth + 4,
        };
        let json = tagged::parse(text, size).map_err(|refusal| match refusal {
            Refusal::TooLarge(_) => "an outcome that is too large",
            Refusal::Malformed(why) => why,
        })?;
        // A list would be read as the fields in their order.
        let json = json.is_object().then_some(json).ok_or("an outcome of another form")?;
        let mut body: Self =
            serde_json::from_value(json).map_err(|_| "an outcome of another form")?;
        if body.tables.len() as u64 > budget.tables || body.figures > budget.figures {
            return Err("more tables or figures than there may be");
        }
        let troubles = body.local_errors.values_mut().chain(body.table_errors.values_mut());
        for trouble in troubles.chain(&mut body.value_error).chain(&mut body.error) {
            if !trouble.kind.may_be_claimed() {
                return Err("a trouble that is not a worker's to tell");
            }
            cut(trouble);
        }
        Ok(body)
    }

    /// Checks the values, and makes an outcome of what is left.
    ///
    /// Errors: the breach of protocol, in words.
    pub(super) fn check(mut self, budget: &Budget) -> Result<Outcome, &'static str> {
        let size = |bytes| {
            let Budget { value_nodes: nodes, value_depth: depth, .. } = *budget;
            Size { bytes, nodes, depth }.generous()
        };
        if let Some(value) = &self.value
            && let Some(trouble) = over(value, size(budget.value_bytes))?
        {
            self.value = None;
            self.value_error = Some(trouble);
        }
        let mut left = size(budget.locals_bytes).bytes;
        let mut locals = Map::new();
        for (name, value) in self.locals {
            let trouble = over(&value, size(budget.local_bytes))?;
            let length = tagged::bytes(&value);
            if let Some(trouble) = trouble.or_else(|| (length > left).then(too_large)) {
                self.local_errors.insert(name, trouble);
                continue;
            }
            left -= length;
            if locals.len() as u64 >= budget.local_names {
                return Err("more variables than there may be");
            }
            locals.insert(name, value);
        }
        Ok(Outcome {
            value: self.value,
            value_error: self.value_error,
            locals,
            local_errors: self.local_errors,
            table_errors: self.table_errors,
            error: self.error,
            ..Outcome::default()
        })
    }
}

fn over(value: &Json, size: Size) -> Result<Option<Trouble>, &'static str> {
    match tagged::check(value, size) {
        Ok(()) if tagged::bytes(value) <= size.bytes => Ok(None),
        Ok(()) | Err(Refusal::TooLarge(_)) => Ok(Some(too_large())),
        Err(Refusal::Malformed(why)) => Err(why),
    }
}

fn too_large() -> Trouble {
    Trouble::new(trouble::Kind::ResultTooLarge, "the value is larger than its limit")
}

fn cut(trouble: &mut Trouble) {
    shorten(&mut trouble.message, MESSAGE);
    for text in trouble.exception.iter_mut().chain(&mut trouble.source) {
        shorten(text, LINE);
    }
    if let Some(frames) = &mut trouble.frames {
        frames.drain(..frames.len().saturating_sub(FRAMES));
        for frame in frames {
            shorten(&mut frame.function, LINE);
            shorten(&mut frame.source, LINE);
        }
    }
}

fn shorten(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
}

fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(from).map(Some)
}
