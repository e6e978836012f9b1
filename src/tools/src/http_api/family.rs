//! The tools: endpoints for a question, and calls.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::auth::ApiPrincipal;
use super::call::ApiCall;
use super::catalogue::{ApiEndpoint, ApiParameter, ParameterLocation};
use super::client::{ApiExchange, HttpApi};
use super::fault;
use super::scoring::ScoringMode;
use super::settings::HttpApiSettings;
use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

/// The most texts of documentation that are shown for a question, and characters of each.
const SNIPPETS: usize = 3;
const SNIPPET_CHARACTERS: usize = 1_500;

/// The most endpoints of a list of all.
const MOST_LISTED: usize = 1_000;

/// The tools `api_endpoints`, `api_read` and, if endpoints may be called that change something,
/// `api_write`.
#[derive(Debug)]
pub struct HttpApiTools;

#[derive(Debug)]
struct SharedApi {
    api: HttpApi,
    principal: ApiPrincipal,
    candidates: usize,
    scoring: ScoringMode,
    writes: bool,
}

impl SharedApi {
    fn may_call(&self, endpoint: &ApiEndpoint) -> bool {
        self.writes || endpoint.is_read()
    }
}

impl ToolFamily for HttpApiTools {
    const NAME: &'static str = "http_api";
    const DESCRIPTION: &'static str = "Call an HTTP API through a catalogue of its endpoints.";
    type Settings = HttpApiSettings;

    fn open(settings: HttpApiSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let api = settings.open()?;
        let time = Duration::from_secs_f64(settings.timeout) + Duration::from_secs(5);
        let writes =
            settings.writes && api.catalogue().endpoints.iter().any(|entry| !entry.is_read());
        let shared = Arc::new(SharedApi {
            api,
            principal: ApiPrincipal::new(&settings.principal),
            candidates: settings.candidates,
            scoring: settings.scoring,
            writes,
        });
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(TypedTool::new(
                "api_endpoints",
                "Find the endpoints of the API that fit a question, with their parameters.",
                SideEffect::None,
                FindEndpoints(Arc::clone(&shared)),
            )),
            Arc::new(
                TypedTool::new(
                    "api_read",
                    "Call an endpoint of the API that only reads (GET, HEAD, OPTIONS).",
                    SideEffect::Read,
                    CallEndpoint { shared: Arc::clone(&shared), reads: true },
                )
                .timeout(time),
            ),
        ];
        if writes {
            let function = CallEndpoint { shared, reads: false };
            let description =
                "Call an endpoint of the API that may change something (POST, PUT, PATCH, DELETE).";
            let tool = TypedTool::new("api_write", description, SideEffect::External, function);
            tools.push(Arc::new(tool.timeout(time)));
        }
        Ok(tools)
    }
}

struct FindEndpoints(Arc<SharedApi>);

/// The arguments of `api_endpoints`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindEndpointsArguments {
    /// What is to be found out or done, in the words of the API.
    question: String,
    /// Whether all endpoints are listed, with the names of their parameters, in place of those that
    /// fit; no by default.
    #[serde(default)]
    all: bool,
}

#[async_trait]
impl ToolFunction for FindEndpoints {
    type Arguments = FindEndpointsArguments;

    async fn call(&self, arguments: FindEndpointsArguments, _cx: &CallContext) -> ToolOutcome {
        let Self(shared) = self;
        let catalogue = shared.api.catalogue();
        if arguments.all {
            return Ok(list_all(shared));
        }
        let all = catalogue.endpoints.len();
        let candidates = catalogue.candidates(&arguments.question, all, shared.scoring);
        let callable = candidates.into_iter().filter(|endpoint| shared.may_call(endpoint));
        let endpoints: Vec<_> = callable.take(shared.candidates).map(describe).collect();
        let snippets = catalogue.matching_snippets(&arguments.question, SNIPPETS, shared.scoring);
        let snippets: Vec<_> = snippets
            .into_iter()
            .map(|snippet| {
                let content: String = snippet.content.chars().take(SNIPPET_CHARACTERS).collect();
                json!({"title": snippet.title, "content": content})
            })
            .collect();
        let mut found = json!({"endpoints": endpoints});
        if let (false, Some(fields)) = (snippets.is_empty(), found.as_object_mut()) {
            fields.insert("documentation".to_owned(), Json::from(snippets));
        }
        Ok(found)
    }
}

