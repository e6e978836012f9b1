//! Rewrites a JSON schema to the subset whose fulfilment a provider guarantees. Replies must be
//! validated against the original schema; keywords that are dropped here are reported.

use std::fmt;

use serde_json::{Map, Value as Json, json};

/// The greatest depth of a schema; the provider would refuse deeper ones.
const DEPTH: usize = 64;

/// What a provider's subset of JSON Schema allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaSubset {
    /// Whether every object has to require all its properties.
    pub requires_all: bool,
    /// Whether bounds of numbers and of the number of items are allowed.
    pub bounds: bool,
    /// Whether texts may have a pattern.
    pub patterns: bool,
    /// The formats of texts.
    pub formats: &'static [&'static str],
}

impl SchemaSubset {
    /// OpenAI's strict mode.
    pub const OPENAI: Self = Self {
        requires_all: true,
        bounds: true,
        patterns: true,
        formats: &[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
        ],
    };

    /// Anthropic's structured outputs.
    pub const ANTHROPIC: Self = Self {
        requires_all: false,
        bounds: false,
        patterns: false,
        formats: &[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "uri",
            "ipv4",
            "ipv6",
            "uuid",
        ],
    };

    /// Whether it allows a keyword that contains no schema.
    fn takes(self, keyword: &str, value: &Json) -> bool {
        const KEYWORDS: [&str; 6] = ["type", "enum", "const", "$ref", "description", "title"];
        const BOUNDS: [&str; 7] = [
            "multipleOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minItems",
            "maxItems",
        ];
        const LOOK_AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
        let text = value.as_str().unwrap_or_default();
        match keyword {
            "format" => self.formats.contains(&text),
            "pattern" => self.patterns && !LOOK_AROUND.iter().any(|group| text.contains(group)),
            _ => KEYWORDS.contains(&keyword) || (self.bounds && BOUNDS.contains(&keyword)),
        }
    }
}

/// A schema in such a subset: every object allows only its own properties.
#[derive(Clone, Debug, PartialEq)]
pub struct StrictSchema {
    /// The schema to send.
    pub json: Json,
    /// The keywords of the original that are missing.
    pub dropped: Vec<DroppedKeyword>,
}

/// A keyword that the subset does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedKeyword {
    /// The schema that contained it, as a JSON pointer.
    pub path: String,
    /// The keyword.
    pub keyword: String,
}

/// Why a schema has no form in the subset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrictSchemaFault {
    /// The position, as a JSON pointer.
    pub path: String,
    /// What is there, for messages.
    pub reason: &'static str,
}

impl fmt::Display for StrictSchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at `{}`", self.reason, self.path)
    }
}

impl StrictSchema {
    /// Rewrites `schema` to `subset`.
    ///
    /// ```
    /// use antiphon_models::strict_schema::{SchemaSubset, StrictSchema};
    /// use serde_json::json;
    /// let schema = json!({"type": "object", "properties": {"name": {"type": "string", "minLength": 1}}});
    /// let strict = StrictSchema::of(&schema, SchemaSubset::OPENAI).unwrap();
    /// assert_eq!(strict.json["required"], json!(["name"]));
    /// assert_eq!(strict.dropped[0].keyword, "minLength");
    /// ```
    ///
    /// # Errors
    /// [`StrictSchemaFault`] if the subset cannot express it: an object with free keys, a
    /// tuple, an untyped value, a root that is not an object.
    pub fn of(schema: &Json, subset: SchemaSubset) -> Result<Self, StrictSchemaFault> {
        let mut rewriter = Rewriter { subset, path: Vec::new(), dropped: Vec::new() };
        let root = inline_root(schema);
        let json = rewriter.schema(&root)?;
        if json.get("type") != Some(&json!("object")) {
            return Err(rewriter.unsupported("the root is not an object"));
        }
        Ok(Self { json, dropped: rewriter.dropped })
    }

    /// Logs the keywords that are missing from the schema that `model` gets.
    pub(crate) fn report(&self, schema: &str, model: &str) {
        for dropped in &self.dropped {
            tracing::debug!(
                model,
                schema,
                keyword = dropped.keyword,
                path = dropped.path,
                "the provider's subset does not take a keyword of the schema"
            );
        }
    }
}

/// Replaces a root that only refers to one of its definitions by that definition.
fn inline_root(schema: &Json) -> Json {
    let target = schema.get("$ref").and_then(Json::as_str);
    let pointed = target.and_then(|target| schema.pointer(target.strip_prefix('#')?));
    let (Some(Json::Object(pointed)), Json::Object(fields)) = (pointed, schema) else {
        return schema.clone();
    };
    let mut root = fields.clone();
    root.shift_remove("$ref");
    root.extend(pointed.clone());
    Json::Object(root)
}

struct Rewriter {
    subset: SchemaSubset,
    path: Vec<String>,
    dropped: Vec<DroppedKeyword>,
}

