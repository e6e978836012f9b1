//! Calls of endpoints: parameters are checked, escaped, and put in their places.

use antiphon_core::Fault;
use antiphon_net::Url;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value as Json, json};

use super::catalogue::{ApiEndpoint, ApiParameter, ParameterLocation, PathPiece, path_pieces};
use super::fault;

/// All but the unreserved characters of RFC 3986, which stay as they are in a URL.
pub(super) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The longest URL in bytes.
const LONGEST_URL: usize = 8_000;

/// The largest body of a request in bytes.
const LARGEST_BODY: usize = 1_000_000;

/// Headers that say who calls, where to, and how much: never a parameter.
const FORBIDDEN_HEADERS: [&str; 16] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The parameters of a call, as a model gives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiCall {
    /// For the placeholders of the path.
    pub path: Map<String, Json>,
    /// For the query. A list repeats its parameter; `null` leaves it out.
    pub query: Map<String, Json>,
    /// For headers that the endpoint declares.
    pub headers: Map<String, Json>,
    /// The body, JSON.
    pub body: Option<Json>,
    /// The IANA time zone of the caller, for dates that are added; that of the API by default.
    pub timezone: Option<String>,
}

/// A call whose parameters fit its endpoint.
#[derive(Clone, Debug)]
pub struct PreparedCall<'c> {
    endpoint: &'c ApiEndpoint,
    url: Url,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

impl<'c> PreparedCall<'c> {
    /// Checks the parameters against the endpoint and builds the URL below `base`.
    ///
    /// # Errors
    /// A `Validation` fault `api_call_invalid` that names the parameter.
    pub fn new(endpoint: &'c ApiEndpoint, call: &ApiCall, base: &Url) -> Result<Self, Fault> {
        let invalid = |problem: String| fault::call(&problem, &endpoint.id());
        // The path that was asked for is not that of the endpoint then.
        let given = call.path.keys().cloned().collect::<Vec<_>>();
        let unresolved = |problem: String| invalid(problem).with("path_parameters", given.clone());
        let mut call = call.clone();
        call.query.retain(|_, value| !value.is_null());
        check_parameters(endpoint, &mut call.path, ParameterLocation::Path).map_err(unresolved)?;
        for (values, location) in [
            (&mut call.query, ParameterLocation::Query),
            (&mut call.headers, ParameterLocation::Header),
        ] {
            check_parameters(endpoint, values, location).map_err(invalid)?;
        }
        let mut url = base.clone();
        url.set_query(None);
        url.set_fragment(None);
        let path = fill_path(endpoint, &call.path).map_err(unresolved)?;
        let whole = format!("{}{path}", base.path().trim_end_matches('/'));
        url.set_path(&whole);
        // The parser of URLs must not have read anything else into the path.
        if url.path() != whole || url.origin() != base.origin() {
            return Err(unresolved("a value of its path changes the path".to_owned()));
        }
        add_query(&mut url, endpoint, &call.query).map_err(invalid)?;
        if url.as_str().len() > LONGEST_URL {
            return Err(invalid(format!("its URL has more bytes than {LONGEST_URL}")));
        }
        let headers = call.headers.iter().map(|(name, value)| Ok((name.clone(), plain(value)?)));
        let headers = headers.collect::<Result<_, _>>().map_err(invalid)?;
        let body = check_body(endpoint, call.body.as_ref()).map_err(invalid)?;
        Ok(Self { endpoint, url, headers, body })
    }

    /// The endpoint.
    pub const fn endpoint(&self) -> &'c ApiEndpoint {
        self.endpoint
    }

    /// The URL, without anything that identifies the caller.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// The headers that are parameters.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The body, JSON text.
    pub fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }
}

/// Adjusts values to their types and checks them; a problem is a part of a sentence.
fn check_parameters(
    endpoint: &ApiEndpoint,
    values: &mut Map<String, Json>,
    location: ParameterLocation,
) -> Result<(), String> {
    let place = match location {
        ParameterLocation::Path => "path",
        ParameterLocation::Query => "query",
        ParameterLocation::Header => "headers",
    };
    let declared = || endpoint.parameters.iter().filter(|known| known.location == location);
    for parameter in declared() {
        let name = &parameter.name;
        match values.get_mut(name) {
            None | Some(Json::Null) if parameter.required => {
                return Err(format!("`{place}` lacks the parameter: {name}"));
            }
            None => {}
            Some(value) => {
                adapt(value, parameter);
                check_schema(&parameter.schema, value)
                    .map_err(|problem| format!("`{name}` in `{place}` does not fit: {problem}"))?;
            }
        }
    }
    let is_declared = |name: &&String| declared().any(|parameter| parameter.name == **name);
    let is_open = location == ParameterLocation::Query && endpoint.any_query;
    if let Some(name) = values.keys().find(|name| !is_open && !is_declared(name)) {
        let known: Vec<_> = declared().map(|parameter| parameter.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(format!("`{place}` has an unknown parameter (it has {known}): {name}"));
    }
    let is_forbidden = |name: &&String| {
        let name = name.to_ascii_lowercase();
        FORBIDDEN_HEADERS.contains(&name.as_str()) || name.starts_with("x-forwarded")
    };
    if location == ParameterLocation::Header
        && let Some(name) = values.keys().find(is_forbidden)
    {
        return Err(format!("a call may not set the header: {name}"));
    }
    Ok(())
}

/// A number or a boolean that was given as a text, and a text that was given as a number: in a
/// URL they are the same.
fn adapt(value: &mut Json, parameter: &ApiParameter) {
    let kind = parameter.schema.get("type").and_then(Json::as_str).unwrap_or_default();
    let adapted = match (kind, &*value) {
        ("integer", Json::String(text)) => text.parse::<i64>().ok().map(Json::from),
        ("number", Json::String(text)) => {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Json::from)
        }
        ("boolean", Json::String(text)) => text.parse::<bool>().ok().map(Json::from),
        ("string", Json::Number(number)) => Some(Json::from(number.to_string())),
        ("array", single @ (Json::String(_) | Json::Number(_))) => Some(json!([single])),
        _ => None,
    };
    if let Some(adapted) = adapted {
        *value = adapted;
    }
}

