//! What the tests share: a script for each role, a search and pages in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::event::{Event, EventKind};
use antiphon_core::graph::NodePolicy;
use antiphon_core::{Category, Fault, ModelReply, ModelRequest, SideEffect, ToolOutcome, ToolSpec};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::{CallContext, Clock, ManualClock, Model, ReplyChunk, Tool, Watcher};
use antiphon_systems::deep_research::{
    Config, DeepResearch, ResearchReport, ResearchRequest, State,
};
use antiphon_systems::{RoleModel, Session, SystemResourcesBuilder, SystemResult, SystemRunner};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::documented_events::DocumentedEvents;

/// The pages that there are, by address, and how long they take.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) pages: BTreeMap<String, String>,
    /// How long a search takes.
    pub(crate) search_delay: Duration,
    /// How long a page takes.
    pub(crate) page_delay: Duration,
    /// Whether pages cannot be read.
    pub(crate) is_unreadable: bool,
    /// Whether nothing can be searched.
    pub(crate) is_down: bool,
    pub(crate) calls: Mutex<Vec<String>>,
}

impl Library {
    /// Pages about topics: a search finds those whose text has a word of the query.
    pub(crate) fn of(pages: &[(&str, &str)]) -> Self {
        let pages = pages.iter().map(|(url, text)| ((*url).to_owned(), (*text).to_owned()));
        Self { pages: pages.collect(), ..Self::default() }
    }

    /// Tea, with pages long enough to be good.
    pub(crate) fn tea() -> Self {
        let green = "Green tea steeps for two minutes at 80 degrees. ".repeat(30);
        let black = "Black tea steeps for four minutes in boiling water. ".repeat(30);
        let white = "White tea steeps for three minutes at 75 degrees. ".repeat(30);
        Self::of(&[
            ("https://black.example/tea", &black),
            ("https://green.example/tea", &green),
            ("https://white.example/tea", &white),
        ])
    }

    pub(crate) fn called(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    fn search(&self, query: &str, most: usize) -> Json {
        let query = query.to_lowercase();
        let fits = |text: &&String| {
            let text = text.to_lowercase();
            query.split_whitespace().any(|word| text.contains(word))
        };
        let found = self.pages.iter().filter(|(_, text)| fits(text)).take(most);
        let shown = |(url, text): (&String, &String)| {
            let part = |most| text.chars().take(most).collect::<String>();
            json!({"url": url, "title": format!("About {}", part(5)), "snippet": part(60)})
        };
        json!({"results": found.map(shown).collect::<Vec<_>>()})
    }
}

struct LibraryTool {
    spec: ToolSpec,
    library: Arc<Library>,
}

impl LibraryTool {
    fn open(name: &str, field: &str, library: &Arc<Library>) -> Arc<dyn Tool> {
        let parameters = json!({
            "type": "object",
            "properties": {field: {"type": "string"}, "limit": {"type": "integer"}},
            "required": [field],
        });
        let mut spec = ToolSpec::new(name, "For tests.", parameters);
        spec.side_effect = SideEffect::Read;
        Arc::new(Self { spec, library: Arc::clone(library) })
    }
}

#[async_trait]
impl Tool for LibraryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let Library { search_delay, page_delay, is_unreadable, is_down, .. } = *self.library;
        let failed = |message: &str| Err(Fault::foreign(Category::Tool, "tool_failed", message));
        let text = |name: &str| arguments.get(name).and_then(Json::as_str).map(str::to_owned);
        if let Some(query) = text("query") {
            self.library.calls.lock().unwrap().push(format!("search {query}"));
            if !search_delay.is_zero() {
                cx.clock.sleep(search_delay).await;
            }
            if is_down {
                return failed("the search is down");
            }
            let most = arguments["limit"].as_u64().unwrap();
            return Ok(self.library.search(&query, usize::try_from(most).unwrap()));
        }
        let url = text("url").unwrap();
        self.library.calls.lock().unwrap().push(format!("read {url}"));
        if !page_delay.is_zero() {
            cx.clock.sleep(page_delay).await;
        }
        match self.library.pages.get(&url).filter(|_| !is_unreadable) {
            Some(text) => Ok(json!({"url": url, "title": "", "text": text})),
            None => failed("the page is not there"),
        }
    }
}

/// A model that shows the beginning of the reply of one role before it asks its script.
struct CutOffModel {
    script: Arc<ScriptedModel>,
    role: &'static str,
    beginning: &'static str,
}

