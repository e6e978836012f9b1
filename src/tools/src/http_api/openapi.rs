//! Endpoints from an `OpenAPI` document.

use antiphon_core::Fault;
use serde_json::{Map, Value as Json, json};

use super::catalogue::{
    ApiCatalogue, ApiEndpoint, ApiParameter, ApiSnippet, ParameterLocation, add_path_parameters,
};
use super::fault;

/// The deepest chain of references, and the deepest schema; what lies deeper is any value.
const DEEPEST: usize = 12;

/// The most parts of all schemas of one endpoint; what comes after them is any value.
const MOST_PARTS: usize = 5_000;

const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// The endpoints of an `OpenAPI` 3.0 or 3.1 document. References within the document are resolved;
/// no other document is read.
///
/// # Errors
/// A `Validation` fault `api_catalogue_invalid`: another version, or a reference to elsewhere.
pub fn import(document: &Json) -> Result<ApiCatalogue, Fault> {
    let version = document.get("openapi").and_then(Json::as_str).unwrap_or("2.0");
    if !version.starts_with("3.0") && !version.starts_with("3.1") {
        let problem = format!("only OpenAPI 3.0 and 3.1 are read, not version: {version}");
        return Err(fault::catalogue(problem));
    }
    let base_url = document.pointer("/servers/0/url").and_then(Json::as_str).map(str::to_owned);
    let mut catalogue = ApiCatalogue { base_url, ..ApiCatalogue::default() };
    let about = text(document.pointer("/info/description"));
    if !about.is_empty() {
        let title = text(document.pointer("/info/title"));
        catalogue.snippets.push(ApiSnippet { title, content: about });
    }
    let all_need_auth = needs_auth(document.get("security"));
    for (path, item) in fields(document.get("paths")) {
        let item = Resolver::new(document).follow(item)?;
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let mut resolver = Resolver::new(document);
            let mut endpoint = resolver.endpoint(path, method, operation, &item)?;
            endpoint.requires_auth = match operation.get("security") {
                Some(security) => needs_auth(Some(security)),
                None => all_need_auth,
            };
            catalogue.endpoints.push(endpoint);
        }
    }
    Ok(catalogue)
}

/// Whether one of the alternatives names a scheme, and none is empty.
fn needs_auth(security: Option<&Json>) -> bool {
    let alternatives = security.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_open = |alternative: &Json| alternative.as_object().is_some_and(Map::is_empty);
    !alternatives.is_empty() && !alternatives.iter().any(is_open)
}

fn text(value: Option<&Json>) -> String {
    value.and_then(Json::as_str).unwrap_or_default().trim().to_owned()
}

fn fields(value: Option<&Json>) -> impl Iterator<Item = (&String, &Json)> {
    value.and_then(Json::as_object).into_iter().flatten()
}

fn items(value: Option<&Json>) -> impl Iterator<Item = &Json> {
    value.and_then(Json::as_array).into_iter().flatten()
}

/// Replaces references by what they refer to.
struct Resolver<'d> {
    document: &'d Json,
    parts: usize,
}

impl<'d> Resolver<'d> {
    const fn new(document: &'d Json) -> Self {
        Self { document, parts: 0 }
    }

    fn endpoint(
        &mut self,
        path: &str,
        method: &str,
        operation: &Json,
        item: &Json,
    ) -> Result<ApiEndpoint, Fault> {
        let tag = text(operation.pointer("/tags/0"));
        let (summary, more) = (text(operation.get("summary")), text(operation.get("description")));
        let description = if more.is_empty() || summary.contains(&more) {
            summary
        } else if summary.is_empty() {
            more
        } else {
            format!("{summary}. {more}")
        };
        let mut parameters: Vec<ApiParameter> = Vec::new();
        // Those of the operation replace those of the path.
        for parameter in items(operation.get("parameters")).chain(items(item.get("parameters"))) {
            let parameter = self.follow(parameter)?;
            let Some(parameter) = self.parameter(&parameter)? else { continue };
            let is_same = |known: &ApiParameter| {
                known.name == parameter.name && known.location == parameter.location
            };
            if !parameters.iter().any(is_same) {
                parameters.push(parameter);
            }
        }
        let (body, body_required) = self.body(operation.get("requestBody"))?;
        let mut endpoint = ApiEndpoint {
            section: if tag.is_empty() { "api".to_owned() } else { tag.clone() },
            title: tag,
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            description,
            parameters,
            any_query: false,
            body,
            body_required,
            requires_auth: false,
        };
        add_path_parameters(&mut endpoint);
        Ok(endpoint)
    }

