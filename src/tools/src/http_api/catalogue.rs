//! The endpoints of an API.

use antiphon_core::Fault;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::{fault, openapi};

/// The most endpoints of one catalogue.
const MOST_ENDPOINTS: usize = 5_000;

/// The largest catalogue in bytes.
const LARGEST: usize = 20_000_000;

const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterLocation {
    /// A segment of the path, or a part of one.
    Path,
    /// The query of the URL.
    Query,
    /// A header.
    Header,
}

/// A parameter of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiParameter {
    /// Its name, as the server knows it.
    pub name: String,
    /// Where it goes.
    pub location: ParameterLocation,
    /// Whether a call must have it.
    pub required: bool,
    /// What it means.
    pub description: String,
    /// The JSON Schema of its values.
    pub schema: Json,
    /// Whether a list is joined by commas; otherwise the parameter is repeated.
    pub joined: bool,
}

impl ApiParameter {
    /// A parameter of any type.
    pub fn new(name: impl Into<String>, location: ParameterLocation) -> Self {
        Self {
            name: name.into(),
            location,
            required: location == ParameterLocation::Path,
            description: String::new(),
            schema: json!({}),
            joined: false,
        }
    }
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiEndpoint {
    /// The id of its section.
    pub section: String,
    /// The title of its section.
    pub title: String,
    /// The method, in upper case.
    pub method: String,
    /// The path with placeholders `:name` or `{name}`.
    pub path: String,
    /// What it does.
    pub description: String,
    /// Its parameters. Placeholders of the path that are declared nowhere are among them.
    pub parameters: Vec<ApiParameter>,
    /// Whether calls may have query parameters that are not declared.
    pub any_query: bool,
    /// The JSON Schema of the body; `None` if it has none.
    pub body: Option<Json>,
    /// Whether a call must have a body.
    pub body_required: bool,
    /// Whether it is called with the auth profile.
    pub requires_auth: bool,
}

impl ApiEndpoint {
    /// Method and path, which identify it in its catalogue.
    pub fn id(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether the method only reads, by the rules of HTTP.
    pub fn is_read(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}

/// A text of documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiSnippet {
    /// Its title.
    pub title: String,
    /// The text.
    pub content: String,
}

/// The endpoints of an API and texts about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiCatalogue {
    /// The endpoints, in the order of the document.
    pub endpoints: Vec<ApiEndpoint>,
    /// The texts, in the order of the document.
    pub snippets: Vec<ApiSnippet>,
    /// The address of the API, if the document has it.
    pub base_url: Option<String>,
}

/// A section of a catalogue file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiSection {
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    endpoints: Vec<EndpointRow>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointRow {
    #[serde(default = "get")]
    method: String,
    path: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    path_params: Map<String, Json>,
    #[serde(default)]
    query_params: Map<String, Json>,
    #[serde(default)]
    body: Option<Json>,
    #[serde(default = "yes")]
    requires_auth: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueFile {
    #[serde(default)]
    base_url: Option<String>,
    #[serde(default)]
    sections: Vec<ApiSection>,
    #[serde(default)]
    contexts: Vec<ContextRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextRow {
    #[serde(default)]
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    source: String,
    content: String,
}

fn get() -> String {
    "GET".to_owned()
}

const fn yes() -> bool {
    true
}

impl ApiCatalogue {
    /// Reads a catalogue in YAML or JSON, or an `OpenAPI` 3.0 or 3.1 document.
    ///
    /// ```
    /// use antiphon_tools::http_api::ApiCatalogue;
    /// let text = "
    /// sections:
    ///   - id: orders
    ///     title: Orders
    ///     content: |
    ///       - GET `/v1/orders` list of orders
    ///       - GET `/v1/orders/:id` one order
    /// ";
    /// let catalogue = ApiCatalogue::parse(text)?;
    /// assert_eq!(catalogue.endpoints[1].id(), "GET /v1/orders/:id");
    /// # Ok::<(), antiphon_core::Fault>(())
    /// ```
    ///
    /// # Errors
    /// A `Validation` fault `api_catalogue_invalid`.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.len() > LARGEST {
            let problem = format!("the catalogue has more bytes than {LARGEST}: {}", text.len());
            return Err(fault::catalogue(problem));
        }
        let unread = |error: &dyn std::fmt::Display| {
            fault::catalogue(format!("the catalogue cannot be read: {error}"))
        };
        let document: Json = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| unread(&error))?
        } else {
            serde_saphyr::from_str(text).map_err(|error| unread(&first_line(&error.to_string())))?
        };
        let catalogue = if document.get("openapi").is_some() || document.get("swagger").is_some() {
            openapi::import(&document)?
        } else {
            let file = CatalogueFile::deserialize(&document).map_err(|error| unread(&error))?;
            Self::of_file(file)?
        };
        catalogue.checked()
    }

    /// The endpoint with this method and path.
    ///
    /// # Errors
    /// A `Validation` fault `api_endpoint_unknown` that names similar ones.
    pub fn find(&self, method: &str, path: &str) -> Result<&ApiEndpoint, Fault> {
        let method = method.trim().to_ascii_uppercase();
        let path = path.trim();
        let found =
            self.endpoints.iter().find(|entry| entry.method == method && entry.path == path);
        found.ok_or_else(|| {
            let similar = self.similar(path);
            fault::unknown_endpoint(&method, path, &similar)
        })
    }

    /// Endpoints whose path begins alike, at most five.
    fn similar(&self, path: &str) -> Vec<String> {
        let first = |path: &str| path.split('/').find(|part| !part.is_empty()).map(str::to_owned);
        let wanted = path.split('/').rfind(|part| part.len() > 2).unwrap_or_default();
        let is_similar = |endpoint: &&ApiEndpoint| {
            (!wanted.is_empty() && endpoint.path.contains(wanted))
                || first(&endpoint.path) == first(path)
        };
        self.endpoints.iter().filter(is_similar).take(5).map(ApiEndpoint::id).collect()
    }

    fn of_file(file: CatalogueFile) -> Result<Self, Fault> {
        let mut catalogue = Self { base_url: file.base_url, ..Self::default() };
        for section in file.sections {
            let title = [&section.title, &section.source].map(String::as_str).join(" ");
            let title = if section.title.is_empty() { title.trim() } else { &section.title };
            for line in section.content.lines() {
                catalogue.endpoints.extend(endpoint_of_line(line, &section.id, title));
            }
            for row in section.endpoints {
                catalogue.endpoints.push(row.into_endpoint(&section.id, title)?);
            }
        }
        for row in file.contexts {
            let title = [row.title, row.source, row.id];
            let title = title.into_iter().find(|title| !title.is_empty()).unwrap_or_default();
            catalogue.snippets.push(ApiSnippet { title, content: row.content });
        }
        Ok(catalogue)
    }

    fn checked(self) -> Result<Self, Fault> {
        if self.endpoints.is_empty() {
            return Err(fault::catalogue("the catalogue has no endpoint"));
        }
        if self.endpoints.len() > MOST_ENDPOINTS {
            let count = self.endpoints.len();
            let problem =
                format!("the catalogue has more endpoints than {MOST_ENDPOINTS}: {count}");
            return Err(fault::catalogue(problem));
        }
        let mut seen = std::collections::BTreeSet::new();
        for endpoint in &self.endpoints {
            check_endpoint(endpoint)?;
            if !seen.insert(endpoint.id()) {
                let problem = format!("the catalogue has an endpoint twice: {}", endpoint.id());
                return Err(fault::catalogue(problem));
            }
        }
        Ok(self)
    }
}

