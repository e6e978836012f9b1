//! Failures across the bridge: a user's exception keeps its object and its
//! traceback, a fault of the engine becomes a class of `antiphon.errors`.

use antiphon_core::retry::{Jitter, RetryPolicy};
use antiphon_core::task::{Failure, RetryVerdict};
use antiphon_core::{Category, Fault, FaultCode, FaultRecord};
use antiphon_runtime::redact;
use pyo3::exceptions::{
    PyBaseException, PyException, PyRuntimeError, PyStopAsyncIteration, PyStopIteration,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyString};

/// The fault as the dict that `antiphon._faults.from_fault` takes.
pub(crate) fn as_dict<'py>(py: Python<'py>, fault: &Fault) -> Bound<'py, PyDict> {
    let dict = PyDict::new(py);
    let details = serde_json::Value::Object(fault.details.clone());
    let set = |key: &Bound<'py, PyString>, value: Bound<'py, PyAny>| dict.set_item(key, value);
    // Setting a string key of a fresh dict can only fail for lack of memory.
    let _ = set(intern!(py, "category"), PyString::new(py, fault.category.as_str()).into_any());
    let _ = set(intern!(py, "code"), PyString::new(py, fault.code.as_str()).into_any());
    let _ = set(intern!(py, "message"), PyString::new(py, &fault.message).into_any());
    if let Some(hint) = &fault.hint {
        let _ = set(intern!(py, "hint"), PyString::new(py, hint).into_any());
    }
    if let Ok(details) = pythonize::pythonize(py, &details) {
        let _ = set(intern!(py, "details"), details);
    }
    dict
}

/// A node's exception as a stream, or what awaits a run, may raise it: one that would end the iteration
/// in silence becomes a `RuntimeError`, as in generators of Python (PEP 479).
pub(crate) fn without_stop(py: Python<'_>, error: PyErr) -> PyErr {
    let name = match () {
        () if error.is_instance_of::<PyStopIteration>(py) => "StopIteration",
        () if error.is_instance_of::<PyStopAsyncIteration>(py) => "StopAsyncIteration",
        () => return error,
    };
    let contained = PyRuntimeError::new_err(format!("code of the run raised {name}"));
    contained.set_cause(py, Some(error));
    contained
}

/// A failure after which a graph continues, as the dict that its channels record.
pub(crate) fn record<'py>(py: Python<'py>, found: &FaultRecord<'_>) -> Bound<'py, PyDict> {
    let dict = as_dict(py, found.fault);
    // As above: only for lack of memory.
    let _ = dict.set_item(intern!(py, "node"), found.node);
    let _ = dict.set_item(intern!(py, "attempt"), found.attempt);
    let _ = dict.set_item(intern!(py, "recoverable"), found.recoverable);
    dict
}

