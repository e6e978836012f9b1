//! Python callables behind the ports of the native systems: roles, tools and
//! models. Each is called on a thread that may wait.

use std::sync::Arc;

use antiphon_core::approval::HostVerdict;
use antiphon_core::graph::NodePolicy;
use antiphon_core::task::{Failure, RetryVerdict};
use antiphon_core::{Fault, FaultCode, ModelReply, ModelRequest, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Model as ModelPort, Tool, UserContext, redact};
use antiphon_systems::{Role, RoleContext};
use async_trait::async_trait;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::driver::cancel_callbacks::CancelCallbacks;
use crate::driver::exit_gate;
use crate::driver::fork_guard::ForkGuard;
use crate::fault::Retry;
use crate::graph::agent::decision;
use crate::graph::model::reply_of;
use crate::graph::task_context::Context;
use crate::system::model_call::ModelCall;
use crate::system::role_attempt::RoleAttempt;
use crate::system::user_context::{PyUserContext, RAISED};

/// A callable as a role: it takes the brief and a `Context`, and returns the reply.
pub(crate) struct CallableRole {
    pub(crate) call: Arc<Py<PyAny>>,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) policy: NodePolicy,
    pub(crate) retries: Arc<Vec<Py<Retry>>>,
}

#[async_trait]
impl Role for CallableRole {
    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.clone()
    }

    fn policy(&self) -> NodePolicy {
        self.policy.clone()
    }

    async fn act(&self, brief: Json, cx: RoleContext) -> Result<Json, Failure> {
        let (on_cancel, drop_guard) = CancelCallbacks::new();
        let (callable, retries) = (Arc::clone(&self.call), Arc::clone(&self.retries));
        let user_context = PyUserContext::of(cx.user_context.as_ref());
        let called = apart(move |py| {
            let own = user_context.clone();
            let context = Context::of_role(RoleAttempt { cx, user_context: own, on_cancel });
            let call = || {
                let brief = pythonize::pythonize(py, &brief)?;
                let returned = callable.bind(py).call1((brief, context))?;
                crate::value::json::read(&returned)
            };
            call().map_err(|error| failure(py, error, &retries, user_context.as_deref()))
        });
        let outcome = called.await;
        drop_guard.disarm();
        outcome.unwrap_or_else(|lost| Err(lost.into()))
    }
}

/// A callable as a tool: it takes the arguments and a dict about the call.
pub(crate) struct CallableTool {
    pub(crate) spec: ToolSpec,
    pub(crate) call: Arc<Py<PyAny>>,
    /// Decides about its calls: it takes what a call takes, and says true or why not.
    pub(crate) approve: Option<Arc<Py<PyAny>>>,
    /// What the caller of the run passed, if the tool is bound to one.
    pub(crate) user_context: Option<Arc<PyUserContext>>,
}

#[async_trait]
impl Tool for CallableTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        approve_by(self.approve.clone(), about(&self.spec, cx), arguments).await
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let user_context = PyUserContext::of(Some(user_context))?;
        Some(Arc::new(Self {
            spec: self.spec.clone(),
            call: Arc::clone(&self.call),
            approve: self.approve.clone(),
            user_context: Some(user_context),
        }))
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let about = about(&self.spec, cx);
        let (callable, user_context) = (Arc::clone(&self.call), self.user_context.clone());
        let called = apart(move |py| {
            let used = || {
                let caller = user_context.map(|context| context.value.clone_ref(py));
                let given = (in_python(py, &arguments)?, in_python(py, &about)?, caller);
                crate::value::json::read(&callable.bind(py).call1(given)?)
            };
            used().map_err(|error: PyErr| fault(py, &error, FaultCode::ToolFailed))
        });
        called.await?
    }
}

/// A native tool with options, and perhaps a function that approves its calls, from Python.
pub(crate) struct OverriddenTool {
    pub(crate) spec: ToolSpec,
    pub(crate) tool: Arc<dyn Tool>,
    /// As of a [`CallableTool`].
    pub(crate) approve: Option<Arc<Py<PyAny>>>,
}

