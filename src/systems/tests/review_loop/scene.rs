//! What the tests share: a review loop with a script for each role.

use antiphon_systems::review_loop::config::AnswerFormat;
use antiphon_systems::review_loop::{
    AgentMessage, Answer, Config, Participant, QuestionInput, ReviewLoop, State,
};
use antiphon_systems::{Session, SystemResourcesBuilder, SystemResult, SystemRunner};
use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::event::EventKind;
use antiphon_core::{Fault, ModelRequest};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::{ManualClock, Model, Tool};
use serde_json::{Value as Json, json};

/// A review loop before its run: who says what.
pub(crate) struct Scene {
    branches: Vec<ScriptBranch>,
    /// The name of the model, which tells its tier.
    pub(crate) model_name: &'static str,
    pub(crate) config: Config,
    pub(crate) research_tools: Vec<Arc<dyn Tool>>,
    pub(crate) expert_tools: Vec<Arc<dyn Tool>>,
    pub(crate) clock: Arc<ManualClock>,
}

impl Scene {
    /// Settings as given, but short answers unless they say otherwise: then all roles work.
    pub(crate) fn new(settings: &Json) -> Self {
        let mut config = Config::from_json(settings).unwrap();
        if settings.get("answer_format").is_none() {
            config.answer_format = AnswerFormat::Short;
        }
        Self {
            branches: Vec::new(),
            model_name: "test:scripted",
            config,
            research_tools: Vec::new(),
            expert_tools: Vec::new(),
            clock: Arc::new(ManualClock::default()),
        }
    }

    /// The replies of a role, in order.
    pub(crate) fn role<R: Into<ScriptedReply>>(
        self,
        role: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.branch(ScriptBranch::tag("role", role).replies(replies))
    }

    pub(crate) fn branch(mut self, branch: ScriptBranch) -> Self {
        self.branches.push(branch);
        self
    }

    pub(crate) fn model(&mut self) -> Arc<ScriptedModel> {
        let model = ScriptedModel::new::<&str>([]).named(self.model_name);
        Arc::new(self.branches.drain(..).fold(model, ScriptedModel::branch))
    }

    /// A system with these roles, on this scene's settings and tools.
    pub(crate) fn system(&self, model: &Arc<dyn Model>) -> SystemRunner<ReviewLoop> {
        let resources = SystemResourcesBuilder::new()
            .model(Arc::clone(model))
            .tools("researcher", self.research_tools.clone())
            .tools("expert", self.expert_tools.clone());
        SystemRunner::new(self.config.clone(), resources).unwrap()
    }

    pub(crate) fn session(&self) -> Session {
        Session::new(self.clock.clone())
    }

    pub(crate) async fn ask(self, question: impl Into<QuestionInput>) -> ScriptedRun {
        let (model, result) = self.try_ask(question).await;
        ScriptedRun::new(model, result.unwrap())
    }

    /// As `ask`, for a question that may not be begun.
    pub(crate) async fn try_ask(
        mut self,
        question: impl Into<QuestionInput>,
    ) -> (Arc<ScriptedModel>, Result<SystemResult<Answer, State>, Fault>) {
        let model = self.model();
        let system = self.system(&as_model(&model));
        let answer = system.ask(question, self.session()).await;
        (model, answer)
    }

    pub(crate) async fn resume(mut self, state: &State) -> ScriptedRun {
        let model = self.model();
        let system = self.system(&as_model(&model));
        let answer = system.resume_from(state, self.session()).await.unwrap();
        ScriptedRun::new(model, answer)
    }
}

/// A script in the place of any model.
pub(crate) fn as_model(script: &Arc<ScriptedModel>) -> Arc<dyn Model> {
    Arc::clone(script) as Arc<dyn Model>
}

/// A run that has ended, with the model that was asked.
pub(crate) struct ScriptedRun {
    pub(crate) answer: SystemResult<Answer, State>,
    pub(crate) model: Arc<ScriptedModel>,
}

impl ScriptedRun {
    /// Checks what holds for every run.
    pub(crate) fn new(model: Arc<ScriptedModel>, answer: SystemResult<Answer, State>) -> Self {
        let run = Self { answer, model };
        run.check();
        run
    }