/// The exception that a fault is raised as.
pub(crate) fn to_exception(py: Python<'_>, fault: &Fault) -> PyErr {
    let made = py
        .import(intern!(py, "antiphon._faults"))
        .and_then(|faults| faults.call_method1(intern!(py, "from_fault"), (as_dict(py, fault),)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// What a task's exception means for the engine. The exception itself stays
/// with the host, under a number.
pub(crate) fn failure(
    py: Python<'_>,
    error: PyErr,
    policies: &[Py<Retry>],
    node: Option<(&str, u32)>,
    keep: &mut Vec<Py<PyBaseException>>,
) -> Failure {
    let error = own_cancellation(py, error, node);
    let value = error.value(py);
    // Ctrl-C and the like: neither tried again nor handled by another agent.
    let stops = !error.is_instance_of::<PyException>(py);
    let category =
        if stops { Category::Cancelled } else { category(value).unwrap_or(Category::Internal) };
    let kind = value.get_type().name().map_or_else(|_| "Exception".into(), |name| name.to_string());
    let code = text(value, "code");
    let code = code.as_deref().unwrap_or(FaultCode::NodeFailed.as_str());
    let fault = Fault::foreign(category, code, format!("{kind}: {value}")).with("type", kind);
    let mut fault = redact::clean_fault(fault);
    let policies = if stops { &[][..] } else { policies };
    let chosen = policies.iter().find_map(|policy| policy.get().again(py, value));
    if let Some((node, attempt)) = node {
        fault = fault.with("node", node).with("attempt", attempt);
    }
    keep.push(error.into_value(py));
    fault.foreign = u64::try_from(keep.len()).ok();
    let verdict = chosen.map_or(RetryVerdict::Never, RetryVerdict::Again);
    Failure { fault, verdict }
}

/// What a node's policies say of a failure within it: of the exception that is kept for it, or else
/// of the one that it is raised as. An exhausted budget stays exhausted.
pub(crate) fn retry_verdict(
    py: Python<'_>,
    fault: &Fault,
    raised: Option<&Py<PyBaseException>>,
    policies: &[Py<Retry>],
) -> RetryVerdict {
    let is_spent = fault.category == Category::Budget && raised.is_none();
    if policies.is_empty() || is_spent || fault.category == Category::Cancelled {
        return RetryVerdict::ByCategory;
    }
    let chosen = policies.iter().map(Py::get).find(|policy| match raised {
        Some(raised) => policy.covers(py, raised.bind(py)),
        None => policy.covers_fault(py, fault),
    });
    chosen.map_or(RetryVerdict::Never, |policy| RetryVerdict::Again(policy.policy.clone()))
}

/// A `CancelledError` of a node's own is a failure of the node: raised as it
/// is, it would look as if the caller had been cancelled.
fn own_cancellation(py: Python<'_>, error: PyErr, node: Option<(&str, u32)>) -> PyErr {
    let Some((node, _)) = node.filter(|_| is_cancellation(py, &error)) else { return error };
    let message =
        format!("a node raised CancelledError although its run was not cancelled: {node}");
    let fault = Fault::new(FaultCode::NodeCancelled, message).with("node", node);
    let raised = to_exception(py, &fault);
    raised.set_cause(py, Some(error));
    raised
}

/// Whether it is a `CancelledError`.
pub(crate) fn is_cancellation(py: Python<'_>, error: &PyErr) -> bool {
    let cancelled =
        py.import(intern!(py, "asyncio")).and_then(|asyncio| asyncio.getattr("CancelledError"));
    cancelled.is_ok_and(|kind| error.value(py).is_instance(&kind).unwrap_or(false))
}

fn category(value: &Bound<'_, PyAny>) -> Option<Category> {
    let name = text(value, "category")?;
    Category::ALL.into_iter().find(|category| category.as_str() == name)
}

/// The category and code of one of our own exceptions.
pub(crate) fn known(value: &Bound<'_, PyAny>) -> Option<(Category, String)> {
    Some((category(value)?, text(value, "code")?))
}

/// An attribute that only our own exceptions have, if it is a text.
fn text(value: &Bound<'_, PyAny>, name: &str) -> Option<String> {
    let errors = value.py().import("antiphon.errors").ok()?;
    let root = errors.getattr("AntiphonError").ok()?;
    if !value.is_instance(&root).unwrap_or(false) {
        return None;
    }
    value.getattr(name).ok()?.extract().ok()
}

/// The options of a retry policy.
const OPTIONS: [&str; 6] =
    ["initial_interval", "backoff_factor", "max_interval", "max_attempts", "jitter", "retry_on"];

/// How often a failed node is retried, and after which exceptions.
///
/// Intervals are in seconds. `retry_on` is an exception class, a sequence of
/// classes, or a predicate of the exception.
#[pyclass(name = "RetryPolicy", module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "the names that LangGraph's users type")]
pub(crate) struct Retry {
    pub(crate) policy: RetryPolicy,
    #[pyo3(get)]
    initial_interval: f64,
    #[pyo3(get)]
    backoff_factor: f64,
    #[pyo3(get)]
    max_interval: f64,
    #[pyo3(get)]
    max_attempts: u32,
    #[pyo3(get)]
    jitter: bool,
    #[pyo3(get)]
    retry_on: Py<PyAny>,
}

#[pymethods]
impl Retry {
    #[new]
    #[pyo3(signature = (initial_interval=0.5, backoff_factor=2.0, max_interval=128.0, max_attempts=3, jitter=true, retry_on=None, **unknown: "Never"))]
    #[expect(clippy::too_many_arguments, reason = "keyword options of a public class")]
    fn new(
        py: Python<'_>,
        initial_interval: f64,
        backoff_factor: f64,
        max_interval: f64,
        max_attempts: u32,
        jitter: bool,
        retry_on: Option<Py<PyAny>>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if let Some(unknown) = unknown {
            let known = PyFrozenSet::new(py, OPTIONS)?;
            py.import("antiphon._keywords")?
                .call_method1("check_keywords", ("`RetryPolicy`", unknown, known))?;
        }
        let retry_on = match retry_on {
            Some(retry_on) => retry_on,
            None => py.import("antiphon._faults")?.getattr("is_transient")?.unbind(),
        };
        Ok(Self {
            policy: RetryPolicy {
                max_attempts: attempts(max_attempts)?,
                initial: seconds("initial_interval", initial_interval)?,
                factor: factor(backoff_factor)?,
                cap: seconds("max_interval", max_interval)?,
                jitter: if jitter { Jitter::Additive } else { Jitter::None },
            },
            initial_interval,
            backoff_factor,
            max_interval,
            max_attempts,
            jitter,
            retry_on: covered_by(py, retry_on)?,
        })
    }

    fn __repr__(&self) -> String {
        format!(
            "RetryPolicy(initial_interval={}, backoff_factor={}, max_interval={}, max_attempts={}, jitter={})",
            self.initial_interval,
            self.backoff_factor,
            self.max_interval,
            self.max_attempts,
            self.jitter
        )
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.retry_on)
    }
}

impl Retry {
    /// Whether time-outs are tried again.
    pub(crate) fn covers_timeouts(&self, py: Python<'_>) -> bool {
        self.covers_fault(py, &Fault::new(FaultCode::NodeTimeout, "the node took too long"))
    }

    /// Whether a failure that no code of a user raises is tried again.
    fn covers_fault(&self, py: Python<'_>, fault: &Fault) -> bool {
        let raised = to_exception(py, fault).into_value(py).into_bound(py).into_any();
        // Users of graphs name the class that the graph raises.
        let of_graph = py
            .import(intern!(py, "antiphon._graph_errors"))
            .and_then(|errors| errors.call_method1(intern!(py, "as_graph_error"), (&raised,)));
        self.covers(py, &raised) || of_graph.is_ok_and(|raised| self.covers(py, &raised))
    }

    /// How an exception is tried again; none if it is not.
    pub(crate) fn again(
        &self,
        py: Python<'_>,
        error: &Bound<'_, PyBaseException>,
    ) -> Option<RetryPolicy> {
        self.covers(py, error).then(|| self.policy.clone())
    }

    fn covers(&self, py: Python<'_>, error: &Bound<'_, PyAny>) -> bool {
        let rule = self.retry_on.bind(py);
        if rule.is_instance_of::<pyo3::types::PyTuple>()
            || rule.is_instance_of::<pyo3::types::PyType>()
        {
            return error.is_instance(rule).unwrap_or(false);
        }
        let covered = rule.call1((error,)).and_then(|answer| answer.is_truthy());
        covered.unwrap_or(false)
    }
}

/// A class, a tuple of classes or a predicate; other sequences become tuples.
fn covered_by(py: Python<'_>, rule: Py<PyAny>) -> PyResult<Py<PyAny>> {
    let bound = rule.bind(py);
    let raised = py.get_type::<PyBaseException>();
    let is_raised = |class: &Bound<'_, PyAny>| {
        class
            .cast::<pyo3::types::PyType>()
            .is_ok_and(|class| class.is_subclass(&raised).unwrap_or(false))
    };
    if is_raised(bound) || (bound.is_callable() && !bound.is_instance_of::<pyo3::types::PyType>()) {
        return Ok(rule);
    }
    match bound.try_iter().and_then(Iterator::collect::<PyResult<Vec<_>>>) {
        Ok(classes) if classes.iter().all(is_raised) => {
            Ok(pyo3::types::PyTuple::new(py, classes)?.into_any().unbind())
        }
        _ => Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "`retry_on` must be an exception class, a sequence of classes or a predicate: {}",
            bound.repr()?
        ))),
    }
}

