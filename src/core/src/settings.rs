//! Reading settings that arrive as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::fault::{Fault, FaultCode};
use crate::nearest::nearest;

/// Reads the settings of `label`; those that are left out keep their defaults.
///
/// # Errors
/// A fault with `code` that names the setting: it is unknown, or its value has another type.
pub fn read<S>(settings: &Json, label: &str, code: FaultCode) -> Result<S, Fault>
where
    S: DeserializeOwned + Serialize + Default,
{
    S::deserialize(settings).map_err(|error| {
        misread::<S>(settings, label, &code).unwrap_or_else(|| {
            Fault::new(code, format!("the settings of {label} cannot be read: {error}"))
        })
    })
}

/// The fault of the first setting that cannot be read, by its name.
fn misread<S>(settings: &Json, label: &str, code: &FaultCode) -> Option<Fault>
where
    S: DeserializeOwned + Serialize + Default,
{
    let known: Vec<String> = match serde_json::to_value(S::default()) {
        Ok(Json::Object(fields)) => fields.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    };
    settings.as_object()?.iter().find_map(|(key, value)| {
        if !known.contains(key) {
            return Some(unknown(label, key, key, &known, code));
        }
        let error = S::deserialize(json!({key: value})).err()?.to_string();
        let fails = |part: Json| {
            S::deserialize(json!({key: part})).is_err_and(|other| other.to_string() == error)
        };
        let found = WrongPart::find(value, &fails);
        if let Some((name, known)) = unknown_field(&error) {
            return Some(unknown(label, &found.path_to(key, name), name, &known, code));
        }
        let given = found.value.as_str();
        let (what, value) = described(key, &found);
        let message = match error.rsplit_once("expected ") {
            Some((_, kind)) => format!("{what} must be {}: {value}", plain_type(kind)),
            None if error.starts_with("data did not match any variant") => {
                format!("{what} has none of the accepted forms: {value}")
            }
            None => format!("{what} is invalid ({error}): {value}"),
        };
        let fault = Fault::new(code.clone(), message);
        let choices = if error.starts_with("unknown variant ") { quoted(&error) } else { vec![] };
        let meant = given.and_then(|given| meant(given, choices.iter().skip(1).copied()));
        Some(match meant {
            Some(meant) => fault.hint(format!("did you mean `{meant}`?")),
            None => fault,
        })
    })
}

/// The fault of a setting that does not exist.
fn unknown<S: AsRef<str>>(
    label: &str,
    path: &str,
    name: &str,
    known: &[S],
    code: &FaultCode,
) -> Fault {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let all = known.join(", ");
    let hint = match meant(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? Its settings are {all}"),
        None => format!("its settings are {all}"),
    };
    Fault::new(code.clone(), format!("unknown setting of {label}: {path}")).hint(hint)
}

/// The name that was probably meant: the nearest, else the only one that begins alike.
fn meant<'k>(name: &str, known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    let beginning: String = name.chars().take(2).collect();
    let mut alike = known.clone().filter(|one| beginning.len() > 1 && one.starts_with(&beginning));
    nearest(name, known).or_else(|| alike.next().filter(|_| alike.next().is_none()))
}

/// The field that an error of serde calls unknown, and those that there are.
fn unknown_field(error: &str) -> Option<(&str, Vec<&str>)> {
    let names = quoted(error.strip_prefix("unknown field ")?);
    let (name, known) = names.split_first()?;
    Some((name, known.to_vec()))
}

/// What stands between backticks.
fn quoted(error: &str) -> Vec<&str> {
    error.split('`').skip(1).step_by(2).collect()
}

/// The part of a setting that cannot be read.
struct WrongPart<'v> {
    steps: Vec<PathStep<'v>>,
    value: &'v Json,
}

enum PathStep<'v> {
    Key(&'v str),
    Index(usize),
}

impl<'v> WrongPart<'v> {
    /// The innermost part that fails alone in the same way as the whole.
    fn find(value: &'v Json, fails: &dyn Fn(Json) -> bool) -> Self {
        let mut found = Self { steps: Vec::new(), value };
        while found.steps.len() < DEEPEST
            && let Some((step, part)) = found.wrong_part(fails)
        {
            found.steps.push(step);
            found.value = part;
        }
        found
    }

    /// The path of an unknown field, which is the innermost part or stands around it.
    fn path_to(&self, key: &str, name: &str) -> String {
        let is_it = |step: &PathStep<'_>| matches!(step, PathStep::Key(key) if *key == name);
        let place = self.steps.iter().position(is_it).unwrap_or(self.steps.len());
        let around = self.steps.get(..place).unwrap_or_default();
        format!("{}.{name}", path(key, around))
    }

    fn wrong_part(&self, fails: &dyn Fn(Json) -> bool) -> Option<(PathStep<'v>, &'v Json)> {
        let parts: Vec<_> = match self.value {
            Json::Object(fields) => {
                fields.iter().map(|(key, part)| (PathStep::Key(key.as_str()), part)).collect()
            }
            Json::Array(items) => {
                items.iter().enumerate().map(|(at, part)| (PathStep::Index(at), part)).collect()
            }
            _ => return None,
        };
        parts.into_iter().find(|(step, part)| {
            let inner = step.around(part);
            fails(self.steps.iter().rev().fold(inner, |inner, step| step.around(&inner)))
        })
    }
}

impl PathStep<'_> {
    /// A container with nothing but this part.
    fn around(&self, part: &Json) -> Json {
        match self {
            Self::Key(key) => json!({*key: part}),
            Self::Index(_) => json!([part]),
        }
    }
}

/// Settings are searched to this depth for the part that cannot be read.
const DEEPEST: usize = 8;
/// Characters of a value that a fault shows.
const LONGEST: usize = 80;

/// What cannot be read, and its value. Fields may be credentials, in any type: of what stands in
/// an object, the kind is shown.
fn described(key: &str, found: &WrongPart<'_>) -> (String, String) {
    let path = path(key, &found.steps);
    if let Json::Object(fields) = found.value
        && !fields.is_empty()
    {
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        return (format!("a field of `{path}`"), format!("its fields are {}", names.join(", ")));
    }
    let is_field = found.steps.iter().any(|step| matches!(step, PathStep::Key(_)));
    let shown = if is_field || found.value.is_object() {
        kind(found.value).to_owned()
    } else {
        found.value.to_string()
    };
    let bounded = match shown.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    };
    (format!("`{path}`"), bounded)
}

fn path(key: &str, steps: &[PathStep<'_>]) -> String {
    let mut path = key.to_owned();
    for step in steps {
        match step {
            PathStep::Key(key) => path.extend([".", key]),
            PathStep::Index(index) => path.extend(["[", &index.to_string(), "]"]),
        }
    }
    path
}

const fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object without fields",
    }
}

/// A Rust type in the words of somebody who sets it.
fn plain_type(kind: &str) -> &str {
    match kind {
        "f64" => "a number",
        "u32" | "u64" | "usize" => "a non-negative integer",
        "a boolean" => "true or false",
        kind if kind.starts_with("struct ") => "an object",
        kind => kind,
    }
}
