//! Tagged values: types that JSON lacks are dicts with the key `$`. A worker may send anything,
//! so bytes, nodes and depth are counted before a parser allocates anything, and the form is
//! checked afterwards.

use serde_json::{Map, Value as Json};

/// The size of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueSize {
    /// Bytes of JSON text.
    pub bytes: u64,
    /// The number of nested values, including itself.
    pub nodes: u64,
    /// Levels of nesting.
    pub depth: u64,
}

impl ValueSize {
    /// The size with some tolerance, because the two sides count small things differently.
    #[must_use]
    pub const fn generous(self) -> Self {
        Self {
            bytes: self.bytes / 4 * 5 + 1_024,
            nodes: self.nodes * 2 + 16,
            depth: self.depth + 4,
        }
    }
}

/// Why a text is not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFault {
    /// It exceeds one of its bounds.
    TooLarge(&'static str),
    /// It has the wrong form.
    Malformed(&'static str),
}

/// A tag adds up to three levels of JSON to one level of a value.
const LEVELS_PER_LEVEL: u64 = 3;
/// The levels around values in a frame.
const LEVELS_AROUND: u64 = 8;
/// A tag adds up to three nodes and that of its dict, and pairs add one more.
const NODES_PER_NODE: u64 = 6;
/// How many nodes a dict counts for: readers need half a kilobyte for the smallest.
const DICT: u64 = 4;

/// Parses JSON that a worker wrote.
///
/// # Errors
/// If it exceeds a bound, which is found before anything is allocated, or is not JSON.
pub fn parse(text: &[u8], size: ValueSize) -> Result<Json, ValueFault> {
    if text.len() as u64 > size.bytes {
        return Err(ValueFault::TooLarge("bytes"));
    }
    measure(
        text,
        size.depth.saturating_mul(LEVELS_PER_LEVEL).saturating_add(LEVELS_AROUND),
        size.nodes.saturating_mul(NODES_PER_NODE).saturating_add(1024),
    )?;
    let mut reader = serde_json::Deserializer::from_slice(text);
    // The scan has limited the depth already.
    reader.disable_recursion_limit();
    let value = serde::Deserialize::deserialize(&mut reader)
        .map_err(|_| ValueFault::Malformed("it is no JSON"))?;
    reader.end().map_err(|_| ValueFault::Malformed("something follows the JSON"))?;
    Ok(value)
}

/// Refuses JSON text that would need much memory, without parsing it: counts nesting, containers
/// and commas outside of strings.
///
/// # Errors
/// If it is nested deeper than `deepest`, or has more than `most` nodes; a dict counts for four.
pub fn measure(text: &[u8], deepest: u64, most: u64) -> Result<(), ValueFault> {
    let (mut depth, mut nodes) = (0_u64, 1_u64);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'[' => {
                depth += 1;
                nodes += 1;
            }
            b'{' => {
                depth += 1;
                nodes += DICT;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => nodes += 1,
            _ => {}
        }
        if depth > deepest {
            return Err(ValueFault::TooLarge("depth"));
        }
        if nodes > most {
            return Err(ValueFault::TooLarge("nodes"));
        }
    }
    Ok(())
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// Checks that `value` is a tagged value within its bounds.
///
/// # Errors
/// If it exceeds a bound, or has an unknown tag or form.
pub fn check(value: &Json, size: ValueSize) -> Result<(), ValueFault> {
    let mut nodes = size.nodes;
    walk(value, &mut nodes, size.depth)
}

/// The length of `value` as JSON text.
pub fn bytes(value: &Json) -> u64 {
    struct Count(u64);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither encoding nor counting can fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

fn walk(value: &Json, nodes: &mut u64, depth: u64) -> Result<(), ValueFault> {
    *nodes = nodes.checked_sub(1).ok_or(ValueFault::TooLarge("nodes"))?;
    match value {
        Json::Array(items) => {
            let depth = deeper(depth)?;
            items.iter().try_for_each(|item| walk(item, nodes, depth))
        }
        Json::Object(dict) => {
            if let Some(tag) = dict.get("$") {
                return walk_tag(dict, tag, nodes, depth);
            }
            let depth = deeper(depth)?;
            dict.values().try_for_each(|item| walk(item, nodes, depth))
        }
        _ => Ok(()),
    }
}

fn deeper(depth: u64) -> Result<u64, ValueFault> {
    depth.checked_sub(1).ok_or(ValueFault::TooLarge("depth"))
}

fn walk_tag(
    dict: &Map<String, Json>,
    tag: &Json,
    nodes: &mut u64,
    depth: u64,
) -> Result<(), ValueFault> {
    const SHAPE: ValueFault = ValueFault::Malformed("a tag with the wrong fields");
    let tag = tag.as_str().ok_or(SHAPE)?;
    let fields = |names: &[&str]| {
        dict.len() == names.len() + 1 && names.iter().all(|name| dict.contains_key(*name))
    };
    let value = dict.get("v");
    let text = |name: &str| dict.get(name).is_some_and(Json::is_string);
    let numbers = |count: usize| {
        value
            .and_then(Json::as_array)
            .is_some_and(|pair| pair.len() == count && pair.iter().all(Json::is_i64))
    };
    match tag {
        "tuple" | "set" | "frozenset" if fields(&["v"]) => {
            let items = value.and_then(Json::as_array).ok_or(SHAPE)?;
            let depth = deeper(depth)?;
            items.iter().try_for_each(|item| walk(item, nodes, depth))
        }
        "dict" if fields(&["v"]) => {
            let pairs = value.and_then(Json::as_array).ok_or(SHAPE)?;
            let depth = deeper(depth)?;
            pairs.iter().try_for_each(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([key, value]) => {
                    walk(key, nodes, depth).and_then(|()| walk(value, nodes, depth))
                }
                _ => Err(SHAPE),
            })
        }
        "complex" if fields(&["v"]) => {
            let parts = value.and_then(Json::as_array).ok_or(SHAPE)?;
            let is_part = |part: &Json| part.is_number() || is_float_tag(part);
            if parts.len() == 2 && parts.iter().all(is_part) { Ok(()) } else { Err(SHAPE) }
        }
        "timedelta" if fields(&["v"]) && numbers(3) => Ok(()),
        "fraction" if fields(&["v"]) => {
            let parts = value.and_then(Json::as_array).ok_or(SHAPE)?;
            if parts.len() == 2 && parts.iter().all(Json::is_string) { Ok(()) } else { Err(SHAPE) }
        }
        "int" | "bytes" | "datetime" | "date" | "time" | "decimal" | "uuid"
            if fields(&["v"]) && text("v") =>
        {
            Ok(())
        }
        "float" if is_float(dict) => Ok(()),
        "table" if fields(&["name"]) && text("name") => Ok(()),
        "object" if fields(&["type", "repr"]) && text("type") && text("repr") => Ok(()),
        "array" if fields(&["dtype", "shape", "v"]) && text("dtype") && text("v") => {
            let shape = dict.get("shape").and_then(Json::as_array).ok_or(SHAPE)?;
            if shape.iter().all(Json::is_u64) { Ok(()) } else { Err(SHAPE) }
        }
        "int" | "float" | "bytes" | "complex" | "datetime" | "date" | "time" | "timedelta"
        | "decimal" | "fraction" | "uuid" | "array" | "table" | "object" | "tuple" | "set"
        | "frozenset" | "dict" => Err(SHAPE),
        _ => Err(ValueFault::Malformed("an unknown tag")),
    }
}

fn is_float_tag(value: &Json) -> bool {
    value
        .as_object()
        .is_some_and(|dict| dict.get("$").is_some_and(|tag| tag == "float") && is_float(dict))
}

fn is_float(dict: &Map<String, Json>) -> bool {
    let value = dict.get("v").and_then(Json::as_str);
    dict.len() == 2 && value.is_some_and(|value| matches!(value, "nan" | "inf" | "-inf"))
}
