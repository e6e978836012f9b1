//! An agent in its own graph, with a scripted model and scripted tools.

use std::sync::Arc;

use antiphon_core::agent::{AgentSpec, AgentTool};
use antiphon_core::channel::Reducer;
use antiphon_core::graph::{Graph, GraphBuilder, Node, NodePolicy, NodeWork, START};
use antiphon_core::model::{FinishReason, ModelReply};
use antiphon_core::task::{TaskOutcome, TaskWork, ToolInvocation};
use antiphon_core::tool::ToolOutcome;
use antiphon_core::{Message, ModelRequest, Role, Schema, SideEffect, ToolCall, ToolSpec};
use antiphon_reply::CompiledSchema;
use serde_json::{Value, json};

use crate::support::{Call, Script, TestDriver, driver, reply};

/// The node `agent`; it writes what it concludes to `text`, `value`, `uses`
/// and `turns`.
pub(crate) fn graph(spec: AgentSpec) -> GraphBuilder<Value> {
    let mut graph = Graph::builder("agent");
    for key in ["text", "value", "uses", "turns", "error"] {
        graph.channel(key, Reducer::Set);
    }
    graph.add_node(Node {
        name: "agent".into(),
        work: NodeWork::Agent(Arc::new(spec)),
        policy: NodePolicy::default(),
    });
    graph.edge(START, "agent");
    graph
}

/// The model says the replies in turn, the last for ever; a tool answers by `tool`.
pub(crate) fn script(
    replies: Vec<ModelReply>,
    tool: impl Fn(&ToolInvocation) -> ToolOutcome + Send + Sync + 'static,
) -> Script {
    Script::new().node("agent", move |call: &mut Call<'_>| match &call.task.work {
        TaskWork::Open(_) => {
            TaskOutcome::Opened(vec![Message::system("be brief"), Message::user("go")])
        }
        TaskWork::Model(request) => {
            let said = request.messages.iter().filter(|message| message.role == Role::Assistant);
            let turn = said.count().min(replies.len() - 1);
            TaskOutcome::Replied(Box::new(replies[turn].clone()))
        }
        TaskWork::Tool(invocation) => TaskOutcome::Returned(tool(invocation)),
        TaskWork::Close(conclusion) => {
            let uses = conclusion.tool_uses.iter().map(|used| json!([used.name, used.ok]));
            call.done([
                ("text", json!(conclusion.text)),
                ("value", json!(conclusion.value)),
                ("uses", uses.collect()),
                ("turns", json!(conclusion.turns)),
            ])
        }
        TaskWork::Approve(_) | TaskWork::Node(_) => panic!("it is asked nothing of the kind"),
    })
}

/// Each tool answers with its own name.
pub(crate) fn agent(spec: AgentSpec, replies: Vec<ModelReply>) -> TestDriver {
    let graph = graph(spec).build().unwrap();
    driver(&graph, script(replies, |invocation| Ok(json!(invocation.call.name))))
}

/// A tool that takes a `city`.
pub(crate) fn tool(name: &str, side_effect: SideEffect) -> AgentTool {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    });
    let arguments = CompiledSchema::compile(&Schema::new(name, parameters.clone())).unwrap();
    let spec = ToolSpec { side_effect, ..ToolSpec::new(name, "says its name", parameters) };
    AgentTool { spec, arguments: Arc::new(arguments) }
}

pub(crate) fn with(tools: Vec<AgentTool>) -> AgentSpec {
    AgentSpec { tools, ..AgentSpec::default() }
}

/// The model asks for tools, by name, each for Lyon.
pub(crate) fn asks(names: &[&str]) -> ModelReply {
    let calls = names.iter().enumerate();
    let calls: Vec<_> =
        calls.map(|(place, name)| call(place, name, r#"{"city": "Lyon"}"#)).collect();
    ModelReply { tool_calls: calls, finish: FinishReason::ToolCalls, ..reply("") }
}

pub(crate) fn call(place: usize, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: format!("call {place}"), name: name.into(), arguments: arguments.into() }
}

pub(crate) fn says(text: &str) -> ModelReply {
    reply(text)
}

/// What the model was asked, in order.
pub(crate) fn requests(driver: &TestDriver) -> Vec<ModelRequest> {
    let works = driver.tasks.iter().map(|task| &task.work);
    let asked = works.filter_map(|work| match work {
        TaskWork::Model(request) => Some(ModelRequest::clone(request)),
        _ => None,
    });
    asked.collect()
}

/// The tools that were called, in order.
pub(crate) fn invocations(driver: &TestDriver) -> Vec<ToolInvocation> {
    let works = driver.tasks.iter().map(|task| &task.work);
    let called = works.filter_map(|work| match work {
        TaskWork::Tool(invocation) => Some(ToolInvocation::clone(invocation)),
        _ => None,
    });
    called.collect()
}

/// What the model got to read of its tools, in order.
pub(crate) fn results(request: &ModelRequest) -> Vec<String> {
    let tools = request.messages.iter().filter(|message| message.role == Role::Tool);
    tools.map(|message| message.content.to_string()).collect()
}
