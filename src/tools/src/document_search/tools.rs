//! The tools that models call.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_runtime::CallContext;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::document::DocumentFormat;
use crate::typed_tool::ToolFunction;

use super::index::{CancelGuard, DocumentIndex};
use super::page::PageRequest;
use super::search::{DocumentQuery, FoundPassage};

/// The most results of a search.
const MOST: usize = 20;

/// The most characters of a part.
const LONGEST: usize = 16_000;

/// The tool `search_documents`.
#[derive(Debug)]
pub struct SearchDocuments {
    index: Arc<DocumentIndex>,
}

/// The arguments of [`SearchDocuments`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// What to look for: a question or a few words.
    query: String,
    /// How many passages to return, 1 to 20.
    #[serde(default = "few")]
    #[schemars(range(min = 1, max = 20))]
    limit: usize,
    /// Only documents at or below this path, or matching it as a pattern such as `*.md`.
    #[serde(default)]
    path: Option<String>,
    /// Only documents of this format.
    #[serde(default)]
    format: Option<DocumentFormat>,
}

const fn few() -> usize {
    6
}

/// What [`SearchDocuments`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentResults {
    /// The passages, the best one first.
    pub results: Vec<FoundPassage>,
    /// How many documents were searched, if nothing was found in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<usize>,
    /// What is not in the index yet, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl SearchDocuments {
    pub(super) const fn new(index: Arc<DocumentIndex>) -> Self {
        Self { index }
    }
}

#[async_trait]
impl ToolFunction for SearchDocuments {
    type Arguments = SearchQuery;

    async fn call(&self, given: SearchQuery, _cx: &CallContext) -> ToolOutcome {
        let limit = given.limit.clamp(1, MOST);
        let query =
            DocumentQuery { text: given.query, limit, path: given.path, format: given.format };
        blocking(&self.index, move |index, cancelled| {
            index.keep_current(cancelled)?;
            let results = index.search(&query)?;
            let (documents, notes) = index.status()?;
            let documents = results.is_empty().then_some(documents);
            Ok(json!(DocumentResults { results, documents, notes }))
        })
        .await
    }
}

/// The tool `read_document`.
#[derive(Debug)]
pub struct ReadDocument {
    index: Arc<DocumentIndex>,
}

/// The arguments of [`ReadDocument`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadRange {
    /// The path of the document; `#` and an anchor may follow.
    path: String,
    /// The position of the first character; by default that of the anchor, or 0.
    #[serde(default)]
    start: Option<usize>,
    /// The most characters to return, up to 16000.
    #[serde(default = "one_part")]
    #[schemars(range(min = 1, max = 16000))]
    characters: usize,
}

const fn one_part() -> usize {
    8_000
}

impl ReadDocument {
    pub(super) const fn new(index: Arc<DocumentIndex>) -> Self {
        Self { index }
    }
}

#[async_trait]
impl ToolFunction for ReadDocument {
    type Arguments = ReadRange;

    async fn call(&self, given: ReadRange, _cx: &CallContext) -> ToolOutcome {
        let characters = given.characters.clamp(1, LONGEST);
        let request = PageRequest { path: given.path, start: given.start, characters };
        blocking(&self.index, move |index, cancelled| {
            index.keep_current(cancelled)?;
            Ok(json!(index.read(&request)?))
        })
        .await
    }
}

/// The tool `index_documents`: it updates the index for a while and tells how far it came.
#[derive(Debug)]
pub struct IndexDocuments {
    index: Arc<DocumentIndex>,
}

/// The arguments of [`IndexDocuments`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexTime {
    /// The most seconds to work; what is left goes on with the next call.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    seconds: Option<f64>,
}

impl IndexDocuments {
    pub(super) const fn new(index: Arc<DocumentIndex>) -> Self {
        Self { index }
    }
}

#[async_trait]
impl ToolFunction for IndexDocuments {
    type Arguments = IndexTime;

    async fn call(&self, given: IndexTime, _cx: &CallContext) -> ToolOutcome {
        let time = given.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        blocking(&self.index, move |index, cancelled| Ok(json!(index.refresh(time, cancelled)?)))
            .await
    }
}

/// Works on a thread that may wait for files; an update stops when nobody waits for it any more.
async fn blocking(
    index: &Arc<DocumentIndex>,
    work: impl FnOnce(&DocumentIndex, &AtomicBool) -> Result<Json, Fault> + Send + 'static,
) -> ToolOutcome {
    let index = index.clone();
    let cancelled = Arc::new(AtomicBool::new(false));
    let guard = CancelGuard(cancelled.clone());
    let outcome = tokio::task::spawn_blocking(move || work(&index, &cancelled)).await;
    drop(guard);
    outcome.unwrap_or_else(|error| {
        let message = format!("the search has stopped: {error}");
        Err(Fault::new(FaultCode::DocumentIndexUnavailable, message))
    })
}
