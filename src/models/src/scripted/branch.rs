//! Branches of a scripted model.

use std::collections::VecDeque;

use antiphon_core::ModelRequest;

use crate::scripted::reply::ScriptedReply;

/// Replies for the requests that it matches, in order.
pub struct ScriptBranch {
    claim: RequestMatch,
    replies: VecDeque<ScriptedReply>,
    repeats: Option<ScriptedReply>,
}

enum RequestMatch {
    Any,
    Tag { key: String, value: String },
    When(Box<dyn Fn(&ModelRequest) -> bool + Send + Sync>),
}

impl ScriptBranch {
    /// Matches every request.
    pub fn any() -> Self {
        Self::of(RequestMatch::Any)
    }

    /// Matches requests tagged `key` = `value`, for instance `role` = `critic`.
    pub fn tag(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self::of(RequestMatch::Tag { key: key.into(), value: value.into() })
    }

    /// Matches requests for which `claims` is true. It must depend on the request alone.
    pub fn when(claims: impl Fn(&ModelRequest) -> bool + Send + Sync + 'static) -> Self {
        Self::of(RequestMatch::When(Box::new(claims)))
    }

    /// Adds replies.
    #[must_use]
    pub fn replies<R: Into<ScriptedReply>>(mut self, replies: impl IntoIterator<Item = R>) -> Self {
        self.replies.extend(replies.into_iter().map(Into::into));
        self
    }

    /// The reply to repeat once the others are used up.
    #[must_use]
    pub fn then_always(mut self, reply: impl Into<ScriptedReply>) -> Self {
        self.repeats = Some(reply.into());
        self
    }

    const fn of(claim: RequestMatch) -> Self {
        Self { claim, replies: VecDeque::new(), repeats: None }
    }

    pub(crate) fn claims(&self, request: &ModelRequest) -> bool {
        match &self.claim {
            RequestMatch::Any => true,
            RequestMatch::Tag { key, value } => request.tags.get(key) == Some(value),
            RequestMatch::When(claims) => claims(request),
        }
    }

    pub(crate) fn next(&mut self) -> Option<ScriptedReply> {
        self.replies.pop_front().or_else(|| self.repeats.clone())
    }

    pub(crate) fn remaining(&self) -> usize {
        self.replies.len()
    }
}
