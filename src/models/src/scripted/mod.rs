//! A model that answers what it was told to: for tests of agents, graphs and
//! systems, with no network and no chance.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@reply`] | one scripted answer: text, values, tool calls, faults, delays |
//! | [`branch`] | a row of answers, and the requests it is for |

pub mod branch;
pub mod reply;

use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_core::{Fault, FaultCode, ModelReply, ModelRequest};
use antiphon_runtime::{CallContext, Model};
use async_trait::async_trait;

pub use branch::ScriptBranch;
pub use reply::ScriptedReply;

/// Answers each request with the next reply of its branch: the first branch that
/// claims the request, else the replies that no branch guards. Lanes for tags
/// keep parallel branches apart, so that each gets its own replies in order
/// whichever runs first.
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
    /// The branch for everything comes last.
    branches: Vec<ScriptBranch>,
    requests: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// Answers with `replies` in order, and is called `test:scripted`.
    pub fn new<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let branches = vec![ScriptBranch::any().replies(replies)];
        Self {
            name: "test:scripted".to_owned(),
            state: Mutex::new(ScriptState { branches, requests: Vec::new() }),
        }
    }

    /// Calls it something else, for instance `test:critic`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a branch. It claims what no branch before it claims.
    #[must_use]
    pub fn branch(self, branch: ScriptBranch) -> Self {
        let mut state = self.state();
        let last = state.branches.len().saturating_sub(1);
        state.branches.insert(last, branch);
        drop(state);
        self
    }

    /// The requests so far, in the order they came.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// Replies that nobody has asked for yet; a branch that repeats its last
    /// reply does not count that one.
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
        reply.play(&self.name, request, cx).await
    }
}
