//! The interfaces of the search engines: one request and the shape of its reply for each.

use antiphon_net::{HttpError, HttpRequest, Secret, Url};
use serde_json::{Map, Value as Json, json};

use super::request::{SearchPeriod, WebQuery};

/// A search engine that is asked over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEngine {
    /// A `SearXNG` instance, which has no key.
    Searxng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Serper, which asks Google.
    Serper,
}

/// A result before its text is cleaned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawResult {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
    pub(super) published: Option<String>,
}

impl SearchEngine {
    /// All engines, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Searxng, Self::Brave, Self::Tavily, Self::Serper];

    /// Its name in settings and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Serper => "serper",
        }
    }

    /// The engine of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Variables of the environment that hold its key; for `SearXNG`, its address.
    pub const fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Searxng => &["SEARXNG_URL"],
            Self::Brave => &["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
            Self::Tavily => &["TAVILY_API_KEY"],
            Self::Serper => &["SERPER_API_KEY"],
        }
    }

    /// Where it is reached; `None` for `SearXNG`, which everybody runs themselves.
    pub const fn address(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Serper => Some("https://google.serper.dev"),
        }
    }

    /// Filters of a query that it does not have.
    pub(super) fn missing(self, query: &WebQuery) -> Vec<&'static str> {
        let mut missing = Vec::new();
        match self {
            Self::Searxng if query.region.is_some() && query.language.is_none() => {
                missing.push("a region without a language");
            }
            Self::Tavily => {
                missing.extend(query.language.as_ref().map(|_| "language"));
                missing.extend(query.region.as_ref().map(|_| "region"));
            }
            _ => {}
        }
        missing
    }

    /// The last page that it has.
    pub(super) const fn last_page(self) -> usize {
        match self {
            Self::Tavily => 1,
            Self::Brave => 10,
            Self::Searxng | Self::Serper => 100,
        }
    }

    /// The request for a query.
    pub(super) fn request(
        self,
        base: &Url,
        key: Option<&Secret>,
        query: &WebQuery,
    ) -> Result<HttpRequest, HttpError> {
        let request = match self {
            Self::Searxng => HttpRequest::get(searxng(base, query)),
            Self::Brave => HttpRequest::get(brave(base, query)),
            Self::Tavily => {
                HttpRequest::post_json(endpoint(base, "search"), tavily(query).to_string())
            }
            Self::Serper => {
                HttpRequest::post_json(endpoint(base, "search"), serper(query).to_string())
            }
        };
        let request = request.header("accept", "application/json")?;
        match (self, key) {
            (Self::Brave, Some(key)) => request.secret_header("x-subscription-token", key),
            (Self::Tavily, Some(key)) => request
                .secret_header("authorization", &Secret::new(format!("Bearer {}", key.expose()))),
            (Self::Serper, Some(key)) => request.secret_header("x-api-key", key),
            _ => Ok(request),
        }
    }

    /// The results of a reply; `None` if it has another shape.
    pub(super) fn results(self, reply: &Json) -> Option<Vec<RawResult>> {
        let list = match self {
            Self::Searxng | Self::Tavily => reply.get("results")?,
            // A query without hits has no such member.
            Self::Brave => match reply.get("web") {
                Some(web) => web.get("results")?,
                None if reply.get("type").is_some() || reply.get("query").is_some() => {
                    return Some(Vec::new());
                }
                None => return None,
            },
            Self::Serper => match reply.get("organic") {
                Some(organic) => organic,
                None if reply.get("searchParameters").is_some() => return Some(Vec::new()),
                None => return None,
            },
        };
        Some(list.as_array()?.iter().map(|item| self.result(item)).collect())
    }

    fn result(self, item: &Json) -> RawResult {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| item.get(*name).and_then(Json::as_str));
            found.map(str::to_owned)
        };
        let (url, snippet, published): (&[&str], &[&str], &[&str]) = match self {
            Self::Searxng => (&["url"], &["content"], &["publishedDate"]),
            Self::Brave => (&["url"], &["description"], &["page_age", "age"]),
            Self::Tavily => (&["url"], &["content"], &["published_date"]),
            Self::Serper => (&["link"], &["snippet"], &["date"]),
        };
        RawResult {
            title: text(&["title"]).unwrap_or_default(),
            url: text(url).unwrap_or_default(),
            snippet: text(snippet).unwrap_or_default(),
            published: text(published).filter(|date| !date.trim().is_empty()),
        }
    }

    /// What an error reply says, in the members that its engine uses.
    pub(super) fn complaint(reply: &Json) -> Option<String> {
        let places =
            ["/error/detail", "/detail/error", "/detail", "/message", "/error/message", "/error"];
        places.into_iter().find_map(|place| reply.pointer(place)?.as_str().map(str::to_owned))
    }
}

fn endpoint(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let joined = format!("{}/{path}", base.path().trim_end_matches('/'));
    url.set_path(&joined);
    url
}

fn searxng(base: &Url, query: &WebQuery) -> Url {
    let mut url = endpoint(base, "search");
    let page = query.page.to_string();
    {
        let mut pairs = url.query_pairs_mut();
        pairs
            .append_pair("q", &query.text)
            .append_pair("format", "json")
            .append_pair("pageno", &page);
        if let Some(language) = &query.language {
            let region = query.region.as_ref().map(|region| format!("-{}", region.to_uppercase()));
            pairs.append_pair("language", &format!("{language}{}", region.unwrap_or_default()));
        }
        if let Some(period) = query.period {
            pairs.append_pair("time_range", period.as_str());
        }
    }
    url
}

fn brave(base: &Url, query: &WebQuery) -> Url {
    let mut url = endpoint(base, "res/v1/web/search");
    let (count, offset) = (query.limit.clamp(1, 20).to_string(), (query.page - 1).to_string());
    {
        let mut pairs = url.query_pairs_mut();
        pairs.append_pair("q", &query.text).append_pair("count", &count);
        pairs.append_pair("result_filter", "web").append_pair("text_decorations", "false");
        if query.page > 1 {
            pairs.append_pair("offset", &offset);
        }
        if let Some(language) = &query.language {
            pairs.append_pair("search_lang", language);
        }
        if let Some(region) = &query.region {
            pairs.append_pair("country", &region.to_uppercase());
        }
        if let Some(period) = query.period {
            pairs.append_pair(
                "freshness",
                match period {
                    SearchPeriod::Day => "pd",
                    SearchPeriod::Week => "pw",
                    SearchPeriod::Month => "pm",
                    SearchPeriod::Year => "py",
                },
            );
        }
    }
    url
}

fn tavily(query: &WebQuery) -> Json {
    let mut body = Map::new();
    body.insert("query".to_owned(), json!(query.text));
    body.insert("max_results".to_owned(), json!(query.limit.clamp(1, 20)));
    if let Some(period) = query.period {
        body.insert("time_range".to_owned(), json!(period.as_str()));
    }
    Json::Object(body)
}

fn serper(query: &WebQuery) -> Json {
    let mut body = Map::new();
    body.insert("q".to_owned(), json!(query.text));
    body.insert("num".to_owned(), json!(query.limit.clamp(1, 100)));
    body.insert("page".to_owned(), json!(query.page));
    if let Some(language) = &query.language {
        body.insert("hl".to_owned(), json!(language));
    }
    if let Some(region) = &query.region {
        body.insert("gl".to_owned(), json!(region.to_lowercase()));
    }
    if let Some(period) = query.period {
        body.insert(
            "tbs".to_owned(),
            json!(format!("qdr:{}", period.as_str().get(..1).unwrap_or("y"))),
        );
    }
    Json::Object(body)
}
