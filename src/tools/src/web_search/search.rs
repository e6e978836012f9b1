//! One search over several engines.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::Url;
use antiphon_runtime::CallContext;
use serde_json::json;

use super::backend::SearchBackend;
use super::domains::DomainFilter;
use super::request::{WebQuery, WebResultSet, canonical};

/// Searches with the first engine that answers.
pub struct WebSearch {
    backends: Vec<Arc<dyn SearchBackend>>,
    domains: DomainFilter,
}

impl fmt::Debug for WebSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.backends.iter().map(|backend| backend.name()).collect();
        f.debug_struct("WebSearch").field("backends", &names).finish_non_exhaustive()
    }
}

impl WebSearch {
    /// Engines in the order in which they are asked.
    pub fn new(backends: Vec<Arc<dyn SearchBackend>>, domains: DomainFilter) -> Self {
        Self { backends, domains }
    }

    /// The results of the first engine that answers, each page once.
    ///
    /// # Errors
    /// `invalid_value` for a blank query; the fault of the engine if there is one, `search_failed` with all of their
    /// messages if there are more.
    pub async fn run(&self, query: &WebQuery, cx: &CallContext) -> Result<WebResultSet, Fault> {
        if query.text.trim().is_empty() {
            let message = format!("the query is blank: {:?}", query.text);
            return Err(Fault::new(FaultCode::InvalidValue, message));
        }
        let mut faults: Vec<(String, Fault)> = Vec::new();
        for backend in &self.backends {
            match backend.search(query, cx).await {
                Ok(mut found) => {
                    let notes = faults.iter().map(|(_, fault)| fault.message.clone());
                    found.notes.splice(0..0, notes);
                    return Ok(arranged(found, &self.domains));
                }
                Err(fault) => faults.push((backend.name().to_owned(), fault)),
            }
        }
        if faults.len() == 1
            && let Some((_, fault)) = faults.pop()
        {
            return Err(fault);
        }
        let messages: Vec<&str> = faults.iter().map(|(_, fault)| fault.message.as_str()).collect();
        let message = format!("no search engine has answered: {}", messages.join("; "));
        let names: Vec<&String> = faults.iter().map(|(name, _)| name).collect();
        Err(Fault::new(FaultCode::SearchFailed, message).with("backends", json!(names)))
    }
}

/// Leaves out other domains and repeated pages; numbers the rest.
pub(super) fn arranged(mut found: WebResultSet, domains: &DomainFilter) -> WebResultSet {
    let mut seen = HashSet::new();
    let before = found.results.len();
    found.results.retain(|result| Url::parse(&result.url).is_ok_and(|url| domains.permits(&url)));
    let left_out = before - found.results.len();
    if left_out > 0 {
        found.notes.push(format!("results of other domains that are left out: {left_out}"));
    }
    found
        .results
        .retain(|result| Url::parse(&result.url).is_ok_and(|url| seen.insert(canonical(&url))));
    for (index, result) in found.results.iter_mut().enumerate() {
        result.rank = index + 1;
    }
    found
}
