//! A model that answers what it was told to: for tests of agents, graphs and
//! systems, with no network and no chance.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@reply`] | one scripted answer: text, values, tool calls, faults, delays |
//! | [`lane`] | a row of answers, and the requests it is for |

pub mod lane;
pub mod reply;

use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_core::{Category, Fault, ModelReply, ModelRequest};
use antiphon_runtime::{CallContext, Model};
use async_trait::async_trait;

pub use lane::Lane;
pub use reply::ScriptedReply;

/// Answers each request with the next reply of its lane: the first lane that
/// claims the request, else the replies that no lane guards. Lanes for tags
/// keep parallel branches apart, so that each gets its own replies in order
/// whichever runs first.
///
/// ```
/// use antiphon_models::{Lane, ScriptedModel};
/// let model = ScriptedModel::new(["Paris"])
///     .lane(Lane::tag("role", "critic").replies(["too short", "fine"]));
/// assert_eq!(model.remaining(), 3);
/// ```
pub struct ScriptedModel {
    name: String,
    state: Mutex<State>,
}

struct State {
    /// The lane for everything comes last.
    lanes: Vec<Lane>,
    requests: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// Answers with `replies` in order, and is called `test:scripted`.
    pub fn new<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let lanes = vec![Lane::any().replies(replies)];
        Self {
            name: "test:scripted".to_owned(),
            state: Mutex::new(State { lanes, requests: Vec::new() }),
        }
    }

    /// Calls it something else, for instance `test:critic`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a lane. It claims what no lane before it claims.
    #[must_use]
    pub fn lane(self, lane: Lane) -> Self {
        let mut state = self.state();
        let last = state.lanes.len().saturating_sub(1);
        state.lanes.insert(last, lane);
        drop(state);
        self
    }

    /// The requests so far, in the order they came.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// Replies that nobody has asked for yet; a lane that repeats its last
    /// reply does not count that one.
    pub fn remaining(&self) -> usize {
        self.state().lanes.iter().map(Lane::remaining).sum()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: &ModelRequest) -> Result<ScriptedReply, Fault> {
        let mut state = self.state();
        state.requests.push(request.clone());
        let number = state.requests.len();
        let lane = state.lanes.iter_mut().find(|lane| lane.claims(request));
        let reply = lane.and_then(Lane::next);
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
        Fault::new(Category::Validation, "script_exhausted", message)
            .with("model", self.name.as_str())
            .with("request", number)
            .hint("add a reply, or a lane for the tags of this request")
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
