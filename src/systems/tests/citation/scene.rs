//! A system that does nothing but write a cited report from given pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_citation::{
    CitationInput, CitationResult, CitationRun, CitationSettings, CitedSource, FoundPage,
    PageOrigin,
};
use antiphon_core::budget::Limits;
use antiphon_core::channel::Channel;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{END, START};
use antiphon_core::{Category, Fault, ModelRequest};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::ManualClock;
use antiphon_systems::citation::role::{PROMPTS, ROLES};
use antiphon_systems::citation::{CitesSources, ENTRY, add};
use antiphon_systems::state::{Field, Record, Set, SystemState, Worst};
use antiphon_systems::{
    Conclusion, FinishedRun, ModelTier, NodeContext, Outcome, Patch, PromptSpec, RoleModel,
    RoleSpec, Session, System, SystemBuilder, SystemConfig, SystemInput, SystemResources,
    SystemResourcesBuilder, SystemResult, SystemRunner,
};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

pub(crate) const TEA: &str =
    "Green tea steeps for two minutes at 80 °C, says the guild of growers in its handbook.";

pub(crate) struct Reporting {
    config: Config,
    resources: SystemResources,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Config {
    pub(crate) citation: CitationSettings,
}

impl SystemConfig for Config {
    const LABEL: &'static str = "reporting";

    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// What is asked, the pages that are known, and those that a search finds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Input {
    pub(crate) question: String,
    pub(crate) sources: Vec<CitedSource>,
    pub(crate) web: Vec<CitedSource>,
}

impl SystemInput for Input {
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    citation: CitationRun,
    citation_pages: BTreeMap<String, String>,
    citation_replies: BTreeMap<String, Json>,
    pub(crate) error: Option<Fault>,
}

impl SystemState for State {
    fn channels() -> Result<Vec<Channel<Json>>, Fault> {
        Ok(vec![
            Reporting::CITATION.channel(&CitationRun::default())?,
            Reporting::PAGES.channel(&BTreeMap::new())?,
            Reporting::REPLIES.channel(&BTreeMap::new())?,
            Reporting::ERROR.channel(&None)?,
        ])
    }
}

impl System for Reporting {
    const NAME: &'static str = "reporting";
    const DESCRIPTION: &'static str = "Writes a cited report.";
    const ROLES: &'static [RoleSpec] = &ROLES;
    const PROMPTS: &'static [PromptSpec] = &PROMPTS;

    type Config = Config;
    type Input = Input;
    type State = State;
    type Output = CitationResult;
    type RunData = ();

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        Ok(Self { config, resources })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn resources(&self) -> &SystemResources {
        &self.resources
    }

    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault> {
        graph.node("begin", begin).edge(START, "begin").edge("begin", ENTRY);
        add(graph, END, None)
    }

    fn open(&self, _: &Arc<Input>, _: &Session) {}

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<CitationResult> {
        let output = Self::run(&finished.state).result();
        let outcome = finished.ending.outcome().unwrap_or(Outcome::Answered);
        Conclusion { output, outcome, reason: None, error: finished.fault.take() }
    }
}

async fn begin(cx: NodeContext<Reporting>) -> Result<Patch<State>, Fault> {
    let Input { question, sources, .. } = cx.input().clone();
    let settings = cx.system().config.citation.clone();
    let observations = vec!["The guild knows.".to_owned()];
    let input =
        CitationInput { question, observations, sources, settings, ..CitationInput::default() };
    let mut patch = Patch::default();
    Reporting::keep_run(&cx.state, CitationRun::new(input), &mut patch);
    Ok(patch)
}

fn closed(what: &str) -> Fault {
    Fault::foreign(Category::Tool, "tool_failed", format!("it is closed: {what}"))
}

#[async_trait]
impl CitesSources for Reporting {
    const CITATION: Field<State, Set, CitationRun> = Field::new("citation");
    const PAGES: Field<State, Record, BTreeMap<String, String>> = Field::new("citation_pages");
    const REPLIES: Field<State, Record, BTreeMap<String, Json>> = Field::new("citation_replies");
    const ERROR: Field<State, Worst, Option<Fault>> = Field::new("error");

    fn citation(state: &State) -> &CitationRun {
        &state.citation
    }

    fn pages(state: &State) -> &BTreeMap<String, String> {
        &state.citation_pages
    }

