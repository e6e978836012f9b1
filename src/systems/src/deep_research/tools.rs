//! The tools of a research: what searches, and what reads pages and documents.

use std::sync::Arc;

use antiphon_runtime::Tool;
use serde_json::{Map, Value as Json, json};

use super::source::ResearchSource;
use crate::delimited_input::cut;

/// Characters of a result that is kept of a search.
const SNIPPET: usize = 1_000;

/// The tools that search, and those that read.
pub(super) struct ResearchTools {
    search: Vec<Arc<dyn Tool>>,
    readers: Vec<Arc<dyn Tool>>,
}

impl ResearchTools {
    /// Finds them among the tools of the system: those that take a `query` search, those that take
    /// a `url` or a `path` read.
    pub(super) fn new(tools: &[Arc<dyn Tool>]) -> Self {
        let having = |names: &[&str]| -> Vec<Arc<dyn Tool>> {
            let has = |tool: &&Arc<dyn Tool>| names.iter().any(|name| takes(tool, name));
            tools.iter().filter(has).cloned().collect()
        };
        let search = having(&["query"]);
        let reads = |tool: &Arc<dyn Tool>| search.iter().all(|other| !Arc::ptr_eq(other, tool));
        let readers = having(&["url", "path"]).into_iter().filter(reads).collect();
        Self { search, readers }
    }

    /// Those that search, in their order.
    pub(super) fn search(&self) -> &[Arc<dyn Tool>] {
        &self.search
    }

    /// What reads an address or a path, with the arguments for it.
    pub(super) fn reader(&self, url: &str, most: usize) -> Option<(&Arc<dyn Tool>, Json)> {
        let name = if url.contains("://") { "url" } else { "path" };
        let tool = self.readers.iter().find(|tool| takes(tool, name))?;
        let mut arguments = Map::from_iter([(name.to_owned(), json!(url))]);
        if takes(tool, "characters") {
            arguments.insert("characters".to_owned(), json!(most.min(16_000)));
        }
        Some((tool, Json::Object(arguments)))
    }
}

/// The arguments of a search.
pub(super) fn search_arguments(tool: &Arc<dyn Tool>, query: &str, count: usize) -> Json {
    let mut arguments = Map::from_iter([("query".to_owned(), json!(query))]);
    let limit = ["limit", "count", "max_results"].into_iter().find(|name| takes(tool, name));
    arguments.extend(limit.map(|name| (name.to_owned(), json!(count))));
    Json::Object(arguments)
}

/// The pages in a result of a search.
pub(super) fn found_pages(result: &Json, most: usize) -> Vec<ResearchSource> {
    let results = result.get("results").unwrap_or(result).as_array();
    let text = |page: &Json, names: &[&str]| -> String {
        let found = names.iter().find_map(|name| page.get(name)?.as_str());
        found.unwrap_or_default().trim().to_owned()
    };
    let page = |page: &Json| {
        let url = text(page, &["url", "path"]);
        let snippet = text(page, &["snippet", "passage", "text", "content"]);
        (!url.is_empty()).then(|| ResearchSource {
            url,
            title: text(page, &["title"]),
            snippet: cut(&snippet, SNIPPET).into_owned(),
            ..ResearchSource::default()
        })
    };
    results.into_iter().flatten().filter_map(page).take(most).collect()
}

/// The title and the text in what a reader returns.
pub(super) fn read_text(result: &Json, most: usize) -> (String, String) {
    let field = |name: &str| result.get(name).and_then(Json::as_str).unwrap_or_default();
    let text = result.as_str().unwrap_or_else(|| field("text"));
    (field("title").to_owned(), text.chars().take(most).collect())
}

fn takes(tool: &Arc<dyn Tool>, name: &str) -> bool {
    tool.spec().parameters.pointer(&format!("/properties/{name}")).is_some()
}
