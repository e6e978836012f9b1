//! What the tests share: a scripted model, and a sandbox that answers from a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use antiphon_core::Fault;
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::ManualClock;
use antiphon_runtime::sandbox::{
    GuestFault, GuestFaultKind, HostCalls, JobOutcome, Sandbox, SandboxJob, SandboxProbe,
    Session as Open, StopCheck,
};
use antiphon_systems::computation::{Answer, Computation, Config, State, Task};
use antiphon_systems::{Session, SystemResourcesBuilder, SystemResult, SystemRunner};
use serde_json::{Map, Value as Json, json};
use tokio::sync::mpsc::UnboundedSender;

/// What the sandbox answers, and what it was asked. Jobs that only describe variables say
/// `described` of inputs.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) outcomes: Arc<Mutex<VecDeque<JobOutcome>>>,
    pub(crate) jobs: Arc<Mutex<Vec<SandboxJob>>>,
    pub(crate) opened: Arc<Mutex<usize>>,
    pub(crate) is_missing: bool,
    /// What comes instead of a description of the inputs.
    pub(crate) described: Option<JobOutcome>,
    /// The columns of the input.
    pub(crate) columns: Json,
    /// The result as text; an empty one is an empty result.
    pub(crate) shown: String,
    /// What is in no cell of the inputs.
    pub(crate) absent: Json,
    /// How the result relates to the cells of the inputs.
    pub(crate) evidence: Json,
    /// The rows of each result, in turn; then nothing is known of them.
    pub(crate) rows: Arc<Mutex<VecDeque<Json>>>,
    /// Notified when code begins that never ends, and when it was halted.
    pub(crate) endless: Option<UnboundedSender<&'static str>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            outcomes: Arc::default(),
            jobs: Arc::default(),
            opened: Arc::default(),
            is_missing: false,
            described: None,
            columns: json!([]),
            shown: "shown".to_owned(),
            absent: json!([]),
            evidence: json!(null),
            rows: Arc::default(),
            endless: None,
        }
    }
}

impl Sandbox for Script {
    fn probe(&self) -> SandboxProbe {
        SandboxProbe { ok: true, missing: Vec::new(), ..SandboxProbe::refused("scripted", "") }
    }

    fn run(&self, job: &SandboxJob, _: Option<Arc<dyn HostCalls>>, _: StopCheck<'_>) -> JobOutcome {
        self.answer(job)
    }

    fn open(&self) -> Result<Box<dyn Open>, Box<GuestFault>> {
        if self.is_missing {
            let fault =
                GuestFault::new(GuestFaultKind::Unavailable, "no engine passes its probe here");
            return Err(Box::new(fault));
        }
        *self.opened.lock().unwrap() += 1;
        Ok(Box::new(self.clone()))
    }
}

impl Open for Script {
    fn run(
        &mut self,
        job: &SandboxJob,
        _: Option<Arc<dyn HostCalls>>,
        halt: StopCheck<'_>,
    ) -> JobOutcome {
        let Some(reporter) = &self.endless else { return self.answer(job) };
        reporter.send("begun").unwrap();
        while halt().is_none() {
            std::thread::yield_now();
        }
        reporter.send("halted").unwrap();
        JobOutcome::failed(GuestFaultKind::Cancelled, "halted")
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, Box<GuestFault>> {
        Ok(None)
    }
}

impl Script {
    fn answer(&self, job: &SandboxJob) -> JobOutcome {
        self.jobs.lock().unwrap().push(job.clone());
        if job.code.contains("\n_absent([") {
            return JobOutcome { value: Some(self.absent.clone()), ..JobOutcome::default() };
        }
        if job.code.contains("\n_inspected(") {
            return JobOutcome { value: Some(self.evidence.clone()), ..JobOutcome::default() };
        }
        if job.code.contains("\n_result_rows(") {
            let value = self.rows.lock().unwrap().pop_front();
            return JobOutcome { value, ..JobOutcome::default() };
        }
        if job.code.contains("def _described") {
            let is_result = job.code.contains("_described(\"result\"");
            if let Some(refused) = self.described.clone().filter(|_| !is_result) {
                return refused;
            }
            let (name, columns) =
                if is_result { ("result", json!([])) } else { ("sales", self.columns.clone()) };
            let described = json!([{
                "name": name,
                "text": if is_result { &*self.shown } else { "described" },
                "rows": 344,
                "columns": columns,
                "is_empty": is_result && self.shown.is_empty(),
            }]);
            return JobOutcome { value: Some(described), ..JobOutcome::default() };
        }
        self.outcomes.lock().unwrap().pop_front().expect("the script of the sandbox is over")
    }