fn check_endpoint(endpoint: &ApiEndpoint) -> Result<(), Fault> {
    let id = endpoint.id();
    if !METHODS.contains(&endpoint.method.as_str()) {
        return Err(fault::catalogue(format!("an endpoint has an unknown method: {id}")));
    }
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '\\' | '%');
    let has_dots = endpoint.path.split('/').any(|segment| matches!(segment, "." | ".."));
    let is_path = endpoint.path.starts_with('/') && !endpoint.path.starts_with("//");
    if !is_path || has_dots || !endpoint.path.chars().all(is_plain) {
        return Err(fault::catalogue(format!(
            "an endpoint's path must begin with one / and have no query, dots or spaces: {id}"
        )));
    }
    Ok(())
}

/// `- GET `/path` description`: a method and a path in back ticks.
fn endpoint_of_line(line: &str, section: &str, title: &str) -> Option<ApiEndpoint> {
    let (before, rest) = line.split_once('`')?;
    let (path, after) = rest.split_once('`')?;
    // The method may also stand within the back ticks.
    let (inner, path) = path.rsplit_once(' ').unwrap_or(("", path));
    if !path.starts_with('/') {
        return None;
    }
    let words = before.split_whitespace().chain(inner.split_whitespace());
    let method = words.map(str::to_ascii_uppercase).find(|word| METHODS.contains(&word.as_str()));
    let mut endpoint = ApiEndpoint {
        section: section.to_owned(),
        title: title.to_owned(),
        method: method.unwrap_or_else(get),
        path: path.to_owned(),
        description: after.trim_matches([' ', '-', ':', '\t', '—', '–']).to_owned(),
        parameters: Vec::new(),
        // A line declares no parameters of the query, but may mention them.
        any_query: true,
        body: Some(json!({})),
        body_required: false,
        requires_auth: true,
    };
    if endpoint.is_read() {
        endpoint.body = None;
    }
    add_path_parameters(&mut endpoint);
    Some(endpoint)
}

