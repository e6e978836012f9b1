//! The texts within a JSON value: looking at each, replacing each, and putting other values into
//! them, as the references of plans do.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Map, Value as Json};

/// A part of a text: words, or what a value stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPart<'t, R> {
    /// Words.
    Text(Cow<'t, str>),
    /// A value is put here.
    Value(R),
}

/// Shows every text in a value, with its path: `.urls[0]`. The names of fields are none.
///
/// ```
/// use antiphon_systems::json_texts::visit;
/// let mut seen = Vec::new();
/// let value = serde_json::json!({"urls": ["a", 1], "n": null});
/// visit(&value, &mut |path, text| seen.push(format!("{path} {text}")));
/// assert_eq!(seen, [".urls[0] a"]);
/// ```
pub fn visit<'v>(value: &'v Json, see: &mut dyn FnMut(&str, &'v str)) {
    visit_below(value, &mut String::new(), see);
}

fn visit_below<'v>(value: &'v Json, path: &mut String, see: &mut dyn FnMut(&str, &'v str)) {
    let mut below = |part: String, value: &'v Json| {
        let length = path.len();
        path.push_str(&part);
        visit_below(value, path, see);
        path.truncate(length);
    };
    match value {
        Json::String(text) => see(path, text),
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| below(format!("[{at}]"), item));
        }
        Json::Object(fields) => {
            fields.iter().for_each(|(name, field)| below(format!(".{name}"), field));
        }
        _ => {}
    }
}

/// The value with every text in it replaced; the names of fields stay.
///
/// # Errors
/// The first one of `with`.
pub fn replace<E>(value: &Json, with: &dyn Fn(&str) -> Result<Json, E>) -> Result<Json, E> {
    Ok(match value {
        Json::String(text) => with(text)?,
        Json::Array(items) => {
            items.iter().map(|item| replace(item, with)).collect::<Result<_, E>>()?
        }
        Json::Object(fields) => Json::Object(replace_fields(fields, with)?),
        other => other.clone(),
    })
}

/// The fields with every text in them replaced; their names stay.
///
/// # Errors
/// The first one of `with`.
pub fn replace_fields<E>(
    fields: &Map<String, Json>,
    with: &dyn Fn(&str) -> Result<Json, E>,
) -> Result<Map<String, Json>, E> {
    fields.iter().map(|(name, field)| Ok((name.clone(), replace(field, with)?))).collect()
}

/// The parts of a text as one value: a single value keeps its type, within words it stands as
/// text. What is put in is not read again.
///
/// ```
/// use antiphon_systems::json_texts::{TextPart, joined};
/// use serde_json::json;
/// let seven = |_: &()| Ok::<_, ()>(json!(7));
/// assert_eq!(joined(&[TextPart::Value(())], &seven), Ok(json!(7)));
/// let words = [TextPart::Text("no. ".into()), TextPart::Value(())];
/// assert_eq!(joined(&words, &seven), Ok(json!("no. 7")));
/// ```
///
/// # Errors
/// The first one of `value_of`.
pub fn joined<R, E>(
    parts: &[TextPart<'_, R>],
    value_of: &dyn Fn(&R) -> Result<Json, E>,
) -> Result<Json, E> {
    if let [TextPart::Value(only)] = parts {
        return value_of(only);
    }
    let mut text = String::new();
    for part in parts {
        match part {
            TextPart::Text(words) => text.push_str(words),
            TextPart::Value(value) => text.push_str(&plain_text(&value_of(value)?)),
        }
    }
    Ok(Json::String(text))
}

/// A text as it is, any other value as compact JSON.
///
/// ```
/// use antiphon_systems::json_texts::plain_text;
/// assert_eq!(plain_text(&serde_json::json!("a")), "a");
/// assert_eq!(plain_text(&serde_json::json!({"a": 1})), r#"{"a":1}"#);
/// ```
pub fn plain_text(value: &Json) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// How much may still be put into one value.
#[derive(Debug, Default)]
pub struct InsertionLimit(Cell<usize>);

impl InsertionLimit {
    /// The most bytes of values that are put into one value: 4 MiB.
    pub const BYTES: usize = 4 * 1024 * 1024;

    /// Whether a value may be put in as well; counts it.
    pub fn admits(&self, value: &Json) -> bool {
        self.admits_bytes(plain_text(value).len())
    }

    /// The same for a text of so many bytes.
    pub fn admits_bytes(&self, size: usize) -> bool {
        self.0.set(self.0.get().saturating_add(size));
        self.0.get() <= Self::BYTES
    }
}