#[async_trait]
impl Tool for OverriddenTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        approve_by(self.approve.clone(), about(&self.spec, cx), arguments).await
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let (spec, approve) = (self.spec.clone(), self.approve.clone());
        Some(Arc::new(Self { spec, tool: self.tool.bind(user_context)?, approve }))
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        self.tool.call(arguments, cx).await
    }
}

/// The decision of a callable about a call.
async fn approve_by(
    callable: Option<Arc<Py<PyAny>>>,
    about: Json,
    arguments: &Json,
) -> Result<HostVerdict, Fault> {
    let Some(callable) = callable else { return Ok(HostVerdict::Refuse(None)) };
    let arguments = arguments.clone();
    let called = apart(move |py| {
        let asked = || {
            let given = (in_python(py, &arguments)?, in_python(py, &about)?);
            decision(&callable.bind(py).call1(given)?)
        };
        asked().map_err(|error: PyErr| fault(py, &error, FaultCode::ApprovalFailed))
    });
    called.await?
}

fn about(spec: &ToolSpec, cx: &CallContext) -> Json {
    json!({
        "name": spec.name,
        "call_id": cx.call_id,
        "idempotency_key": cx.idempotency_key,
        "context_summary": cx.context_summary.as_deref(),
    })
}

/// A callable that stands for a model: it takes the request and a
/// `ModelCall`, and returns a text or a reply.
pub(crate) struct CallableModel {
    pub(crate) name: String,
    pub(crate) call: Arc<Py<PyAny>>,
}

#[async_trait]
impl ModelPort for CallableModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let (on_cancel, drop_guard) = CancelCallbacks::new();
        let started = cx.clock.now();
        let (request, cx, callable) = (request.clone(), cx.clone(), Arc::clone(&self.call));
        let clock = Arc::clone(&cx.clock);
        let called = apart(move |py| {
            let asked = || {
                let request = in_python(py, &request)?;
                let call = ModelCall::new(cx, on_cancel);
                reply_of(&callable.bind(py).call1((request, call))?)
            };
            asked().map_err(|error: PyErr| {
                let fault = fault(py, &error, FaultCode::RoleFailed);
                fault.with("traceback", traceback(py, &error))
            })
        });
        let replied = called.await;
        drop_guard.disarm();
        let mut reply = replied??;
        reply.latency = clock.now().since(started);
        Ok(reply)
    }
}

/// Works with the interpreter on a thread that may wait.
async fn apart<T: Send + 'static>(
    work: impl FnOnce(Python<'_>) -> T + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(move || {
        let guard = ForkGuard::new();
        exit_gate::enter_or_park(|py| {
            let done = work(py);
            guard.check(py, None);
            done
        })
    })
    .await;
    done.map_err(|_| {
        let message = "the thread of a call ended without an answer";
        Fault::new(FaultCode::RoleFailed, message)
    })
}

fn in_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, value)?)
}

/// What a role's exception means for its question. The exception itself stays
/// with the question, under a number.
fn failure(
    py: Python<'_>,
    error: PyErr,
    retries: &[Py<Retry>],
    user_context: Option<&PyUserContext>,
) -> Failure {
    // Ctrl-C and the like are not tried again.
    let retries = if error.is_instance_of::<PyException>(py) { retries } else { &[] };
    let again = retries.iter().find_map(|retry| retry.get().again(py, error.value(py)));
    let verdict = again.map_or(RetryVerdict::Never, RetryVerdict::Again);
    let mut fault = fault(py, &error, FaultCode::RoleFailed);
    if let Some(user_context) = user_context {
        fault = fault.with(RAISED, user_context.keep(error.into_value(py)));
    }
    Failure { fault, verdict }
}

/// An exception in words.
fn fault(py: Python<'_>, error: &PyErr, code: FaultCode) -> Fault {
    let value = error.value(py);
    let kind = value.get_type().name().map_or_else(|_| "Exception".into(), |name| name.to_string());
    let message = format!("{kind}: {value}");
    let fault = match crate::fault::known(value) {
        Some((category, code)) => Fault::foreign(category, &code, message),
        None => Fault::new(code, message),
    };
    redact::clean_fault(fault.with("type", kind))
}

fn traceback(py: Python<'_>, error: &PyErr) -> String {
    let traceback = error.traceback(py).and_then(|traceback| traceback.format().ok());
    traceback.unwrap_or_default()
}
