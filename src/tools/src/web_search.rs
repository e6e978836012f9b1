//! Search on the web: the tool `web_search` over `SearXNG`, Brave, Tavily and Serper, with one shape of results.
//!
//! | module | holds |
//! |---|---|
//! | `arrangement` | results of a search elsewhere, in the same shape |
//! | [`request`] | what is asked and answered |
//! | [`engines`] | the interfaces of the engines |
//! | [`backend`] | the port, and engines over HTTP |
//! | [`search`] | one engine after the other; filters by domain; each page once |

mod arrangement;
pub mod backend;
mod domains;
pub mod engines;
pub mod request;
pub mod search;

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome};
use antiphon_net::{Secret, Url};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use self::arrangement::ArrangeFunction;
use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

pub use backend::{HttpSearchBackend, SearchBackend};
pub use domains::DomainFilter;
pub use engines::SearchEngine;
pub use request::{SearchPeriod, WebQuery, WebResult, WebResultSet, canonical};
pub use search::WebSearch;

/// The family `web_search`.
#[derive(Debug)]
pub struct WebSearchTools;

/// The settings of [`WebSearchTools`]. A key that is `null` comes from the environment.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearchSettings {
    /// The engines to ask, each after the one before has failed; empty for those that have a key or an address.
    pub backends: Vec<String>,
    /// The address of a `SearXNG` instance; by default `SEARXNG_URL`.
    pub searxng_url: Option<String>,
    /// The key of Brave Search; by default `BRAVE_API_KEY`.
    #[schemars(with = "Option<String>")]
    pub brave_api_key: Json,
    /// The key of Tavily; by default `TAVILY_API_KEY`.
    #[schemars(with = "Option<String>")]
    pub tavily_api_key: Json,
    /// The key of Serper; by default `SERPER_API_KEY`.
    #[schemars(with = "Option<String>")]
    pub serper_api_key: Json,
    /// Another address of Brave, Tavily or Serper, such as that of a gateway; only with one engine.
    pub base_url: Option<String>,
    /// Only results of these domains and their subdomains; `*.gov` and `news.*` are patterns.
    pub include_domains: Vec<String>,
    /// No results of these domains.
    pub exclude_domains: Vec<String>,
    /// The most seconds for one request.
    pub timeout: f64,
    /// Whether there is a second tool, `arrange_results`, for what a search elsewhere has found;
    /// `web_search` then needs no engine.
    pub arranging: bool,
}

impl Default for WebSearchSettings {
    fn default() -> Self {
        Self {
            backends: Vec::new(),
            searxng_url: None,
            brave_api_key: Json::Null,
            tavily_api_key: Json::Null,
            serper_api_key: Json::Null,
            base_url: None,
            include_domains: Vec::new(),
            exclude_domains: Vec::new(),
            timeout: 15.0,
            arranging: false,
        }
    }
}

impl ToolFamily for WebSearchTools {
    const NAME: &'static str = "web_search";
    const DESCRIPTION: &'static str = "Search the web with SearXNG, Brave, Tavily or Serper.";
    type Settings = WebSearchSettings;

    fn open(settings: WebSearchSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let domains = DomainFilter::new(&settings.include_domains, &settings.exclude_domains);
        let backends = if settings.arranging {
            Vec::new()
        } else {
            settings.open_backends(&|name| std::env::var(name).ok())?
        };
        let search = WebSearch::new(backends, domains.clone());
        let tool = TypedTool::new(
            "web_search",
            "Searches the web. Returns titles, addresses and snippets, best first.",
            SideEffect::Read,
            SearchFunction { search },
        );
        let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(tool)];
        if settings.arranging {
            let description = "Gives results of a search elsewhere the shape of `web_search`.";
            let function = ArrangeFunction { domains };
            let arrange =
                TypedTool::new("arrange_results", description, SideEffect::None, function);
            tools.push(Arc::new(arrange));
        }
        Ok(tools)
    }
}

