//! How the requests of a run to its models ended. A run in which none succeeded has no answer
//! because of that, and a model that cannot be asked is not asked over and over.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_core::{Category, Fault, FaultCode, ModelReply, ModelRequest};
use antiphon_runtime::{CallContext, Model};
use async_trait::async_trait;

use crate::role::{RoleImplementation, Roles};

/// After so many requests in a row, each with all attempts of its transport, a model that has never
/// replied is given up.
const TRANSPORT_FAILURES: u32 = 2;

/// How the requests of one run ended.
#[derive(Debug, Default)]
pub(crate) struct RequestTally(Mutex<TalliedRequests>);

#[derive(Debug, Default)]
struct TalliedRequests {
    /// By the address of the model: two of one name may have different keys.
    models: BTreeMap<usize, ModelRecord>,
    has_reply: bool,
    /// The failure of the last request, if it has failed.
    last: Option<Fault>,
}

/// How the requests to one model ended.
#[derive(Debug, Default)]
struct ModelRecord {
    has_replied: bool,
    transport_failures: u32,
    last: Option<Fault>,
}

impl RequestTally {
    /// A model whose requests are counted here.
    pub(crate) fn wrap(self: &Arc<Self>, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(TalliedModel { model, tally: Arc::clone(self) })
    }

    /// Whether any model has replied.
    pub(crate) fn has_reply(&self) -> bool {
        self.requests().has_reply
    }

    /// What the last request failed with; none if it has not.
    pub(crate) fn failure(&self) -> Option<Fault> {
        self.requests().last.clone()
    }

    /// Why the models of these roles cannot be asked; none if one of them may reply, or is code.
    pub(crate) fn dead_end(&self, roles: &Roles, names: &[&str]) -> Option<Fault> {
        let mut last = None;
        for name in names {
            let RoleImplementation::Model(role) = roles.implementation(name).ok()? else {
                return None;
            };
            last = Some(self.given_up(&role.model)?);
        }
        last
    }

    fn given_up(&self, model: &Arc<dyn Model>) -> Option<Fault> {
        self.requests().models.get(&address(model))?.given_up().cloned()
    }

    fn take(&self, model: &Arc<dyn Model>, outcome: &Result<ModelReply, Fault>) {
        let mut requests = self.requests();
        let record = requests.models.entry(address(model)).or_default();
        let failure = outcome.as_ref().err();
        let is_failure =
            |fault: &&Fault| fault.category == Category::Auth || is_request_failure(fault);
        record.last = failure.filter(is_failure).cloned();
        let is_transport = |fault: &&Fault| {
            fault.category == Category::ModelTransport && fault.code != FaultCode::ModelRateLimited
        };
        record.transport_failures += u32::from(failure.as_ref().is_some_and(is_transport));
        // A model that refuses, or whose reply is of no use, was asked.
        let has_replied = failure.is_none_or(|fault| fault.category == Category::ModelOutput);
        record.has_replied |= has_replied;
        let last = record.last.clone();
        requests.has_reply |= has_replied;
        requests.last = last;
    }

    fn requests(&self) -> MutexGuard<'_, TalliedRequests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelRecord {
    /// Why the model is not asked any more.
    fn given_up(&self) -> Option<&Fault> {
        let fault = self.last.as_ref().filter(|_| !self.has_replied)?;
        let lasts = fault.category == Category::Auth
            || matches!(fault.code, FaultCode::ModelNotFound | FaultCode::ModelRedirected);
        (lasts || self.transport_failures >= TRANSPORT_FAILURES).then_some(fault)
    }
}

fn address(model: &Arc<dyn Model>) -> usize {
    Arc::as_ptr(model).addr()
}

/// Whether a request did not reach its model, or was not accepted: a refused key, an unknown model,
/// a failure of the transport.
pub(crate) fn is_request_failure(fault: &Fault) -> bool {
    fault.category == Category::ModelTransport
        || matches!(
            fault.code,
            FaultCode::ModelKeyMissing
                | FaultCode::ModelKeyRefused
                | FaultCode::ModelNotFound
                | FaultCode::ModelParameterUnsupported
                | FaultCode::ModelRedirected
                | FaultCode::ModelRequestRefused
                | FaultCode::ModelSettingInvalid
                | FaultCode::ModelTimeout
        )
}

/// A model whose requests are counted.
struct TalliedModel {
    model: Arc<dyn Model>,
    tally: Arc<RequestTally>,
}

#[async_trait]
impl Model for TalliedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn names(&self) -> Vec<String> {
        self.model.names()
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        if let Some(fault) = self.tally.given_up(&self.model) {
            return Err(fault);
        }
        let outcome = self.model.call(request, cx).await;
        self.tally.take(&self.model, &outcome);
        outcome
    }
}