fn check_schema(schema: &Json, value: &Json) -> Result<(), String> {
    if schema.as_object().is_some_and(Map::is_empty) {
        return Ok(());
    }
    // A schema that cannot be compiled is the document's mistake; the server checks too.
    let Ok(validator) = jsonschema::validator_for(schema) else { return Ok(()) };
    let problems: Vec<String> = validator
        .iter_errors(value)
        .take(5)
        .map(|error| {
            let place = error.instance_path().to_string();
            if place.is_empty() { error.to_string() } else { format!("{error} at `{place}`") }
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

fn fill_path(endpoint: &ApiEndpoint, values: &Map<String, Json>) -> Result<String, String> {
    let mut path = String::new();
    for piece in path_pieces(&endpoint.path) {
        match piece {
            PathPiece::Text(text) => path.push_str(text),
            PathPiece::Placeholder(name) => {
                let value = values.get(name);
                let value = value.ok_or_else(|| format!("`path` lacks the parameter: {name}"))?;
                let text = plain(value)?;
                if text.is_empty() {
                    return Err(format!("a value of its path is empty: {name}"));
                }
                if leads_elsewhere(&percent_decode_str(&text).decode_utf8_lossy()) {
                    return Err(elsewhere());
                }
                path.extend(utf8_percent_encode(&text, UNRESERVED));
            }
        }
    }
    if leads_elsewhere(&path) { Err(elsewhere()) } else { Ok(path) }
}

/// Whether a path has segments that lead to another one. A value is looked at as a server reads it
/// that decodes a path before it takes it apart.
fn leads_elsewhere(path: &str) -> bool {
    path.split(['/', '\\']).any(|segment| matches!(segment, "." | ".."))
}

fn elsewhere() -> String {
    "a value of its path leads to another path".to_owned()
}

fn add_query(
    url: &mut Url,
    endpoint: &ApiEndpoint,
    values: &Map<String, Json>,
) -> Result<(), String> {
    if values.is_empty() {
        return Ok(());
    }
    let mut pairs = url.query_pairs_mut();
    for (name, value) in values {
        let is_joined = endpoint.parameters.iter().any(|parameter| {
            parameter.location == ParameterLocation::Query
                && parameter.name == *name
                && parameter.joined
        });
        match value {
            Json::Array(items) if !is_joined => {
                for item in items {
                    pairs.append_pair(name, &plain(item)?);
                }
            }
            value => {
                pairs.append_pair(name, &plain(value)?);
            }
        }
    }
    Ok(())
}

/// A value as it stands in a URL or a header.
fn plain(value: &Json) -> Result<String, String> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Number(_) | Json::Bool(_) => value.to_string(),
        Json::Array(items) => {
            let items = items.iter().map(plain).collect::<Result<Vec<_>, _>>()?;
            items.join(",")
        }
        Json::Null | Json::Object(_) => {
            return Err(format!("a parameter must be a text, a number or a list: {value}"));
        }
    };
    match text.chars().find(|c| c.is_control()) {
        Some(character) => {
            let character = character.escape_default();
            Err(format!("a parameter contains a control character: {character}"))
        }
        None => Ok(text),
    }
}

fn check_body(endpoint: &ApiEndpoint, body: Option<&Json>) -> Result<Option<String>, String> {
    match (&endpoint.body, body) {
        (None, Some(_)) => Err("it has no body".to_owned()),
        (Some(_), None) if endpoint.body_required => Err("it needs a body".to_owned()),
        (_, None) => Ok(None),
        (Some(schema), Some(body)) => {
            check_schema(schema, body)
                .map_err(|problem| format!("`body` does not fit: {problem}"))?;
            let text = body.to_string();
            if text.len() > LARGEST_BODY {
                let problem =
                    format!("its body has more bytes than {LARGEST_BODY}: {}", text.len());
                return Err(problem);
            }
            Ok(Some(text))
        }
    }
}