impl EndpointRow {
    fn into_endpoint(self, section: &str, title: &str) -> Result<ApiEndpoint, Fault> {
        let mut parameters = Vec::new();
        for (rows, location) in [
            (self.path_params, ParameterLocation::Path),
            (self.query_params, ParameterLocation::Query),
        ] {
            for (name, row) in rows {
                parameters.push(parameter(&name, location, row)?);
            }
        }
        let mut endpoint = ApiEndpoint {
            section: section.to_owned(),
            title: title.to_owned(),
            method: self.method.to_ascii_uppercase(),
            path: self.path,
            description: self.description,
            parameters,
            any_query: false,
            body_required: self.body.is_some(),
            body: self.body,
            requires_auth: self.requires_auth,
        };
        add_path_parameters(&mut endpoint);
        Ok(endpoint)
    }
}

/// A parameter of a row: a text that describes it, or an object with `type`, `enum` and so on,
/// `required` and `description`.
fn parameter(name: &str, location: ParameterLocation, row: Json) -> Result<ApiParameter, Fault> {
    let mut parameter = ApiParameter::new(name, location);
    match row {
        Json::Null => {}
        Json::String(text) => parameter.description = text,
        Json::Object(mut schema) => {
            if let Some(Json::Bool(required)) = schema.remove("required") {
                parameter.required |= required;
            }
            if let Some(Json::String(text)) = schema.remove("description") {
                parameter.description = text;
            }
            parameter.schema = Json::Object(schema);
        }
        other => {
            let problem = format!("the parameter `{name}` must be a text or an object: {other}");
            return Err(fault::catalogue(problem));
        }
    }
    Ok(parameter)
}

/// Declares the placeholders of the path that nothing declares.
pub(super) fn add_path_parameters(endpoint: &mut ApiEndpoint) {
    for name in placeholders(&endpoint.path) {
        let is_it = |parameter: &ApiParameter| {
            parameter.location == ParameterLocation::Path && parameter.name == name
        };
        if !endpoint.parameters.iter().any(is_it) {
            endpoint.parameters.push(ApiParameter::new(name, ParameterLocation::Path));
        }
    }
}

/// A path is literal text and placeholders: `{name}` anywhere, `:name` at the start of a segment.
pub(super) fn path_pieces(path: &str) -> Vec<PathPiece<'_>> {
    let mut pieces = Vec::new();
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            pieces.push(PathPiece::Text("/"));
        }
        if let Some(name) = segment.strip_prefix(':').filter(|name| is_name(name)) {
            pieces.push(PathPiece::Placeholder(name));
            continue;
        }
        let mut rest = segment;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, tail)) = after.split_once('}') else { break };
            pieces.push(PathPiece::Text(before));
            pieces.push(PathPiece::Placeholder(name));
            rest = tail;
        }
        pieces.push(PathPiece::Text(rest));
    }
    pieces
}

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathPiece<'p> {
    Text(&'p str),
    Placeholder(&'p str),
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn placeholders(path: &str) -> Vec<String> {
    let name = |piece: PathPiece<'_>| match piece {
        PathPiece::Placeholder(name) => Some(name.to_owned()),
        PathPiece::Text(_) => None,
    };
    path_pieces(path).into_iter().filter_map(name).collect()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
