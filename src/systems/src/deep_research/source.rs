//! Sources: each page once, under a number that does not change.

use antiphon_citation::{PageOrigin, told_title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of reading a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrawlStatus {
    /// It was read.
    Success,
    /// It could not be read.
    Failed,
    /// It took too long.
    Timeout,
    /// It must not be read.
    Blocked,
    /// It was found, but not read.
    #[default]
    NotCrawled,
}

/// A page that a search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ResearchSource {
    /// The address, or the path of a document.
    pub url: String,
    /// Its title.
    pub title: String,
    /// What the search showed of it.
    pub snippet: String,
    /// Its text, as far as it is kept; empty unless it was read.
    pub content: String,
    /// The place of the step that found it.
    pub step_index: Option<usize>,
    /// The title of that step.
    pub step_title: Option<String>,
    /// What came of reading it.
    pub crawl_status: CrawlStatus,
    /// Why it was not read.
    pub error_reason: Option<String>,
    /// Whether its text was known before the question: given with it, or read for an earlier one.
    pub was_known: bool,
    /// Whether the report cites it.
    pub is_cited: bool,
}

impl ResearchSource {
    /// Where its text is from.
    pub(super) fn origin(&self) -> PageOrigin {
        match (self.was_known, self.crawl_status) {
            (_, _) if self.content.is_empty() => PageOrigin::Found,
            (true, _) => PageOrigin::Known,
            (false, CrawlStatus::Success) => PageOrigin::Fetched,
            (false, _) => PageOrigin::Found,
        }
    }

    /// Whether reading it has failed.
    pub(super) fn is_unreadable(&self) -> bool {
        let failed = [CrawlStatus::Failed, CrawlStatus::Timeout, CrawlStatus::Blocked];
        failed.contains(&self.crawl_status)
    }

    /// The title, or the address of a page without one, or with one that addresses language models.
    pub fn name(&self) -> &str {
        let title = told_title(&self.title);
        if title.is_empty() { &self.url } else { title }
    }

    /// The text that was read, else what the search showed.
    pub fn text(&self) -> &str {
        if self.content.is_empty() { &self.snippet } else { &self.content }
    }
}

/// The sources of a question. A model sees their numbers, from 1; the addresses behind them are
/// only here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceRegistry {
    sources: Vec<ResearchSource>,
}

impl SourceRegistry {
    /// The sources in their order.
    pub fn all(&self) -> &[ResearchSource] {
        &self.sources
    }

    /// The source with that number.
    pub fn get(&self, number: usize) -> Option<&ResearchSource> {
        self.sources.get(number.checked_sub(1)?)
    }

    /// The source with that number, to be changed.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut ResearchSource> {
        self.sources.get_mut(number.checked_sub(1)?)
    }

    /// Marks all of it as known before a question, whose report cites nothing yet.
    pub(super) fn begin_question(&mut self) {
        for source in &mut self.sources {
            source.is_cited = false;
            source.was_known = !source.content.is_empty();
            if !source.was_known {
                // What could not be read then may be there now.
                (source.crawl_status, source.error_reason) = (CrawlStatus::NotCrawled, None);
            }
        }
    }

    /// The number of an address.
    pub fn number(&self, url: &str) -> Option<usize> {
        let url = canonical(url);
        self.sources.iter().position(|known| canonical(&known.url) == url).map(|at| at + 1)
    }

    /// The source at an address, with its number.
    pub fn find(&self, url: &str) -> Option<(usize, &ResearchSource)> {
        let number = self.number(url)?;
        Some((number, self.get(number)?))
    }

    /// Adds a page that was found, and returns its number and whether it is new. One that is
    /// known keeps its number, and what it lacks is filled in.
    pub fn add(&mut self, found: ResearchSource) -> (usize, bool) {
        let Some(number) = self.number(&found.url) else {
            self.sources.push(found);
            return (self.sources.len(), true);
        };
        if let Some(known) = self.get_mut(number) {
            let fill = |field: &mut String, value: String| {
                if field.is_empty() {
                    *field = value;
                }
            };
            fill(&mut known.title, found.title);
            fill(&mut known.snippet, found.snippet);
            if known.content.is_empty() && !found.content.is_empty() {
                known.content = found.content;
                known.crawl_status = found.crawl_status;
                known.was_known = found.was_known;
            }
        }
        (number, false)
    }
}

impl From<Vec<ResearchSource>> for SourceRegistry {
    fn from(sources: Vec<ResearchSource>) -> Self {
        let mut registry = Self::default();
        for source in sources {
            registry.add(source);
        }
        registry
    }
}

/// Parameters of addresses that only say where a visitor came from.
const TRACKING: &[&str] = &["gclid=", "fbclid=", "msclkid=", "utm_"];

/// The same text for all addresses of one page: without fragment, tracking parameters and a final
/// slash, and with scheme and host in lower case.
///
/// ```
/// use antiphon_systems::deep_research::source::canonical;
/// assert_eq!(canonical("HTTPS://Example.com/A/?utm_source=x&b=1#c"), "https://example.com/A?b=1");
/// assert_eq!(canonical("notes/tea.md#green"), "notes/tea.md");
/// ```
pub fn canonical(url: &str) -> String {
    let url = url.trim();
    let url = url.split_once('#').map_or(url, |(page, _)| page);
    let (page, query) = url.split_once('?').unwrap_or((url, ""));
    let is_kept = |part: &&str| {
        !part.is_empty() && !TRACKING.iter().any(|tracking| part.starts_with(tracking))
    };
    let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
    let page = page.trim_end_matches('/');
    let page = match page.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase())
        }
        None => page.to_owned(),
    };
    if kept.is_empty() { page } else { format!("{page}?{}", kept.join("&")) }
}