/// Every endpoint that may be called, in the order of the catalogue.
fn list_all(shared: &SharedApi) -> Json {
    let catalogue = shared.api.catalogue();
    let callable = || catalogue.endpoints.iter().filter(|endpoint| shared.may_call(endpoint));
    let listed = callable().take(MOST_LISTED).map(|endpoint| {
        let mut shown = outline(endpoint);
        let names: Vec<&str> = endpoint.parameters.iter().map(|it| it.name.as_str()).collect();
        if !names.is_empty() {
            shown.insert("parameters".to_owned(), json!(names));
        }
        Json::Object(shown)
    });
    let mut found = json!({"endpoints": listed.collect::<Vec<_>>()});
    let more = callable().count().checked_sub(MOST_LISTED).filter(|more| *more > 0);
    if let (Some(more), Some(fields)) = (more, found.as_object_mut()) {
        fields.insert("more_endpoints".to_owned(), json!(more));
    }
    found
}

/// Method, path and description.
fn outline(endpoint: &ApiEndpoint) -> Map<String, Json> {
    let mut shown = Map::new();
    shown.insert("method".to_owned(), Json::from(endpoint.method.as_str()));
    shown.insert("path".to_owned(), Json::from(endpoint.path.as_str()));
    if !endpoint.description.is_empty() {
        let description: String = endpoint.description.chars().take(500).collect();
        shown.insert("description".to_owned(), Json::from(description));
    }
    shown
}

fn describe(endpoint: &ApiEndpoint) -> Json {
    let mut shown = outline(endpoint);
    for (key, location) in [
        ("path_parameters", ParameterLocation::Path),
        ("query_parameters", ParameterLocation::Query),
        ("headers", ParameterLocation::Header),
    ] {
        let of_it = endpoint.parameters.iter().filter(|parameter| parameter.location == location);
        let of_it: Vec<Json> = of_it.map(describe_parameter).collect();
        if !of_it.is_empty() {
            shown.insert(key.to_owned(), Json::from(of_it));
        }
    }
    if let Some(body) = &endpoint.body {
        shown.insert("body".to_owned(), body.clone());
    }
    Json::Object(shown)
}

fn describe_parameter(parameter: &ApiParameter) -> Json {
    let mut shown = Map::new();
    shown.insert("name".to_owned(), Json::from(parameter.name.as_str()));
    if parameter.required {
        shown.insert("required".to_owned(), Json::from(true));
    }
    if !parameter.description.is_empty() {
        let description: String = parameter.description.chars().take(300).collect();
        shown.insert("description".to_owned(), Json::from(description));
    }
    if parameter.schema.as_object().is_some_and(|schema| !schema.is_empty()) {
        shown.insert("schema".to_owned(), parameter.schema.clone());
    }
    Json::Object(shown)
}

struct CallEndpoint {
    shared: Arc<SharedApi>,
    reads: bool,
}

/// The arguments of `api_read` and `api_write`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallEndpointArguments {
    /// The method, as `api_endpoints` shows it.
    method: String,
    /// The path with its placeholders, as `api_endpoints` shows it.
    path: String,
    /// Values of the placeholders of the path.
    #[serde(default)]
    path_parameters: Map<String, Json>,
    /// Parameters of the query.
    #[serde(default)]
    query: Map<String, Json>,
    /// Headers that the endpoint declares.
    #[serde(default)]
    headers: Map<String, Json>,
    /// The body, if the endpoint has one.
    #[serde(default)]
    body: Option<Json>,
    /// The IANA time zone of dates that the API asks for and that are added by themselves.
    #[serde(default)]
    timezone: Option<String>,
}

#[async_trait]
impl ToolFunction for CallEndpoint {
    type Arguments = CallEndpointArguments;

    async fn call(&self, arguments: CallEndpointArguments, cx: &CallContext) -> ToolOutcome {
        let Self { shared, reads } = self;
        let endpoint = shared.api.catalogue().find(&arguments.method, &arguments.path)?;
        if endpoint.is_read() != *reads {
            let problem = if *reads {
                "its method may change something, and this tool only reads"
            } else {
                "its method only reads; use the tool `api_read`"
            };
            return Err(fault::call(problem, &endpoint.id()));
        }
        let CallEndpointArguments { path_parameters: path, query, headers, body, timezone, .. } =
            arguments;
        let call = ApiCall { path, query, headers, body, timezone };
        let exchange = shared.api.call(endpoint, call, &shared.principal, cx).await?;
        Ok(show(&exchange))
    }
}

fn show(exchange: &ApiExchange) -> Json {
    let mut shown = exchange.reply.to_json();
    if let (false, Some(fields)) = (exchange.notes.is_empty(), shown.as_object_mut()) {
        fields.insert("notes".to_owned(), json!(exchange.notes));
    }
    shown
}
