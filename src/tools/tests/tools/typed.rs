//! A tool made of a type and a function.

use std::sync::Arc;

use antiphon_core::{SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::{ToolFunction, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Sides {
    /// In metres.
    width: f64,
    /// In metres.
    height: f64,
}

struct Area;

#[async_trait::async_trait]
impl ToolFunction for Area {
    type Arguments = Sides;

    async fn call(&self, sides: Sides, _cx: &CallContext) -> ToolOutcome {
        Ok((sides.width * sides.height).into())
    }
}

fn area() -> TypedTool<Area> {
    TypedTool::new("area", "Area of a rectangle.", SideEffect::None, Area)
}

fn context() -> CallContext {
    CallContext::new(Arc::new(ManualClock::default()))
}

#[test]
fn the_schema_describes_the_arguments_and_not_the_rust_type() {
    let number = json!({"description": "In metres.", "type": "number", "format": "double"});
    assert_eq!(
        area().spec().parameters,
        json!({
            "type": "object",
            "properties": {"width": number, "height": number},
            "required": ["width", "height"],
        })
    );
}

#[tokio::test]
async fn arguments_are_read_by_their_type() {
    let outcome = area().call(json!({"width": 2, "height": 1.5}), &context()).await;
    assert_eq!(outcome.unwrap(), json!(3.0));
}

#[tokio::test]
async fn an_argument_that_does_not_fit_names_the_tool() {
    let fault = area().call(json!({"width": "two", "height": 1}), &context()).await.unwrap_err();
    assert_eq!(fault.code, "invalid_value");
    assert!(fault.message.starts_with("the arguments of `area` do not fit: "), "{fault}");
}
