//! The field that was meant, where a value has one that its schema does not know.

use antiphon_core::nearest::nearest;
use antiphon_core::reply::Violation;
use serde_json::Value as Json;

/// What `explain` says of such a field.
pub(crate) const UNKNOWN: &str = "no such field";
/// Parts of a schema that are looked at for one field; schemas may refer to themselves.
const PARTS: usize = 200;
/// Names that are listed.
const LISTED: usize = 12;

/// Adds to each field that the schema does not know which one was meant, or which there are.
pub(crate) fn suggest(schema: &Json, violations: &mut [Violation]) {
    for violation in violations.iter_mut().filter(|violation| violation.expected == UNKNOWN) {
        let Some((parent, name)) = violation.path.rsplit_once('/') else { continue };
        let known = fields_at(schema, parent);
        let name = unescaped(name);
        let hint = match nearest(&name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => continue,
            None => {
                let listed: Vec<_> =
                    known.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
                let more = if known.len() > LISTED { ", …" } else { "" };
                format!("the fields are {}{more}", listed.join(", "))
            }
        };
        *violation = Violation::new(
            violation.path.clone(),
            format!("{UNKNOWN}; {hint}"),
            std::mem::take(&mut violation.found),
        );
    }
}

/// The names of the fields that a schema knows at a place in a value.
fn fields_at<'s>(root: &'s Json, path: &str) -> Vec<&'s str> {
    let mut parts = spread(root, vec![root]);
    for segment in path.split('/').skip(1) {
        let segment = unescaped(segment);
        let below = parts.iter().flat_map(|part| {
            let own = part.get("properties").and_then(|fields| fields.get(&segment));
            let others = ["additionalProperties", "items"].map(|keyword| part.get(keyword));
            own.into_iter().chain(others.into_iter().flatten())
        });
        parts = spread(root, below.collect());
    }
    let fields = parts.iter().filter_map(|part| part.get("properties")?.as_object());
    let mut names: Vec<&str> = Vec::new();
    for name in fields.flat_map(|fields| fields.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// Parts of a schema with those that they refer to and are composed of.
fn spread<'s>(root: &'s Json, mut open: Vec<&'s Json>) -> Vec<&'s Json> {
    let mut found: Vec<&Json> = Vec::new();
    while let Some(part) = open.pop() {
        if found.len() >= PARTS || found.iter().any(|known| std::ptr::eq(*known, part)) {
            continue;
        }
        found.push(part);
        let target = part.get("$ref").and_then(Json::as_str);
        open.extend(target.and_then(|target| root.pointer(target.strip_prefix('#')?)));
        for keyword in ["allOf", "anyOf", "oneOf"] {
            open.extend(part.get(keyword).and_then(Json::as_array).into_iter().flatten());
        }
    }
    found
}

fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}
