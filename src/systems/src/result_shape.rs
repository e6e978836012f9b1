//! What the results of a tool hold, as the paths that references to them end with.

use serde_json::{Map, Value as Json};

/// The most paths that are listed.
pub(crate) const MOST: usize = 24;
/// How deep the values lie at most.
const DEEPEST: usize = 5;

/// The paths of the values that a schema declares, such as `results.0.path`: those of plain values,
/// and of the first item of a list. Empty if it declares none by name.
pub(crate) fn value_paths(schema: &Json) -> Vec<String> {
    let mut shape = ResultShape { root: schema, open: Vec::new(), paths: Vec::new() };
    shape.visit(schema, &mut Vec::new());
    shape.paths
}

struct ResultShape<'s> {
    root: &'s Json,
    /// The definitions that the path leads through: within itself, one is left out.
    open: Vec<&'s str>,
    paths: Vec<String>,
}

impl<'s> ResultShape<'s> {
    fn visit(&mut self, schema: &'s Json, path: &mut Vec<&'s str>) {
        if path.len() > DEEPEST || self.paths.len() >= MOST {
            return;
        }
        let open = self.open.len();
        if let Some(schema) = self.definition(schema) {
            self.visit_definition(schema, path);
        }
        self.open.truncate(open);
    }

    fn visit_definition(&mut self, schema: &'s Json, path: &mut Vec<&'s str>) {
        let fields = schema.get("properties").and_then(Json::as_object);
        if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
            self.visit_fields(fields, path);
        } else if let Some(item) = schema.get("items").filter(|item| item.is_object()) {
            path.push("0");
            self.visit(item, path);
            path.pop();
        } else if !path.is_empty() {
            self.paths.push(path.join("."));
        }
    }

    fn visit_fields(&mut self, fields: &'s Map<String, Json>, path: &mut Vec<&'s str>) {
        // A path is divided at dots and brackets, so such a name cannot be part of one.
        let is_usable = |name: &&String| !name.contains(['.', '[', ']', '{', '}', '\n']);
        for (name, field) in fields.iter().filter(|(name, _)| is_usable(name)) {
            path.push(name);
            self.visit(field, path);
            path.pop();
        }
    }

    /// The schema itself, the definition that it refers to, or what it is if it is not null.
    fn definition(&mut self, mut schema: &'s Json) -> Option<&'s Json> {
        for _ in 0..DEEPEST {
            let options = ["anyOf", "oneOf", "allOf"];
            let options = options.iter().find_map(|name| schema.get(*name)?.as_array());
            let other = |option: &&Json| option.get("type").is_none_or(|kind| kind != "null");
            let Some(reference) = schema.get("$ref").and_then(Json::as_str) else {
                match options.and_then(|options| options.iter().find(other)) {
                    Some(option) => schema = option,
                    None => break,
                }
                continue;
            };
            if self.open.contains(&reference) {
                return None;
            }
            self.open.push(reference);
            schema = reference.strip_prefix('#').and_then(|at| self.root.pointer(at))?;
        }
        Some(schema)
    }
}
