//! What is asked of a search engine, and what it answers.

use antiphon_net::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How old results may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchPeriod {
    /// The last 24 hours.
    Day,
    /// The last week.
    Week,
    /// The last month.
    Month,
    /// The last year.
    Year,
}

impl SearchPeriod {
    /// Its name, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// A search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebQuery {
    /// The words, with the operators that the engine has.
    pub text: String,
    /// The most results.
    pub limit: usize,
    /// Which page of results; the first is 1.
    pub page: usize,
    /// Two letters, such as `de`.
    pub language: Option<String>,
    /// Two letters of a country, such as `AT`.
    pub region: Option<String>,
    /// How old results may be.
    pub period: Option<SearchPeriod>,
}

/// One result, whichever engine it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebResult {
    /// Its place in the list; the first is 1.
    pub rank: usize,
    /// The title, as text.
    pub title: String,
    /// The address, over HTTP or HTTPS.
    pub url: String,
    /// What the engine shows of the page, as text.
    pub snippet: String,
    /// When it was published, in the words of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The engine.
    pub backend: String,
}

/// The results of a search, and what the reader should know about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebResultSet {
    /// The best one first.
    pub results: Vec<WebResult>,
    /// For instance filters that the engine does not have.
    pub notes: Vec<String>,
}

/// Parameters of addresses that only say where a visitor came from.
const TRACKING: [&str; 8] =
    ["gclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "igshid", "ref_src", "srsltid"];

/// The same text for all addresses of one page: without fragment, tracking parameters and a final slash.
///
/// ```
/// use antiphon_net::Url;
/// use antiphon_tools::web_search::canonical;
/// let url = Url::parse("HTTPS://Example.com:443/a/?utm_source=x&b=1#c").unwrap();
/// assert_eq!(canonical(&url), "https://example.com/a?b=1");
/// ```
pub fn canonical(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !name.starts_with("utm_") && !TRACKING.contains(&&**name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    if kept.is_empty() {
        url.set_query(None);
    } else {
        url.query_pairs_mut().clear().extend_pairs(kept);
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    let text = url.to_string();
    if url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text }
}
