//! How deep and how large a value is, measured without recursion.

use serde_json::Value as Json;

/// Levels of nesting that a reply, a value or a schema may have.
pub(crate) const LIMIT: usize = 127;

/// The size of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonSize {
    /// Values in all, the outermost included.
    pub(crate) nodes: usize,
    /// Lists and objects around the innermost value.
    pub(crate) levels: usize,
}

/// Measures `value`.
pub(crate) fn measure(value: &Json) -> JsonSize {
    let mut extent = JsonSize { nodes: 0, levels: 0 };
    let mut open = vec![(value, 0)];
    while let Some((value, level)) = open.pop() {
        extent.nodes += 1;
        extent.levels = extent.levels.max(level);
        match value {
            Json::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Json::Object(fields) => open.extend(fields.values().map(|field| (field, level + 1))),
            _ => {}
        }
    }
    extent
}
