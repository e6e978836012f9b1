//! Whether a schema refers to itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

/// Whether a value of any depth could lead `schema` round in a circle. A
/// reference that is no plain pointer counts as one that does.
pub(crate) fn is_recursive(schema: &Json) -> bool {
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut pending: Vec<&str> = references(schema).into_iter().collect();
    while let Some(name) = pending.pop() {
        if edges.contains_key(name) {
            continue;
        }
        let Some(target) = name.strip_prefix('#').and_then(|path| schema.pointer(path)) else {
            return true;
        };
        let next = references(target);
        pending.extend(&next);
        edges.insert(name, next);
    }
    // Take away what leads nowhere until nothing is left, or only circles.
    while !edges.is_empty() {
        let leaves: Vec<&str> = edges
            .iter()
            .filter(|(_, next)| next.iter().all(|name| !edges.contains_key(name)))
            .map(|(name, _)| *name)
            .collect();
        if leaves.is_empty() {
            return true;
        }
        edges.retain(|name, _| !leaves.contains(name));
    }
    false
}

/// All that `schema` refers to, anywhere in it.
fn references(schema: &Json) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        match part {
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => {
                for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                    names.extend(fields.get(keyword).and_then(Json::as_str));
                }
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    names
}