impl Rewriter {
    fn schema(&mut self, schema: &Json) -> Result<Json, StrictSchemaFault> {
        let Json::Object(fields) = schema else {
            return Err(self.unsupported("a schema that allows anything or nothing"));
        };
        if self.path.len() > DEPTH {
            return Err(self.unsupported("a schema that is too deep"));
        }
        if let Some(only) = single_all_of(fields) {
            return self.schema(&only);
        }
        let mut strict = Map::new();
        for (keyword, value) in fields {
            self.keyword(keyword, value, fields, &mut strict)?;
        }
        self.close(fields, &mut strict)?;
        let says_what = ["type", "enum", "const", "$ref", "anyOf"];
        if says_what.iter().any(|keyword| strict.contains_key(*keyword)) {
            Ok(Json::Object(strict))
        } else {
            Err(self.unsupported("a value without a type"))
        }
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &Json,
        fields: &Map<String, Json>,
        strict: &mut Map<String, Json>,
    ) -> Result<(), StrictSchemaFault> {
        // Beside a reference only definitions are allowed.
        let beside_ref = fields.contains_key("$ref") && !matches!(keyword, "$ref" | "$defs");
        let kept = match keyword {
            _ if beside_ref => None,
            "properties" | "$defs" | "definitions" => Some(self.each(keyword, value)?),
            "items" => Some(self.at(keyword, |inner| inner.schema(value))?),
            "anyOf" => Some(self.any_of(keyword, value)?),
            // `oneOf` becomes the weaker `anyOf`, which is reported.
            "oneOf" => {
                self.drop(keyword);
                let any = self.any_of(keyword, value)?;
                strict.insert("anyOf".to_owned(), any);
                return Ok(());
            }
            "allOf" | "prefixItems" => return Err(self.unsupported("an `allOf` or a tuple")),
            "required" if !self.subset.requires_all => Some(value.clone()),
            "required" | "additionalProperties" => return Ok(()),
            _ => self.subset.takes(keyword, value).then(|| value.clone()),
        };
        match kept {
            Some(kept) => drop(strict.insert(keyword.to_owned(), kept)),
            None => self.drop(keyword),
        }
        Ok(())
    }

    fn each(&mut self, keyword: &str, schemas: &Json) -> Result<Json, StrictSchemaFault> {
        let Json::Object(schemas) = schemas else {
            return Err(self.unsupported("a keyword that should hold schemas by name"));
        };
        let mut strict = Map::new();
        for (name, schema) in schemas {
            let inner = self.at(keyword, |outer| outer.at(name, |inner| inner.schema(schema)))?;
            strict.insert(name.clone(), inner);
        }
        Ok(Json::Object(strict))
    }

    fn any_of(&mut self, keyword: &str, schemas: &Json) -> Result<Json, StrictSchemaFault> {
        let Json::Array(schemas) = schemas else {
            return Err(self.unsupported("a keyword that should hold a list of schemas"));
        };
        let mut strict = Vec::with_capacity(schemas.len());
        for (index, schema) in schemas.iter().enumerate() {
            let index = index.to_string();
            strict.push(self.at(keyword, |outer| outer.at(&index, |inner| inner.schema(schema)))?);
        }
        Ok(Json::Array(strict))
    }

    /// Makes an object refuse properties that it does not know, and require those it knows.
    fn close(
        &mut self,
        fields: &Map<String, Json>,
        strict: &mut Map<String, Json>,
    ) -> Result<(), StrictSchemaFault> {
        if !is_object(fields) {
            return Ok(());
        }
        let names: Vec<&String> = fields
            .get("properties")
            .and_then(Json::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .collect();
        let free = fields.get("additionalProperties");
        if matches!(free, Some(Json::Object(_)))
            || (names.is_empty() && free != Some(&json!(false)))
        {
            return Err(self.unsupported("an object with free keys"));
        }
        if free == Some(&json!(true)) {
            self.drop("additionalProperties");
        }
        if self.subset.requires_all {
            strict.insert("required".to_owned(), json!(names));
        }
        strict.insert("additionalProperties".to_owned(), json!(false));
        Ok(())
    }

    fn at<T>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(format!("/{}", step.replace('~', "~0").replace('/', "~1")));
        let result = work(self);
        self.path.pop();
        result
    }

    fn drop(&mut self, keyword: &str) {
        self.dropped.push(DroppedKeyword { path: self.pointer(), keyword: keyword.to_owned() });
    }

    fn unsupported(&self, reason: &'static str) -> StrictSchemaFault {
        StrictSchemaFault { path: self.pointer(), reason }
    }

    fn pointer(&self) -> String {
        self.path.concat()
    }
}

/// pydantic wraps a single schema in `allOf` to add a description.
fn single_all_of(fields: &Map<String, Json>) -> Option<Json> {
    let [Json::Object(only)] = fields.get("allOf")?.as_array()?.as_slice() else { return None };
    let mut merged = fields.clone();
    merged.shift_remove("allOf");
    merged.extend(only.clone());
    Some(Json::Object(merged))
}

fn is_object(fields: &Map<String, Json>) -> bool {
    match fields.get("type") {
        Some(Json::String(kind)) => kind == "object",
        Some(Json::Array(kinds)) => kinds.contains(&json!("object")),
        _ => fields.contains_key("properties"),
    }
}
