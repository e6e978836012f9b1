//! The tool `arrange_results`: what a search elsewhere has found, in the shape of `web_search`.

use antiphon_core::ToolOutcome;
use antiphon_runtime::CallContext;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::backend::cleaned;
use super::domains::DomainFilter;
use super::engines::RawResult;
use super::request::WebResultSet;
use super::search::arranged;
use super::set_as_json;
use crate::typed_tool::ToolFunction;

/// The arguments of the tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FoundResults {
    /// What was found, the best one first.
    results: Vec<FoundResult>,
    /// How many results to return.
    count: usize,
    /// What has searched.
    backend: String,
    /// What the reader should know about them.
    #[serde(default)]
    notes: Vec<String>,
}

/// A result of a search elsewhere; further fields are ignored.
#[derive(Deserialize, JsonSchema)]
struct FoundResult {
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    snippet: Option<String>,
    #[serde(default)]
    published: Option<String>,
}

pub(super) struct ArrangeFunction {
    pub(super) domains: DomainFilter,
}

#[async_trait]
impl ToolFunction for ArrangeFunction {
    type Arguments = FoundResults;

    async fn call(&self, given: FoundResults, _: &CallContext) -> ToolOutcome {
        let raw = given.results.into_iter().map(|result| RawResult {
            title: result.title.unwrap_or_default(),
            url: result.url,
            snippet: result.snippet.unwrap_or_default(),
            published: result.published,
        });
        let results = cleaned(raw.collect(), given.count, &given.backend);
        let found = WebResultSet { results, notes: given.notes };
        Ok(set_as_json(&arranged(found, &self.domains)))
    }
}
