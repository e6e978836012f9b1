//! A model with prepared replies, for tests of agents, graphs and systems: without a network,
//! and deterministic.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@reply`] | one prepared reply: text, values, tool calls, faults, delays |
//! | [`branch`] | a list of replies, and the requests that it matches |

pub mod branch;
pub mod reply;

use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_core::{Fault, FaultCode, ModelReply, ModelRequest};
use antiphon_runtime::{CallContext, Model};
use async_trait::async_trait;

pub use branch::ScriptBranch;
pub use reply::ScriptedReply;

/// Answers each request with the next reply of the first branch that matches it, or else with
/// the replies that belong to no branch. With a branch per tag, parallel tasks each get their
/// own replies in order, whichever runs first.
///
/// ```
/// use antiphon_models::{ScriptBranch, ScriptedModel};
/// let model = ScriptedModel::new(["Paris"])
///     .branch(ScriptBranch::tag("role", "critic").replies(["too short", "fine"]));
/// assert_eq!(model.remaining(), 3);
/// ```
pub struct ScriptedModel {
    name: String,
    state: Mutex<ScriptState>,
}

struct ScriptState {
    /// The branch that matches every request is the last one.
    branches: Vec<ScriptBranch>,
    requests: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// A model `test:scripted` that answers with `replies` in order.
    pub fn new<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let branches = vec![ScriptBranch::any().replies(replies)];
        Self {
            name: "test:scripted".to_owned(),
            state: Mutex::new(ScriptState { branches, requests: Vec::new() }),
        }
    }

    /// Sets the name, for instance `test:critic`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a branch. It matches requests that no earlier branch matches.
    #[must_use]
    pub fn branch(self, branch: ScriptBranch) -> Self {
        let mut state = self.state();
        let last = state.branches.len().saturating_sub(1);
        state.branches.insert(last, branch);
        drop(state);
        self
    }

    /// All requests so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// The number of replies that are left; a branch that repeats its last reply does not count
    /// that one.
    pub fn remaining(&self) -> usize {
        self.state().branches.iter().map(ScriptBranch::remaining).sum()
    }

    fn state(&self) -> MutexGuard<'_, ScriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: &ModelRequest) -> Result<ScriptedReply, Fault> {
        let mut state = self.state();
        state.requests.push(request.clone());
        let number = state.requests.len();
        let branch = state.branches.iter_mut().find(|branch| branch.claims(request));
        let reply = branch.and_then(ScriptBranch::next);
        drop(state);
        reply.ok_or_else(|| self.exhausted(request, number))
    }

    fn exhausted(&self, request: &ModelRequest, number: usize) -> Fault {
        let tags: Vec<String> =
            request.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let message = format!(
            "the script of `{}` has no reply left for request {number}, which is tagged: `{}`",
            self.name,
            tags.join(" ")
        );
        Fault::new(FaultCode::ScriptExhausted, message)
            .with("model", self.name.as_str())
            .with("request", number)
            .hint("add a reply, or a branch for the tags of this request")
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let reply = self.next(request)?;
        reply.run(&self.name, request, cx).await
    }
}