#[async_trait]
impl Model for CutOffModel {
    fn name(&self) -> &str {
        self.script.name()
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        if request.tags["role"] == self.role {
            for piece in self.beginning.split_inclusive(' ') {
                cx.emit(ReplyChunk::Text(piece.to_owned()));
            }
        }
        self.script.call(request, cx).await
    }
}

/// Somebody who watches replies while they are written.
#[derive(Default)]
pub(crate) struct ChunkWatcher(Mutex<String>);

impl ChunkWatcher {
    /// Whether the last pieces are those of this text.
    pub(crate) fn has_seen(&self, text: &str) -> bool {
        self.0.lock().unwrap().ends_with(text)
    }
}

impl Watcher for ChunkWatcher {
    fn see(&self, event: &Arc<Event>) {
        if event.kind == EventKind::Chunk {
            self.0.lock().unwrap().push_str(event.data["text"].as_str().unwrap());
        }
    }
}

/// One question with everything scripted.
pub(crate) struct Scene {
    pub(crate) config: Config,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) library: Arc<Library>,
    branches: Vec<ScriptBranch>,
    pub(crate) shown: Option<(&'static str, &'static str)>,
    pub(crate) onlooker: Arc<ChunkWatcher>,
    /// What a second tool searches, if there is one.
    pub(crate) second: Option<Arc<Library>>,
    /// A role with a time-out of its own.
    pub(crate) timeout: Option<(&'static str, Duration)>,
    /// The name of the model, which tells its tier.
    pub(crate) model_name: &'static str,
}

/// A run that has ended, with what it asked.
pub(crate) struct ScriptedRun {
    pub(crate) result: SystemResult<ResearchReport, State>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) library: Arc<Library>,
}

/// A question whose report is not verified.
pub(crate) fn unverified(question: &str) -> ResearchRequest {
    ResearchRequest { verify_sources: Some(false), ..question.into() }
}

/// A classification of the coordinator.
pub(crate) fn moderate() -> Json {
    json!({"is_simple_query": false, "complexity": "moderate"})
}

/// A plan of steps that search.
pub(crate) fn plan(titles: &[&str]) -> Json {
    let steps: Vec<Json> = titles.iter().map(|title| json!({"title": title})).collect();
    json!({"title": "tea", "thought": "one by one", "steps": steps})
}

pub(crate) fn decision(decision: &str) -> Json {
    json!({"decision": decision, "reasoning": format!("to {decision}")})
}

pub(crate) fn search(query: &str) -> Json {
    json!({"calls": [{"tool": "web_search", "query": query}]})
}

pub(crate) fn crawl(indices: &[usize]) -> Json {
    let call = |index: &usize| json!({"tool": "web_crawl", "index": index});
    json!({"calls": indices.iter().map(call).collect::<Vec<_>>()})
}

/// An observation that is long enough.
pub(crate) fn observed(text: &str) -> Json {
    json!({"calls": [], "observation": format!("{text} [1] {}", "and so on ".repeat(20))})
}

pub(crate) fn report(text: &str) -> Json {
    json!({"report": text})
}

impl Scene {
    pub(crate) fn new(settings: &Json) -> Self {
        Self::with(settings, Library::tea())
    }

    pub(crate) fn with(settings: &Json, library: Library) -> Self {
        Self {
            config: Config::from_json(settings).unwrap(),
            clock: Arc::new(ManualClock::default()),
            library: Arc::new(library),
            branches: Vec::new(),
            shown: None,
            second: None,
            timeout: None,
            model_name: "test:scripted",
            onlooker: Arc::default(),
        }
    }

    /// What the role shows of its reply before the script replies.
    pub(crate) fn showing(mut self, role: &'static str, beginning: &'static str) -> Self {
        self.shown = Some((role, beginning));
        self
    }

    /// The replies of a role, in order.
    pub(crate) fn role<R: Into<ScriptedReply>>(
        mut self,
        role: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.branches.push(ScriptBranch::tag("role", role).replies(replies));
        self
    }

    /// A role that always replies the same.
    pub(crate) fn always(mut self, role: &str, reply: impl Into<ScriptedReply>) -> Self {
        self.branches.push(ScriptBranch::tag("role", role).then_always(reply));
        self
    }

