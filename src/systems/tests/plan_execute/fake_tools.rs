//! What the tests share: native tools without their work, and plans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::{SideEffect, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool};
use antiphon_systems::plan_execute::{Capabilities, CheckedPlan, ExecutionOrder, validation};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

type Answer = Box<dyn Fn(&Json) -> ToolOutcome + Send + Sync>;

/// A tool that answers as it is told, after a delay of the clock, and notes what it is asked.
pub(crate) struct FakeTool {
    pub(crate) spec: ToolSpec,
    pub(crate) delay: Box<dyn Fn(&Json) -> Duration + Send + Sync>,
    /// Who is told of a call that takes time.
    pub(crate) heard: Option<Arc<Notify>>,
    answer: Answer,
    calls: Mutex<Vec<Json>>,
}

impl FakeTool {
    pub(crate) fn new(
        name: &str,
        answer: impl Fn(&Json) -> ToolOutcome + Send + Sync + 'static,
    ) -> Self {
        let mut spec = ToolSpec::new(name, format!("Does {name}."), json!({"type": "object"}));
        spec.side_effect = SideEffect::Read;
        let delay = Box::new(|_: &Json| Duration::ZERO);
        Self { spec, delay, heard: None, answer: Box::new(answer), calls: Mutex::default() }
    }

    /// What it was called with, in order.
    pub(crate) fn calls(&self) -> Vec<Json> {
        self.calls.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        self.calls.lock().unwrap().push(arguments.clone());
        let delay = (self.delay)(&arguments);
        if !delay.is_zero() {
            self.heard.iter().for_each(|heard| heard.notify_one());
            cx.clock.sleep(delay).await;
        }
        (self.answer)(&arguments)
    }
}

/// A tool that returns the same each time.
pub(crate) fn returns(name: &str, value: &Json) -> Arc<FakeTool> {
    let value = value.clone();
    Arc::new(FakeTool::new(name, move |_| Ok(value.clone())))
}

/// All native tools that plans can use.
pub(crate) fn capabilities() -> Capabilities {
    let names = [
        "web_search",
        "read_page",
        "search_documents",
        "read_document",
        "calculate",
        "write_file",
        "append_file",
        "read_file",
        "list_files",
        "write_pdf",
        "download",
    ];
    let tools: Vec<Arc<dyn Tool>> =
        names.iter().map(|name| returns(name, &json!("done")) as Arc<dyn Tool>).collect();
    Capabilities::of(&tools, &BTreeMap::new()).unwrap()
}

/// A step of a plan.
pub(crate) fn step(id: &str, role: &str, tool: &str, input: &Json) -> Json {
    json!({
        "stepId": id, "assigned_agent_role": role, "tool_name": tool, "sub_task_input": input,
        "narrative_step": format!("do {id}"),
    })
}

pub(crate) fn search(id: &str, query: &str) -> Json {
    step(id, "ResearchAgent", "WebSearchTool", &json!({"query": query}))
}

pub(crate) fn read(id: &str, url: &str) -> Json {
    step(id, "ResearchAgent", "ReadWebpageTool", &json!({"url": url}))
}

pub(crate) fn write(id: &str, prompt: &str) -> Json {
    step(id, "Orchestrator", "LLMStepExecutor", &json!({"prompt": prompt}))
}

pub(crate) fn check(plan: &Json) -> CheckedPlan {
    validation::check(plan, &capabilities(), &BTreeSet::new(), ExecutionOrder::Stages)
}

/// What is wrong in a plan.
pub(crate) fn wrong(plan: &Json) -> Vec<String> {
    check(plan).violations.iter().map(ToString::to_string).collect()
}