/// The attempts of a policy, the first included.
fn attempts(value: u32) -> PyResult<u32> {
    (value > 0).then_some(value).ok_or_else(|| {
        pyo3::exceptions::PyValueError::new_err(format!(
            "`max_attempts` counts the first attempt too, so it must be at least 1: {value}"
        ))
    })
}

/// What an interval is multiplied by after each attempt.
fn factor(value: f64) -> PyResult<f64> {
    (value.is_finite() && value >= 0.0).then_some(value).ok_or_else(|| {
        pyo3::exceptions::PyValueError::new_err(format!(
            "`backoff_factor` must be a finite number from 0: {value}"
        ))
    })
}

/// A duration in seconds as users write it.
pub(crate) fn seconds(name: &str, value: f64) -> PyResult<std::time::Duration> {
    std::time::Duration::try_from_secs_f64(value).map_err(|_| {
        pyo3::exceptions::PyValueError::new_err(format!(
            "`{name}` must be a non-negative number of seconds: {value}"
        ))
    })
}

/// A run that is being stepped right now cannot be asked anything.
pub(crate) fn busy() -> PyErr {
    PyRuntimeError::new_err("a router or reducer cannot reach into the run that calls it")
}

/// Says on a user's exception where it was raised.
pub(crate) fn noted(py: Python<'_>, error: PyErr, fault: &Fault) -> PyErr {
    let Some(node) = fault.details.get("node").and_then(serde_json::Value::as_str) else {
        return error;
    };
    let attempt = fault.details.get("attempt").and_then(serde_json::Value::as_u64).unwrap_or(1);
    let note = format!("raised by the node `{node}`, attempt {attempt}");
    let value = error.value(py);
    let said = value.getattr_opt("__notes__").ok().flatten();
    let said = said.and_then(|notes| notes.contains(&note).ok()).unwrap_or(false);
    if !said {
        // An exception that takes no notes is raised without one.
        let _ = value.call_method1("add_note", (note,));
    }
    error
}