    /// The system and the script of its model.
    pub(crate) fn system(&mut self) -> (SystemRunner<DeepResearch>, Arc<ScriptedModel>) {
        let model = ScriptedModel::new::<&str>([]).named(self.model_name);
        let model = Arc::new(self.branches.drain(..).fold(model, ScriptedModel::branch));
        let mut tools = vec![
            LibraryTool::open("web_search", "query", &self.library),
            LibraryTool::open("read_page", "url", &self.library),
        ];
        let second = self.second.iter();
        tools.extend(second.map(|second| LibraryTool::open("other_search", "query", second)));
        let asked: Arc<dyn Model> = match self.shown {
            Some((role, beginning)) => {
                Arc::new(CutOffModel { script: model.clone(), role, beginning })
            }
            None => model.clone(),
        };
        let mut resources =
            SystemResourcesBuilder::new().model(asked.clone()).tools("deep_research", tools);
        if let Some((role, timeout)) = self.timeout {
            let policy = NodePolicy { timeout: Some(timeout), ..NodePolicy::default() };
            resources = resources.role(role, RoleModel { policy, ..RoleModel::new(asked) });
        }
        (SystemRunner::new(self.config.clone(), resources).unwrap(), model)
    }

    pub(crate) fn session(&self) -> Session {
        Session { run_id: "run".to_owned(), ..Session::new(self.clock.clone()) }
    }

    /// As [`Scene::session`], with somebody who watches replies while they are written.
    pub(crate) fn watched(&self) -> Session {
        Session { watchers: vec![self.onlooker.clone()], ..self.session() }
    }

    /// Asks, and moves the time whenever nothing else can go on.
    pub(crate) async fn ask(mut self, input: impl Into<ResearchRequest>) -> ScriptedRun {
        let (system, model) = self.system();
        let mut input: ResearchRequest = input.into();
        input.verify_sources = input.verify_sources.or(Some(false));
        let session = if self.shown.is_some() { self.watched() } else { self.session() };
        let asked = Box::pin(system.ask(input, session));
        let result = in_time(&self.clock, asked).await.unwrap();
        let told = result.events.iter().filter(|event| event.kind == EventKind::Custom);
        let told: Vec<_> = told.map(|event| (event.name.clone(), event.data.to_json())).collect();
        let pages = concat!(
            include_str!("../../../../docs/systems/deep-research.md"),
            include_str!("../../../../docs/systems/citation.md"),
        );
        DocumentedEvents::of(pages).check(told.iter().map(|(name, data)| (&**name, data)));
        ScriptedRun { result, model, library: self.library }
    }
}

/// Waits for something, and moves the time whenever nothing else can go on.
pub(crate) async fn in_time<T>(clock: &ManualClock, work: impl Future<Output = T>) -> T {
    const TURNS: usize = 200;
    let time = async {
        loop {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            if let Some(at) = clock.next_wake() {
                clock.advance(at.since(clock.now()));
            }
        }
    };
    tokio::select! {
        biased;
        done = work => done,
        () = time => unreachable!("time does not end"),
    }
}

impl ScriptedRun {
    /// The events of the system with that name.
    pub(crate) fn notes(&self, name: &str) -> Vec<Json> {
        let notes = self.result.events.iter().filter(|event| event.kind == EventKind::Custom);
        let notes = notes.filter(|event| &*event.name == name);
        notes.map(|event| event.data.to_json()).collect()
    }

    /// The roles that were asked, in order.
    pub(crate) fn roles(&self) -> Vec<String> {
        self.model.requests().iter().map(|request| request.tags["role"].clone()).collect()
    }

    /// What a role was asked, in order.
    pub(crate) fn requests(&self, role: &str) -> Vec<ModelRequest> {
        let mut requests = self.model.requests();
        requests.retain(|request| request.tags["role"] == role);
        requests
    }

    /// What a role read the last time.
    pub(crate) fn read_by(&self, role: &str) -> String {
        self.requests(role).pop().unwrap().messages.last().unwrap().content.to_string()
    }

    /// The codes of what went wrong.
    pub(crate) fn errors(&self) -> Vec<&str> {
        self.result.output.errors.iter().map(|error| error.error_code.as_str()).collect()
    }

    /// The seconds that the question took.
    pub(crate) fn seconds(&self) -> f64 {
        let done = self.notes("research_completed").pop().unwrap();
        done["total_duration_ms"].as_f64().unwrap() / 1_000.0
    }
}