    fn parameter(&mut self, parameter: &Json) -> Result<Option<ApiParameter>, Fault> {
        let location = match parameter.get("in").and_then(Json::as_str) {
            Some("path") => ParameterLocation::Path,
            Some("query") => ParameterLocation::Query,
            Some("header") => ParameterLocation::Header,
            // A cookie identifies somebody; a model has none to give.
            _ => return Ok(None),
        };
        let schema = parameter.get("schema");
        let schema = schema.or_else(|| parameter.pointer("/content/application~1json/schema"));
        let explode = parameter.get("explode").and_then(Json::as_bool);
        Ok(Some(ApiParameter {
            name: text(parameter.get("name")),
            location,
            required: parameter.get("required").and_then(Json::as_bool).unwrap_or_default()
                || location == ParameterLocation::Path,
            description: text(parameter.get("description")),
            schema: self.schema(schema.unwrap_or(&json!({})), 0)?,
            joined: explode == Some(false) || location != ParameterLocation::Query,
        }))
    }

    /// The schema of a JSON body. Other bodies cannot be sent; the endpoint then has none.
    fn body(&mut self, body: Option<&Json>) -> Result<(Option<Json>, bool), Fault> {
        let Some(body) = body else { return Ok((None, false)) };
        let body = self.follow(body)?;
        let is_json = |kind: &str| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind == "application/json" || kind.ends_with("+json")
        };
        let content = fields(body.get("content")).find(|(kind, _)| is_json(kind));
        let Some((_, content)) = content else { return Ok((None, false)) };
        let schema = self.schema(content.get("schema").unwrap_or(&json!({})), 0)?;
        let required = body.get("required").and_then(Json::as_bool).unwrap_or_default();
        Ok((Some(schema), required))
    }

    /// What a chain of references leads to.
    fn follow(&self, value: &Json) -> Result<Json, Fault> {
        let mut value = value;
        for _ in 0..DEEPEST {
            let Some(reference) = value.get("$ref").and_then(Json::as_str) else {
                return Ok(value.clone());
            };
            value = self.target(reference)?;
        }
        Err(fault::catalogue("a chain of references in the document does not end"))
    }

    fn target(&self, reference: &str) -> Result<&'d Json, Fault> {
        let found = reference.strip_prefix('#').and_then(|path| {
            let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
            self.document.pointer(&path)
        });
        found.ok_or_else(|| {
            let problem =
                format!("a reference leads out of the document, or to nothing: {reference}");
            fault::catalogue(problem)
        })
    }

    /// A schema without references, in the terms of JSON Schema 2020-12. One that contains itself
    /// ends at a depth, below which any value fits.
    fn schema(&mut self, schema: &Json, depth: usize) -> Result<Json, Fault> {
        self.parts += 1;
        if depth > DEEPEST || self.parts > MOST_PARTS {
            return Ok(json!({}));
        }
        match schema {
            Json::Object(fields) => {
                let Some(reference) = fields.get("$ref").and_then(Json::as_str) else {
                    return self.object(fields, depth);
                };
                let target = self.target(reference)?;
                self.schema(target, depth + 1)
            }
            Json::Array(list) => {
                let list = list.iter().map(|item| self.schema(item, depth + 1));
                Ok(Json::Array(list.collect::<Result<_, _>>()?))
            }
            other => Ok(other.clone()),
        }
    }

    fn object(&mut self, fields: &Map<String, Json>, depth: usize) -> Result<Json, Fault> {
        let mut resolved = Map::new();
        for (key, value) in fields {
            let value = match key.as_str() {
                // Values, not schemas: a `$ref` in them is data.
                "enum" | "const" | "default" | "required" | "pattern" => value.clone(),
                "nullable" | "example" | "examples" | "xml" | "discriminator" | "externalDocs"
                | "deprecated" | "$schema" | "$id" | "$anchor" | "$defs" | "$dynamicRef" => {
                    continue;
                }
                // Names of properties, which may be those of keywords.
                "properties" | "patternProperties" => self.properties(value, depth)?,
                // Numbers since 3.1; in 3.0 they only qualify `minimum` and `maximum`.
                "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => continue,
                _ => self.schema(value, depth + 1)?,
            };
            resolved.insert(key.clone(), value);
        }
        if fields.get("nullable") == Some(&Json::Bool(true)) {
            return Ok(json!({"anyOf": [resolved, {"type": "null"}]}));
        }
        Ok(Json::Object(resolved))
    }

    fn properties(&mut self, properties: &Json, depth: usize) -> Result<Json, Fault> {
        let mut resolved = Map::new();
        for (name, schema) in fields(Some(properties)) {
            resolved.insert(name.clone(), self.schema(schema, depth + 1)?);
        }
        Ok(Json::Object(resolved))
    }
}
