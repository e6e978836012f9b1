//! The interpreter of one question: jobs run off the driver's threads, and end
//! when nobody waits for them any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_runtime::redact;
use antiphon_runtime::sandbox::{
    GuestFault, GuestFaultKind, HostCalls, JobOutcome, JobOutput, Sandbox, SandboxJob, Session,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::input_table::InputTable;
use super::result_check::ResultEvidence;
use super::result_rows::ResultRows;
use super::task::{RESULT, TABLE, Task};

/// Code of ours that describes variables, for the guest to run: what stands in
/// it is only ever data to the host.
const DESCRIBE: &str = include_str!("describe.py");

/// Code of ours that compares a result with the cells of the inputs.
const INSPECT: &str = include_str!("inspect.py");

/// Code of ours that takes a result apart, to compare it with another.
const TAKE_APART: &str = include_str!("result_rows.py");

/// Gives code of ours the functions of the language back: the model's may have used their names.
const BUILTINS: &str = "\
try:
    from builtins import any, bool, dict, float, format, getattr, hasattr, int, len, list, max
    from builtins import min, range, repr, round, set, sorted, str, sum, tuple, type, zip
except ImportError:
    pass
";

/// The interpreter of one question.
pub struct SandboxRunner {
    sandbox: Arc<dyn Sandbox>,
    task: Arc<Task>,
    host_calls: Option<Arc<dyn HostCalls>>,
    session: Mutex<Option<Box<dyn Session>>>,
}

impl SandboxRunner {
    pub(super) fn new(
        sandbox: Arc<dyn Sandbox>,
        task: Arc<Task>,
        host_calls: Option<Arc<dyn HostCalls>>,
    ) -> Self {
        Self { sandbox, task, host_calls, session: Mutex::new(None) }
    }

    /// Opens an interpreter, puts the inputs into it, and has them described.
    pub(super) async fn describe(&self) -> Result<(String, Vec<InputTable>), Box<GuestFault>> {
        if self.task.inputs.is_empty() && self.task.tables.is_empty() {
            return Ok((String::new(), Vec::new()));
        }
        let names: Vec<&str> = self.task.names().collect();
        let seen = self.run(SandboxJob { code: describing(&names), ..self.base_job() }).await?;
        if too_large(&seen).is_some() {
            // The description may be, of very many columns, or the inputs: no code could use them.
            let bare = SandboxJob { code: "None".to_owned(), ..self.base_job() };
            if let Some(fault) = too_large(&self.run(bare).await?) {
                return Err(Box::new(fault.clone()));
            }
        }
        // An engine that knows only a part of the language may not manage it.
        let Some(described) = described(&seen) else { return Ok((names.join("\n"), Vec::new())) };
        let text: Vec<&str> = described.iter().map(|one| &*one.text).collect();
        let text = text.join("\n");
        let has_columns = |one: &VariableDescription| !one.source.columns.is_empty();
        let sources = described.into_iter().filter(has_columns).map(|one| one.source).collect();
        Ok((text, sources))
    }

    /// Runs code beside the inputs, and keeps what came of it. The interpreter
    /// of an earlier piece of code is not used again.
    pub(super) async fn compute(&self, python: &str) -> Result<JobOutcome, Box<GuestFault>> {
        let fresh = lock(&self.session).is_none();
        let job = if fresh { self.base_job() } else { SandboxJob::default() };
        let want = vec![JobOutput::Value, JobOutput::Locals, JobOutput::Tables, JobOutput::Figures];
        let functions = self.task.functions.clone();
        let job = SandboxJob {
            code: python.to_owned(),
            name: "<code>".to_owned(),
            want,
            functions,
            ..job
        };
        self.run(job).await
    }

    /// What the code has assigned, as text, and whether the result is empty; none if it cannot
    /// be had.
    pub(super) async fn show(&self, outcome: &JobOutcome) -> Option<(String, bool)> {
        let has = |name: &&str| {
            outcome.locals.contains_key(*name)
                || outcome.tables.iter().any(|table| table.name == **name)
        };
        let names: Vec<&str> = [RESULT, TABLE].into_iter().filter(has).collect();
        if names.is_empty() {
            return None;
        }
        let job = SandboxJob {
            code: format!("{BUILTINS}{}", describing(&names)),
            want: vec![JobOutput::Value],
            ..SandboxJob::default()
        };
        let described = described(&self.run(job).await.ok()?)?;
        let text: Vec<&str> = described.iter().map(|one| &*one.text).collect();
        let is_empty = described.iter().any(|one| one.is_empty && one.source.name == RESULT);
        Some((text.join("\n"), is_empty))
    }

    /// Those of the texts that no cell of the inputs holds; none if that cannot be found out.
    pub(super) async fn absent(&self, texts: &[&str]) -> Vec<String> {
        let names: Vec<&str> = self.task.names().collect();
        let code = format!("{DESCRIBE}\n_absent({}, [{}])", json!(texts), names.join(", "));
        self.found(code).await.unwrap_or_default()
    }

    /// How the result and the question relate to the cells of the inputs; none if that cannot be
    /// found out.
    pub(super) async fn inspect(&self, outcome: &JobOutcome) -> Option<ResultEvidence> {
        let value = result_name(outcome)?;
        let names: Vec<&str> = self.task.names().collect();
        let (question, names) = (json!(self.task.question), names.join(", "));
        self.found(format!("{INSPECT}\n_inspected({value}, {question}, [{names}])")).await
    }

    /// The rows of the result, to compare it with another; none if it cannot be compared.
    pub(super) async fn rows(&self, outcome: &JobOutcome) -> Option<ResultRows> {
        let value = result_name(outcome)?;
        self.found(format!("{TAKE_APART}\n_result_rows({value})")).await
    }

    /// What code of ours finds; none if it fails.
    async fn found<T: DeserializeOwned>(&self, code: String) -> Option<T> {
        let code = format!("{BUILTINS}{code}");
        let job = SandboxJob { code, want: vec![JobOutput::Value], ..SandboxJob::default() };
        let found = self.run(job).await.ok().and_then(|outcome| outcome.value);
        found.and_then(|value| T::deserialize(value).ok())
    }

    /// Ends the interpreter.
    pub(super) fn close(&self) {
        lock(&self.session).take();
    }

    fn base_job(&self) -> SandboxJob {
        let Task { inputs, tables, .. } = &*self.task;
        let tables = tables.iter().map(|(name, bytes)| (name.clone(), bytes.0.clone()));
        SandboxJob {
            want: vec![JobOutput::Value],
            inputs: inputs.clone(),
            tables: tables.collect(),
            ..SandboxJob::default()
        }
    }

    /// Runs a job in the interpreter. Only what is no doing of the code's is an
    /// error.
    async fn run(&self, job: SandboxJob) -> Result<JobOutcome, Box<GuestFault>> {
        let open = lock(&self.session).take();
        let (sandbox, host) = (Arc::clone(&self.sandbox), self.host_calls.clone());
        let wanted = JobGuard::default();
        let dropped = Arc::clone(&wanted.0);
        let work = move || {
            let mut session = open.map_or_else(|| sandbox.open(), Ok)?;
            let halt = || {
                let reason = || "the computation was cancelled".to_owned();
                dropped.load(Ordering::Relaxed).then(reason)
            };
            let outcome = session.run(&job, host, &halt);
            Ok::<_, Box<GuestFault>>((session, outcome))
        };
        let done = tokio::task::spawn_blocking(work).await;
        let (session, mut outcome) = done.map_err(|error| {
            Box::new(GuestFault::new(
                GuestFaultKind::Crashed,
                format!("the sandbox failed: {error}"),
            ))
        })??;
        *lock(&self.session) = Some(session);
        redact::clean_job(&mut outcome);
        match outcome.error {
            Some(fault)
                if matches!(
                    fault.kind,
                    GuestFaultKind::Unavailable | GuestFaultKind::Cancelled
                ) =>
            {
                Err(Box::new(fault))
            }
            _ => Ok(outcome),
        }
    }
}

/// How code names the result: the value of a last expression is `_`.
fn result_name(outcome: &JobOutcome) -> Option<String> {
    let has_table = outcome.tables.iter().any(|table| table.name == RESULT);
    match &outcome.value {
        _ if has_table || outcome.locals.contains_key(RESULT) => Some(RESULT.to_owned()),
        Some(value @ (Json::String(_) | Json::Number(_))) => Some(value.to_string()),
        Some(_) => Some("_".to_owned()),
        None => None,
    }
}

/// Halts a job when the future that waits for it is dropped.
#[derive(Default)]
struct JobGuard(Arc<AtomicBool>);

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Code whose value describes these variables. Names of inputs were checked.
fn describing(names: &[&str]) -> String {
    let described: Vec<String> =
        names.iter().map(|name| format!("_described({}, {name})", json!(name))).collect();
    format!("{DESCRIBE}\n[{}]", described.join(", "))
}

/// A variable as the guest has described it.
#[derive(Deserialize)]
struct VariableDescription {
    #[serde(flatten)]
    source: InputTable,
    text: String,
    is_empty: bool,
}

fn too_large(outcome: &JobOutcome) -> Option<&GuestFault> {
    let faults = outcome.error.iter().chain(&outcome.value_error);
    faults.into_iter().find(|fault| fault.kind == GuestFaultKind::ResultTooLarge)
}

/// What a job has described; none if its value is something else.
fn described(outcome: &JobOutcome) -> Option<Vec<VariableDescription>> {
    Vec::deserialize(outcome.value.as_ref()?).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