    fn replies(state: &State) -> &BTreeMap<String, Json> {
        &state.citation_replies
    }

    async fn search(
        cx: &NodeContext<Self>,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FoundPage>, Fault> {
        let web = &cx.input().web;
        if web.is_empty() {
            return Err(closed(query));
        }
        let found = |source: &CitedSource| FoundPage {
            url: source.url.clone(),
            title: source.title.clone(),
            snippet: source.snippet.clone(),
        };
        Ok(web.iter().take(limit).map(found).collect())
    }

    async fn read_page(cx: &NodeContext<Self>, url: &str) -> Result<CitedSource, Fault> {
        let is_asked = |page: &&CitedSource| page.url == url && page.origin == PageOrigin::Fetched;
        let page = cx.input().web.iter().find(is_asked);
        page.cloned().ok_or_else(|| closed(url))
    }
}

/// A page that was fetched.
pub(crate) fn page(url: &str, text: &str) -> CitedSource {
    let (url, text, title) = (url.to_owned(), text.to_owned(), "A page".to_owned());
    CitedSource { url, title, text, origin: PageOrigin::Fetched, ..CitedSource::default() }
}

/// One report with everything scripted.
pub(crate) struct Scene {
    pub(crate) config: Config,
    pub(crate) input: Input,
    branches: Vec<ScriptBranch>,
    small: Option<&'static str>,
}

/// A report that is done, with the models that were asked for it.
pub(crate) struct ScriptedRun {
    pub(crate) result: SystemResult<CitationResult, State>,
    pub(crate) model: Arc<ScriptedModel>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let question = "How long does green tea steep?".to_owned();
        let sources = vec![page("https://guild.example/tea", TEA)];
        let input = Input { question, sources, web: Vec::new() };
        Self { config: Config::default(), input, branches: Vec::new(), small: None }
    }

    pub(crate) fn role<R: Into<ScriptedReply>>(
        mut self,
        role: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.branches.push(ScriptBranch::tag("role", role).replies(replies));
        self
    }

    /// Has a small model in a role.
    pub(crate) fn small(self, role: &'static str) -> Self {
        Self { small: Some(role), ..self }
    }

    pub(crate) fn extractor(self) -> Self {
        let span = json!({"quote": TEA, "relevance": 0.9});
        self.role("passage_extractor", [json!({"spans": [span]})])
    }

    pub(crate) async fn run(self) -> ScriptedRun {
        let always =
            ScriptedReply::fault(Fault::foreign(Category::Validation, "model_refused", "no"));
        let last = ScriptBranch::any().then_always(always);
        let model = ScriptedModel::new::<&str>([]);
        let model = self.branches.into_iter().chain([last]).fold(model, ScriptedModel::branch);
        let model = Arc::new(model);
        let resources = SystemResourcesBuilder::new().model(model.clone());
        let tier = Some(ModelTier::Small);
        let small = RoleModel { tier, ..RoleModel::new(model.clone()) };
        let resources =
            self.small.into_iter().fold(resources, |it, role| it.role(role, small.clone()));
        let system = SystemRunner::<Reporting>::new(self.config, resources).unwrap();
        let clock = Arc::new(ManualClock::default());
        let session = Session { run_id: "run".to_owned(), ..Session::new(clock) };
        let result = system.ask(self.input, session).await.unwrap();
        ScriptedRun { result, model }
    }
}

impl ScriptedRun {
    pub(crate) fn report(&self) -> &str {
        assert_eq!(self.result.outcome, Outcome::Answered, "{:?}", self.result.error);
        let output = &self.result.output;
        assert!(output.audit.is_clean(), "{}\n{:?}", output.report, output.audit);
        assert!(output.is_finished);
        &output.report
    }

    /// The events with that name.
    pub(crate) fn notes(&self, name: &str) -> Vec<Json> {
        let notes = self.result.events.iter().filter(|event| event.kind == EventKind::Custom);
        let notes = notes.filter(|event| &*event.name == name);
        notes.map(|event| event.data.to_json()).collect()
    }

    /// What the models of a role were asked.
    pub(crate) fn requests(&self, role: &str) -> Vec<ModelRequest> {
        let mut requests = self.model.requests();
        requests.retain(|request| request.tags.get("role").is_some_and(|known| known == role));
        requests
    }
}