    /// The agents in the order they were started.
    pub(crate) fn agents(&self) -> Vec<&str> {
        let nodes = self.nodes().into_iter();
        nodes
            .filter(|name| {
                !matches!(*name, "input" | "orchestrator" | "answerability" | "calculation")
            })
            .collect()
    }

    fn nodes(&self) -> Vec<&str> {
        let started = |kind| kind == EventKind::NodeStarted;
        let names = self.answer.events.iter().filter(|event| started(event.kind));
        let names = names.filter_map(|event| event.path.last());
        names.map(|name| name.split('#').next().unwrap()).collect()
    }

    /// How often each agent was started.
    pub(crate) fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for agent in self.agents() {
            *counts.entry(agent).or_default() += 1;
        }
        counts
    }

    /// The events of the system with that name.
    pub(crate) fn notes(&self, name: &str) -> Vec<Json> {
        let notes = self.answer.events.iter().filter(|event| event.kind == EventKind::Custom);
        let notes = notes.filter(|event| &*event.name == name);
        notes.map(|event| event.data.to_json()).collect()
    }

    /// What a role's model was asked, in order.
    pub(crate) fn requests(&self, role: &str) -> Vec<ModelRequest> {
        let mut requests = self.model.requests();
        requests.retain(|request| request.tags.get("role").is_some_and(|known| known == role));
        requests
    }

    pub(crate) fn state(&self) -> &State {
        &self.answer.state
    }

    pub(crate) fn log(&self) -> &[AgentMessage] {
        &self.answer.state.agent_messages
    }

    /// The instructions of the orchestrator to an agent, in order.
    pub(crate) fn instructions(&self, party: Participant) -> Vec<&AgentMessage> {
        self.log().iter().filter(|message| message.receiver == party).collect()
    }

    /// What holds for every run: the state holds together, and each run of an
    /// agent has one message of the orchestrator.
    fn check(&self) {
        self.state().check().unwrap();
        let instructions =
            self.log().iter().filter(|message| message.sender == Participant::Orchestrator).count();
        // Where the engine's own budget ends a question, nobody sends the finalizer.
        let is_finalized =
            self.answer.outcome.as_str() != "budget" || instructions == self.agents().len();
        let unsent = usize::from(!is_finalized);
        let checks = self.nodes().into_iter().filter(|name| *name == "calculation").count();
        let failed_checks = checks - self.notes("calculation_checked").len();
        assert_eq!(
            instructions + unsent,
            self.agents().len() + failed_checks,
            "one message for each run of an agent"
        );
        let seqs: Vec<u64> = self.answer.events.iter().map(|event| event.seq).collect();
        assert!(seqs.iter().zip(1..).all(|(seq, place)| *seq == place), "no gaps: {seqs:?}");
        assert_eq!(self.model.remaining(), 0, "every reply was asked for");
    }
}

pub(crate) fn plan(research: &[&str], expert: &[&str]) -> Json {
    json!({"research_steps": research, "expert_steps": expert})
}

pub(crate) fn approve() -> Json {
    json!({"decision": "approve", "feedback": ""})
}

pub(crate) fn reject(feedback: &str) -> Json {
    json!({"decision": "reject", "feedback": feedback})
}

pub(crate) fn found(result: &str) -> Json {
    json!({ "result": result })
}

pub(crate) fn solved(answer: &str, reasoning: &str) -> Json {
    json!({"expert_answer": answer, "reasoning_trace": reasoning})
}

pub(crate) fn worded(answer: &str, trace: &str) -> Json {
    json!({"final_answer": answer, "final_reasoning_trace": trace})
}

/// A role that says the same as often as it is asked.
pub(crate) fn always(role: &str, reply: Json) -> ScriptBranch {
    ScriptBranch::tag("role", role).then_always(reply)
}

/// The replies of the acceptance list's first entry.
pub(crate) fn a1() -> Scene {
    Scene::new(&json!({}))
        .role("planner", [plan(&["r1", "r2"], &["e1"])])
        .role("critic", [approve(), approve(), approve(), approve()])
        .role("researcher", [found("a"), found("b")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
}

pub(crate) const A1_AGENTS: [&str; 9] = [
    "planner",
    "critic",
    "researcher",
    "critic",
    "researcher",
    "critic",
    "expert",
    "critic",
    "finalizer",
];
