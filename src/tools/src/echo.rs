//! Tiny tools for tests of what holds for all tools: one that answers, and some that do not.

use std::sync::Arc;

use antiphon_core::breaker::BreakerPolicy;
use antiphon_core::{
    Category, Content, ContentPart, Fault, FaultCode, Media, SideEffect, ToolOutcome,
};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

/// The family `echo`.
#[derive(Debug)]
pub struct EchoTools;

/// The settings of [`EchoTools`].
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EchoSettings {
    /// What comes before each text.
    pub prefix: String,
}

impl ToolFamily for EchoTools {
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Tools for tests.";
    type Settings = EchoSettings;

    fn open(settings: EchoSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let echo = Echo { prefix: settings.prefix };
        let pure = SideEffect::None;
        Ok(vec![
            Arc::new(TypedTool::new("echo", "Repeats a text.", pure, echo)),
            Arc::new(TypedTool::new("hang", "Never answers.", SideEffect::Read, Hang)),
            Arc::new(
                TypedTool::new("fail", "Fails as it is told to.", SideEffect::Read, Fail)
                    .max_concurrency(4)
                    .breaker(BreakerPolicy { failures: 50, ..BreakerPolicy::default() }),
            ),
            Arc::new(TypedTool::new("plot", "Answers with an image.", pure, Plot)),
            Arc::new(TypedTool::new("about_call", "Tells about its call.", pure, AboutCall)),
        ])
    }
}

/// The arguments of `echo`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoText {
    /// The text.
    text: String,
    /// How often.
    #[serde(default = "one")]
    times: usize,
}

const fn one() -> usize {
    1
}

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

/// The arguments of `fail`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailKind {
    /// `refused`: a fault of the tool; `lost`: one of the transport; `payload`: a result that is an
    /// error; `panic`: a panic.
    kind: String,
}

struct Echo {
    prefix: String,
}

#[async_trait]
impl ToolFunction for Echo {
    type Arguments = EchoText;

    async fn call(&self, given: EchoText, _cx: &CallContext) -> ToolOutcome {
        Ok(format!("{}{}", self.prefix, given.text.repeat(given.times)).into())
    }
}

struct Hang;

#[async_trait]
impl ToolFunction for Hang {
    type Arguments = NoArguments;

    async fn call(&self, _given: NoArguments, _cx: &CallContext) -> ToolOutcome {
        std::future::pending().await
    }
}

struct Fail;

#[async_trait]
impl ToolFunction for Fail {
    type Arguments = FailKind;

    #[expect(clippy::panic, reason = "the test of a panic")]
    async fn call(&self, given: FailKind, _cx: &CallContext) -> ToolOutcome {
        match given.kind.as_str() {
            "lost" => {
                let message = "the connection was lost";
                Err(Fault::foreign(Category::ToolTransport, "lost", message))
            }
            "payload" => Ok(json!({"error": "the archive is closed"})),
            "panic" => panic!("fell over"),
            _ => Err(Fault::new(FaultCode::ToolFailed, "the archive is closed")),
        }
    }
}

struct Plot;

#[async_trait]
impl ToolFunction for Plot {
    type Arguments = NoArguments;

    async fn call(&self, _given: NoArguments, _cx: &CallContext) -> ToolOutcome {
        let image = ContentPart::Image(Media::base64("image/png", "iVBORw0KGgo="));
        let rows = vec![vec!["Lyon".into(), 520_774.into()]];
        let table = ContentPart::table(&["city".to_owned(), "people".to_owned()], &rows, 1);
        Ok(Content::from(vec![ContentPart::text("a plot"), table, image]).into_result())
    }
}

struct AboutCall;

#[async_trait]
impl ToolFunction for AboutCall {
    type Arguments = NoArguments;

    async fn call(&self, _given: NoArguments, cx: &CallContext) -> ToolOutcome {
        Ok(json!({
            "call_id": cx.call_id,
            "has_deadline": cx.deadline.is_some(),
            "idempotency_key": cx.idempotency_key,
        }))
    }
}
