//! Optional fields that a value leaves out get the schema's defaults.

use serde_json::{Map, Value as Json};

use crate::rules::SchemaRules;

/// Parts of a schema that may be visited for one value.
const VISITS: usize = 100_000;

/// Parts that may be visited without going deeper into the value.
const HOPS: usize = 32;

/// Whether `schema` has a default anywhere.
pub(crate) fn has_defaults(schema: &Json) -> bool {
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        match part {
            Json::Array(items) => open.extend(items),
            Json::Object(fields) if fields.contains_key("default") => return true,
            Json::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    false
}

/// Puts the defaults of `schema` into `value`, which fits it. Of a choice, the
/// first branch that fits counts. A field that is required has no default: the
/// model had to say it.
pub(crate) fn fill(schema: &Json, rules: &SchemaRules, value: &mut Json) {
    let mut filler = DefaultFiller { schema, rules, visits: VISITS };
    filler.visit(&SchemaPart { pointer: String::new(), schema, hops: HOPS }, value);
}

/// A part of the schema, with its JSON pointer.
struct SchemaPart<'s> {
    pointer: String,
    schema: &'s Json,
    hops: usize,
}

impl<'s> SchemaPart<'s> {
    /// The part at `keyword`, for a value one level deeper.
    fn down(&self, keyword: &str, schema: &'s Json) -> Self {
        Self { pointer: format!("{}/{keyword}", self.pointer), schema, hops: HOPS }
    }

    /// The part at `keyword`, for the same value.
    fn beside(&self, keyword: &str) -> Option<Self> {
        let pointer = format!("{}/{keyword}", self.pointer);
        let schema = self.schema.pointer(&format!("/{keyword}"))?;
        Some(Self { pointer, schema, hops: self.hops.checked_sub(1)? })
    }
}

struct DefaultFiller<'s> {
    schema: &'s Json,
    rules: &'s SchemaRules,
    visits: usize,
}

impl<'s> DefaultFiller<'s> {
    fn visit(&mut self, part: &SchemaPart<'s>, value: &mut Json) {
        let Some(left) = self.visits.checked_sub(1) else { return };
        self.visits = left;
        if let Some(target) = self.refer(part) {
            self.visit(&target, value);
        }
        for other in self.alongside(part, value) {
            self.visit(&other, value);
        }
        match value {
            Json::Object(fields) => self.object(part, fields),
            Json::Array(items) => self.list(part, items),
            _ => {}
        }
    }

    fn refer(&self, part: &SchemaPart<'s>) -> Option<SchemaPart<'s>> {
        let pointer = part.schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        let schema = self.schema.pointer(pointer)?;
        Some(SchemaPart { pointer: pointer.to_owned(), schema, hops: part.hops.checked_sub(1)? })
    }

    /// The other parts of the schema that hold for the same value.
    fn alongside(&self, part: &SchemaPart<'s>, value: &Json) -> Vec<SchemaPart<'s>> {
        let branches = |keyword: &str| {
            let count = part.schema.get(keyword).and_then(Json::as_array).map_or(0, Vec::len);
            (0..count).map(|index| format!("{keyword}/{index}")).collect::<Vec<_>>()
        };
        let holds = |keyword: &String| {
            let rules = self.rules.part(&format!("{}/{keyword}", part.pointer));
            rules.is_some_and(|rules| rules.is_valid(value))
        };
        let mut keywords = branches("allOf");
        keywords.extend(branches("anyOf").into_iter().find(holds));
        keywords.extend(branches("oneOf").into_iter().find(holds));
        if part.schema.get("if").is_some() {
            let branch = if holds(&"if".to_owned()) { "then" } else { "else" };
            keywords.push(branch.to_owned());
        }
        keywords.iter().filter_map(|keyword| part.beside(keyword)).collect()
    }

    fn object(&mut self, part: &SchemaPart<'s>, fields: &mut Map<String, Json>) {
        let properties = part.schema.get("properties").and_then(Json::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let escaped = name.replace('~', "~0").replace('/', "~1");
            let below = part.down(&format!("properties/{escaped}"), schema);
            if let Some(field) = fields.get_mut(name) {
                self.visit(&below, field);
            } else if !is_required(part.schema, name)
                && let Some(default) = self.default(below)
            {
                fields.insert(name.clone(), default);
            }
        }
        let Some(schema) = part.schema.get("additionalProperties") else { return };
        for (name, field) in fields.iter_mut() {
            if properties.is_none_or(|properties| !properties.contains_key(name)) {
                self.visit(&part.down("additionalProperties", schema), field);
            }
        }
    }

    fn list(&mut self, part: &SchemaPart<'s>, items: &mut [Json]) {
        let first = part.schema.get("prefixItems").and_then(Json::as_array);
        let first = first.map(Vec::as_slice).unwrap_or_default();
        let rest = part.schema.get("items").filter(|rest| rest.is_object());
        for (index, item) in items.iter_mut().enumerate() {
            match (first.get(index), rest) {
                (Some(schema), _) => {
                    self.visit(&part.down(&format!("prefixItems/{index}"), schema), item);
                }
                (None, Some(schema)) => self.visit(&part.down("items", schema), item),
                (None, None) => {}
            }
        }
    }

    /// The default of a part or of what it refers to.
    fn default(&self, part: SchemaPart<'s>) -> Option<Json> {
        let mut next = Some(part);
        while let Some(part) = next {
            if let Some(default) = part.schema.get("default") {
                return Some(default.clone());
            }
            next = self.refer(&part);
        }
        None
    }
}

fn is_required(schema: &Json, name: &str) -> bool {
    let required = schema.get("required").and_then(Json::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}