impl WebSearchSettings {
    /// The engines, with keys and addresses from the settings or the environment.
    ///
    /// # Errors
    /// `tool_setting_invalid` that names the setting; no key is part of it.
    pub fn open_backends(
        &self,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Arc<dyn SearchBackend>>, Fault> {
        let timeout =
            Duration::try_from_secs_f64(self.timeout).ok().filter(|timeout| !timeout.is_zero());
        let timeout = timeout.ok_or_else(|| {
            invalid(format!("`timeout` must be a number of seconds above zero: {}", self.timeout))
        })?;
        let mut opened: Vec<Arc<dyn SearchBackend>> = Vec::new();
        for engine in self.engines()? {
            let Some((base, key)) = self.access(engine, env)? else {
                if self.backends.is_empty() {
                    continue;
                }
                return Err(unconfigured(engine));
            };
            opened.push(Arc::new(HttpSearchBackend::new(engine, base, key, timeout)));
        }
        if opened.is_empty() {
            let names: Vec<&str> = SearchEngine::ALL
                .iter()
                .filter_map(|one| one.variables().first().copied())
                .collect();
            let message = "`backends` has no engine with a key or an address: []";
            return Err(
                invalid(message.to_owned()).hint(format!("set one of {}", names.join(", ")))
            );
        }
        if self.base_url.is_some() && opened.len() > 1 {
            return Err(invalid("`base_url` needs `backends` with one engine".to_owned()));
        }
        Ok(opened)
    }

    fn engines(&self) -> Result<Vec<SearchEngine>, Fault> {
        if self.backends.is_empty() {
            return Ok(SearchEngine::ALL.to_vec());
        }
        let known = SearchEngine::ALL.map(SearchEngine::name).join(", ");
        let parse = |name: &String| {
            let engine = SearchEngine::parse(name);
            engine.ok_or_else(|| invalid(format!("`backends` may hold {known}: {name}")))
        };
        self.backends.iter().map(parse).collect()
    }

    /// The address and the key of an engine; `None` if it has none.
    fn access(
        &self,
        engine: SearchEngine,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<(Url, Option<Secret>)>, Fault> {
        let from_env = || {
            let found = engine.variables().iter().find_map(|name| env(name));
            found.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let (address, key) = match engine {
            SearchEngine::Searxng => match self.searxng_url.clone().or_else(from_env) {
                Some(address) => (address, None),
                None => return Ok(None),
            },
            SearchEngine::Brave => {
                (String::new(), given_key("brave_api_key", &self.brave_api_key)?.or_else(from_env))
            }
            SearchEngine::Tavily => (
                String::new(),
                given_key("tavily_api_key", &self.tavily_api_key)?.or_else(from_env),
            ),
            SearchEngine::Serper => (
                String::new(),
                given_key("serper_api_key", &self.serper_api_key)?.or_else(from_env),
            ),
        };
        let Some(default) = engine.address() else {
            return Ok(Some((address_of("searxng_url", &address)?, None)));
        };
        let Some(key) = key else { return Ok(None) };
        let base = address_of("base_url", self.base_url.as_deref().unwrap_or(default))?;
        Ok(Some((base, Some(Secret::new(key)))))
    }
}

/// A key of the settings. A message must not show it, whatever it is.
fn given_key(name: &str, value: &Json) -> Result<Option<String>, Fault> {
    match value {
        Json::Null => Ok(None),
        Json::String(key)
            if !key.trim().is_empty() && key.chars().all(|c| c.is_ascii_graphic()) =>
        {
            Ok(Some(key.clone()))
        }
        _ => Err(invalid(format!(
            "`{name}` must be a key, text without spaces (its value is not shown)"
        ))),
    }
}

fn address_of(name: &str, given: &str) -> Result<Url, Fault> {
    let url = Url::parse(given.trim()).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    // It may hold a password.
    url.ok_or_else(|| {
        invalid(format!("`{name}` must be an address that begins with http:// or https://"))
    })
}

fn unconfigured(engine: SearchEngine) -> Fault {
    let name = engine.name();
    let what = if engine == SearchEngine::Searxng { "an address" } else { "a key" };
    let variable = engine.variables().first().copied().unwrap_or_default();
    invalid(format!("the engine of `backends` needs {what}: {name}"))
        .hint(format!("set {variable}"))
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::ToolSettingInvalid, message)
}

/// The tool `web_search`.
struct SearchFunction {
    search: WebSearch,
}

/// The arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    /// What to search for.
    query: String,
    /// How many results to return, 1 to 20.
    #[serde(default = "few")]
    #[schemars(range(min = 1, max = 20))]
    count: usize,
    /// Which page of results.
    #[serde(default = "first")]
    #[schemars(range(min = 1, max = 10))]
    page: usize,
    /// The language of the results, two letters such as `de`.
    #[serde(default)]
    #[schemars(regex(pattern = "^[a-zA-Z]{2}$"))]
    language: Option<String>,
    /// The country of the results, two letters such as `AT`.
    #[serde(default)]
    #[schemars(regex(pattern = "^[a-zA-Z]{2}$"))]
    region: Option<String>,
    /// How old the results may be.
    #[serde(default)]
    period: Option<SearchPeriod>,
}

const fn few() -> usize {
    5
}

const fn first() -> usize {
    1
}

#[async_trait]
impl ToolFunction for SearchFunction {
    type Arguments = SearchArguments;

    async fn call(&self, given: SearchArguments, cx: &CallContext) -> ToolOutcome {
        let query = WebQuery {
            text: given.query,
            limit: given.count.clamp(1, 20),
            page: given.page.clamp(1, 10),
            language: two_letters(given.language)?.map(|language| language.to_lowercase()),
            region: two_letters(given.region)?.map(|region| region.to_uppercase()),
            period: given.period,
        };
        let found = self.search.run(&query, cx).await?;
        Ok(set_as_json(&found))
    }
}

/// Results as a model reads them.
fn set_as_json(found: &WebResultSet) -> Json {
    if found.notes.is_empty() {
        json!({"results": found.results})
    } else {
        json!({"results": found.results, "notes": found.notes})
    }
}

/// Two letters, for callers that do not validate arguments by the schema.
fn two_letters(given: Option<String>) -> Result<Option<String>, Fault> {
    match given {
        Some(code) if code.len() == 2 && code.chars().all(|c| c.is_ascii_alphabetic()) => {
            Ok(Some(code))
        }
        Some(code) => {
            let message = format!("a language or region must have two letters: {code:?}");
            Err(Fault::new(FaultCode::InvalidValue, message))
        }
        None => Ok(None),
    }
}
