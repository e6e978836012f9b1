//! A schema, compiled.

use std::fmt;
use std::sync::Arc;

use antiphon_core::reply::{ParsedReply, ReplyParser, SchemaCompiler, UnreadableReply, Violation};
use antiphon_core::{Fault, Schema};
use serde_json::Value as Json;

use crate::cascade;
use crate::coerce::{CoercedValue, coerce};
use crate::defaults::{fill, has_defaults};
use crate::depth::{self, measure};
use crate::passage::passages;
use crate::rules::SchemaRules;
use crate::suggest::suggest;

/// Compiles JSON schemas.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonSchemas;

impl SchemaCompiler for JsonSchemas {
    fn compile(&self, schema: &Schema) -> Result<Arc<dyn ReplyParser>, Fault> {
        Ok(Arc::new(CompiledSchema::compile(schema)?))
    }
}

/// A compiled [`Schema`]. Compile once and keep it; a clone is cheap.
#[derive(Clone)]
pub struct CompiledSchema {
    inner: Arc<SchemaParts>,
}

struct SchemaParts {
    schema: Schema,
    rules: SchemaRules,
    /// Whether the schema has defaults to fill in.
    defaults: bool,
}

impl ReplyParser for CompiledSchema {
    fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    fn parse_text(&self, text: &str, truncated: bool) -> Result<ParsedReply, UnreadableReply> {
        cascade::read(self, text, truncated)
    }

    fn parse_arguments(&self, arguments: &str) -> Result<ParsedReply, UnreadableReply> {
        let parsed = self.parse(if arguments.trim().is_empty() { "{}" } else { arguments })?;
        let is_cut = || passages(arguments).last().is_some_and(|passage| !passage.closed);
        if !parsed.repaired() || !is_cut() {
            return Ok(parsed);
        }
        let error = Violation::new("", "a whole JSON object", "the beginning of one");
        let raw = arguments.to_owned();
        Err(UnreadableReply { raw, errors: vec![error], ..UnreadableReply::default() })
    }

    fn validate(&self, value: &Json) -> Result<(), Vec<Violation>> {
        if measure(value).levels > depth::LIMIT {
            let limit = format!("at most {} levels of nesting", depth::LIMIT);
            return Err(vec![Violation::new("", limit, "more")]);
        }
        if self.inner.rules.fits(value) {
            return Ok(());
        }
        Err(self.suggested(self.inner.rules.violations(value)))
    }
}

impl CompiledSchema {
    /// Compiles a schema, as [`SchemaCompiler::compile`].
    ///
    /// # Errors
    ///
    /// Category `validation`, code `schema_invalid`, with the place in the
    /// schema as detail `path`.
    pub fn compile(schema: &Schema) -> Result<Self, Fault> {
        let rules = SchemaRules::compile(schema)?;
        let defaults = has_defaults(&schema.json);
        Ok(Self { inner: Arc::new(SchemaParts { schema: schema.clone(), rules, defaults }) })
    }

    /// Coerces and completes a value that was read, at most
    /// [`depth::LIMIT`] levels deep.
    pub(crate) fn fit(&self, value: Json) -> Result<CoercedValue, Vec<Violation>> {
        let rules = &self.inner.rules;
        let (value, coerced) = if rules.fits(&value) {
            (value, Vec::new())
        } else {
            coerce(rules, value).map_err(|violations| self.suggested(violations))?
        };
        Ok((self.complete(value), coerced))
    }

    /// The violations, with the fields that were meant.
    fn suggested(&self, mut violations: Vec<Violation>) -> Vec<Violation> {
        suggest(&self.inner.schema.json, &mut violations);
        violations
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
    pub(crate) fn is_kin(&self, value: &Json) -> bool {
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
    pub(crate) fn wanted(&self) -> &'static str {
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

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchema")
            .field("name", &self.inner.schema.name)
            .finish_non_exhaustive()
    }
}
