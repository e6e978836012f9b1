//! The shape that a reply or a tool's arguments must have.

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::fault::Fault;
use crate::model::{FinishReason, ModelReply};
use crate::schema::Schema;

use super::cascade;
use super::coerce::{Coerced, coerce};
use super::defaults::{fill, has_defaults};
use super::depth::{self, measure};
use super::reading::Reading;
use super::rules::Rules;
use super::unreadable::Unreadable;
use super::violation::Violation;

/// A compiled [`Schema`]. Compile once and keep it; a clone is cheap.
#[derive(Clone)]
pub struct Shape {
    inner: Arc<Inner>,
}

struct Inner {
    schema: Schema,
    rules: Rules,
    /// Whether the schema has defaults to fill in.
    defaults: bool,
}

impl Shape {
    /// Compiles a schema (draft 2020-12 unless it names another). References
    /// must stay within it; nothing is ever loaded.
    ///
    /// # Errors
    ///
    /// Category `validation`, code `schema_invalid`, with the place in the
    /// schema as detail `path`.
    pub fn compile(schema: &Schema) -> Result<Self, Fault> {
        let rules = Rules::compile(schema)?;
        let defaults = has_defaults(&schema.json);
        Ok(Self { inner: Arc::new(Inner { schema: schema.clone(), rules, defaults }) })
    }

    /// The schema that was compiled.
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    /// Reads the text of a model: strictly, from a fence, from amid prose, or
    /// repaired, whichever first gives a value that fits.
    ///
    /// # Errors
    ///
    /// The reply with what is wrong in the value that came closest.
    pub fn read(&self, text: &str) -> Result<Reading, Unreadable> {
        cascade::read(self, text, false)
    }

    /// Reads a model's reply. One that the token limit cut off counts only if
    /// what arrived fits without guessing: a number that it ends in may lack
    /// digits and is dropped.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_reply(&self, reply: &ModelReply) -> Result<Reading, Unreadable> {
        cascade::read(self, &reply.text, reply.finish == FinishReason::Length)
    }

    /// Reads the arguments of a tool call. Some models write nothing at all
    /// for a tool without arguments; that is read as `{}`.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_arguments(&self, arguments: &str) -> Result<Reading, Unreadable> {
        self.read(if arguments.trim().is_empty() { "{}" } else { arguments })
    }

    /// Checks a value as it is: nothing is coerced, nothing filled in.
    ///
    /// # Errors
    ///
    /// Every place that does not fit, at least one.
    pub fn check(&self, value: &Json) -> Result<(), Vec<Violation>> {
        if measure(value).levels > depth::LIMIT {
            let limit = format!("at most {} levels of nesting", depth::LIMIT);
            return Err(vec![Violation::new("", limit, "more")]);
        }
        if self.inner.rules.fits(value) {
            return Ok(());
        }
        Err(self.inner.rules.violations(value))
    }

    /// Coerces and completes a value that was read, at most
    /// [`depth::LIMIT`] levels deep.
    pub(super) fn fit(&self, value: Json) -> Result<Coerced, Vec<Violation>> {
        let rules = &self.inner.rules;
        let (value, coerced) =
            if rules.fits(&value) { (value, Vec::new()) } else { coerce(rules, value)? };
        Ok((self.complete(value), coerced))
    }

    /// Fills in defaults, unless the schema's own defaults break it.
    fn complete(&self, value: Json) -> Json {
        if !self.inner.defaults {
            return value;
        }
        let mut full = value.clone();
        fill(&self.inner.schema.json, &self.inner.rules, &mut full);
        if self.inner.rules.fits(&full) { full } else { value }
    }

    /// Whether `value` is of a type that the schema asks for at its root.
    pub(super) fn is_kin(&self, value: &Json) -> bool {
        let wanted = self.root_types();
        let name = match value {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        };
        wanted.is_empty() || wanted.contains(&name)
    }

    /// What the schema asks for at its root, for a reader.
    pub(super) fn wanted(&self) -> &'static str {
        match self.root_types().as_slice() {
            ["object"] => "a JSON object",
            ["array"] => "a JSON list",
            _ => "a JSON value",
        }
    }

    /// The types that the schema names at its root; empty for any.
    fn root_types(&self) -> Vec<&str> {
        let whole = &self.inner.schema.json;
        let target = whole.get("$ref").and_then(Json::as_str).and_then(|name| {
            let pointer = name.strip_prefix('#')?;
            whole.pointer(pointer)
        });
        let kind = whole.get("type").or_else(|| target.and_then(|target| target.get("type")));
        let names = match kind {
            Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
            Some(Json::String(name)) => vec![name.as_str()],
            _ => Vec::new(),
        };
        names.into_iter().map(|name| if name == "integer" { "number" } else { name }).collect()
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape").field("name", &self.inner.schema.name).finish_non_exhaustive()
    }
}