    /// The code of the model's that was run.
    pub(crate) fn ran(&self) -> Vec<String> {
        let jobs = self.jobs.lock().unwrap();
        let is_own = |job: &&SandboxJob| {
            let ours = ["def _described", "\n_inspected(", "\n_result_rows("];
            !ours.iter().any(|code| job.code.contains(code))
        };
        let own = jobs.iter().filter(is_own);
        own.map(|job| job.code.clone()).collect()
    }
}

/// An outcome with `result`.
pub(crate) fn result(value: Json) -> JobOutcome {
    let locals = Map::from_iter([("result".to_owned(), value)]);
    JobOutcome { locals, ..JobOutcome::default() }
}

/// An outcome that is an exception.
pub(crate) fn raised(exception: &str, message: &str) -> JobOutcome {
    let mut outcome = JobOutcome::failed(GuestFaultKind::PythonError, message);
    if let Some(fault) = &mut outcome.error {
        fault.exception = Some(exception.to_owned());
        fault.line = Some(2);
        fault.source = Some("result = sales['netto'].sum()".to_owned());
    }
    outcome
}

pub(crate) fn plan(python: &str) -> Json {
    json!({"reasoning": "add them up", "python": python, "explain": "Adds them up."})
}

pub(crate) fn words(answer: &str, highlights: &[&str]) -> Json {
    json!({"answer": answer, "highlights": highlights})
}

/// One question with everything scripted.
pub(crate) struct Scene {
    pub(crate) config: Config,
    pub(crate) sandbox: Script,
    /// The name of the model, which tells its tier.
    pub(crate) model_name: &'static str,
    branches: Vec<ScriptBranch>,
}

pub(crate) struct ScriptedRun {
    pub(crate) answer: SystemResult<Answer, State>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) sandbox: Script,
}

impl Scene {
    pub(crate) fn new(settings: &Json) -> Self {
        let config = Config::from_json(settings).unwrap();
        Self {
            config,
            sandbox: Script::default(),
            model_name: "test:scripted",
            branches: Vec::new(),
        }
    }

    pub(crate) fn role<R: Into<ScriptedReply>>(
        mut self,
        role: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.branches.push(ScriptBranch::tag("role", role).replies(replies));
        self
    }

    pub(crate) fn runs(self, outcomes: impl IntoIterator<Item = JobOutcome>) -> Self {
        self.sandbox.outcomes.lock().unwrap().extend(outcomes);
        self
    }

    pub(crate) async fn answer(self, task: Task) -> ScriptedRun {
        let (model, sandbox, answer) = self.try_answer(task).await;
        ScriptedRun { answer: answer.unwrap(), model, sandbox }
    }

    pub(crate) async fn try_answer(
        self,
        task: Task,
    ) -> (Arc<ScriptedModel>, Script, Result<SystemResult<Answer, State>, Fault>) {
        let model = ScriptedModel::new::<&str>([]).named(self.model_name);
        let model = Arc::new(self.branches.into_iter().fold(model, ScriptedModel::branch));
        let sandbox = Arc::new(self.sandbox.clone());
        let resources = SystemResourcesBuilder::new().model(model.clone()).sandbox(sandbox);
        let system = SystemRunner::<Computation>::new(self.config, resources).unwrap();
        let session = Session::new(Arc::new(ManualClock::default()));
        let answer = system.ask(task, session).await;
        (model, self.sandbox, answer)
    }
}

pub(crate) fn sales() -> Task {
    let inputs = json!({"sales": [{"region": "north", "net": 3}, {"region": "south", "net": 4}]});
    let Json::Object(inputs) = inputs else { unreachable!() };
    Task { inputs, ..Task::new("How much was sold?") }
}
