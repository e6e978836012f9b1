//! What is approved is what is called, to the byte: after repair, conversion and defaults.

use std::sync::{Arc, Mutex};

use antiphon_core::agent::AgentSpec;
use antiphon_core::approval::{Approval, HostVerdict};
use antiphon_core::graph::{END, NodePolicy, START};
use antiphon_core::{Fault, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Driver, Tool};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::support::script::{Script, calls, says};
use crate::support::tools::declared;
use crate::support::{TestHost, agent, clock, graph, run};

/// Notes what it is asked to approve, and what it is called with.
struct Pay {
    spec: ToolSpec,
    seen: Mutex<Vec<String>>,
}

impl Pay {
    fn new() -> Arc<Self> {
        let parameters = json!({
            "type": "object",
            "properties": {
                "cents": {"type": "integer"},
                "to": {"type": "string"},
                "currency": {"enum": ["EUR", "CHF"], "default": "EUR"},
                "urgent": {"type": "boolean", "default": false},
                "notes": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["cents", "to"],
            "additionalProperties": false,
        });
        let spec = ToolSpec::new("pay", "Pays.", parameters);
        let spec = ToolSpec { approval: Approval::Host, ..spec };
        Arc::new(Self { spec, seen: Mutex::default() })
    }
}

#[async_trait]
impl Tool for Pay {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Json, _: &CallContext) -> Result<HostVerdict, Fault> {
        self.seen.lock().unwrap().push(arguments.to_string());
        Ok(HostVerdict::Approve)
    }

    async fn call(&self, arguments: Json, _: &CallContext) -> ToolOutcome {
        self.seen.lock().unwrap().push(arguments.to_string());
        Ok(Json::Null)
    }
}

#[tokio::test]
async fn the_approver_sees_the_arguments_that_the_tool_gets() {
    for written in [
        r#"{"cents": 1200, "to": "Ada"}"#,
        r#"{"cents": "1200", "to": "Ada", "urgent": true}"#,
        r#"{"to": "Ada", "cents": 1200.0, "notes": "one"}"#,
        "```json\n{\"cents\": 1200, \"to\": \"p\\u0430y\", }\n```",
        r#"{"cents": 9007199254740993, "to": "\u202e\u0000"}"#,
    ] {
        let clock = clock();
        let pay = Pay::new();
        let spec = AgentSpec { tools: vec![declared(&pay)], ..AgentSpec::default() };
        let mut graph = graph();
        agent(&mut graph, "a", spec, NodePolicy::default());
        graph.edge(START, "a").edge("a", END);
        let graph = graph.build().unwrap();
        let script = Script::new([calls("pay", written), says("done")]);
        let host = TestHost::default().model(script).tool("pay", Arc::<Pay>::clone(&pay));
        let mut run = run(&graph, &clock);
        Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
        let seen = pay.seen.lock().unwrap();
        assert_eq!(seen.len(), 2, "{written}: {seen:?}");
        assert_eq!(seen[0], seen[1], "{written}");
        assert!(seen[0].contains(r#""currency":"EUR""#), "with defaults: {seen:?}");
    }
}
