//! What an agent delivers: parsed, asked for again, or refused.

use std::sync::Arc;

use antiphon_core::SideEffect::Read;
use antiphon_core::agent::AgentSpec;
use antiphon_core::channel::ChannelId;
use antiphon_core::event::EventKind;
use antiphon_core::model::{FinishReason, ModelReply};
use antiphon_core::{Category, Content, ContentPart, FaultCode, Media, Role, Schema};
use antiphon_reply::CompiledSchema;
use serde_json::json;

use super::model::{agent, asks, graph, requests, says, script, tool, with};
use crate::support::driver;

fn typed(spec: AgentSpec) -> AgentSpec {
    let schema = json!({
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
    });
    let shape = CompiledSchema::compile(&Schema::new("answer", schema)).unwrap();
    AgentSpec { output: Some(Arc::new(shape)), ..spec }
}

#[test]
fn a_reply_that_fits_is_the_value() {
    let mut driver = agent(typed(AgentSpec::default()), vec![says(r#"{"count": 3}"#)]);
    assert_eq!(driver.complete()["value"], json!({"count": 3}));
    assert!(driver.of_kind(EventKind::OutputRepaired).is_empty());
}

/// EN-04 of `docs/engine.md`.
#[test]
fn a_reply_in_a_fence_needs_no_second_question_and_the_trace_shows_it() {
    let fenced = "Here it is:\n```json\n{\"count\": \"3\"}\n```\nBye.";
    let mut driver = agent(typed(AgentSpec::default()), vec![says(fenced)]);
    let state = driver.complete();
    assert_eq!((&state["value"], &state["turns"]), (&json!({"count": 3}), &json!(1)));
    let repaired = driver.of_kind(EventKind::OutputRepaired);
    assert_eq!(repaired[0].data["level"], "fenced");
    assert_eq!(repaired[0].data["coerced"], json!(["/count"]));
}

/// EN-06 of `docs/engine.md`.
#[test]
fn a_reply_that_does_not_fit_is_asked_for_once_more_with_the_place() {
    let replies = vec![says(r#"{"count": []}"#), says(r#"{"count": 4}"#)];
    let mut driver = agent(typed(AgentSpec::default()), replies);
    assert_eq!(driver.complete()["value"], json!({"count": 4}));
    let asked = requests(&driver);
    let last = asked[1].messages.last().unwrap();
    assert_eq!(last.role, Role::User);
    assert!(last.content.text().contains("/count"), "{}", last.content);
    assert_eq!(asked[1].messages[2].content, r#"{"count": []}"#, "with the reply in question");
}

/// EN-06 of `docs/engine.md`.
#[test]
fn a_second_reply_that_does_not_fit_is_the_nodes_failure() {
    let mut graph = graph(typed(AgentSpec::default()));
    graph.on_error_record("agent", ChannelId(4));
    let script = script(vec![says("no"), says("still no")], |_| panic!("it has no tools"));
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(driver.complete()["error"]["category"], "model_output");
    assert_eq!(requests(&driver).len(), 2);
}

/// EN-07 of `docs/engine.md`.
#[test]
fn without_second_questions_the_first_reply_decides() {
    let spec = AgentSpec { max_reasks: 0, ..AgentSpec::default() };
    let mut driver = agent(typed(spec), vec![says("no")]);
    assert_eq!(driver.fails().category, Category::ModelOutput);
    assert_eq!(requests(&driver).len(), 1);
}

#[test]
fn a_first_reply_while_tools_are_on_offer_does_not_count_as_a_second_question() {
    let spec = AgentSpec { max_reasks: 0, ..with(vec![tool("one", Read)]) };
    let mut driver = agent(typed(spec), vec![says("three"), says(r#"{"count": 3}"#)]);
    assert_eq!(driver.complete()["value"], json!({"count": 3}));
    let asked = requests(&driver);
    assert!(asked[0].schema.is_none() && asked[1].schema.is_some() && asked[1].tools.is_empty());
}

#[test]
fn an_empty_text_is_asked_for_once_more() {
    let mut driver = agent(AgentSpec::default(), vec![says(" \n"), says("now")]);
    assert_eq!(driver.complete()["text"], "now");
    let mut driver = agent(AgentSpec::default(), vec![says("")]);
    assert_eq!(driver.fails().code, "model_reply_empty");
    assert_eq!(requests(&driver).len(), 2);
}

#[test]
fn a_reply_that_a_filter_stopped_is_a_failure() {
    let stopped = ModelReply { finish: FinishReason::ContentFilter, ..says("I") };
    let mut driver = agent(AgentSpec::default(), vec![stopped]);
    let fault = driver.fails();
    assert_eq!(fault.code, FaultCode::ModelRefused);
}

#[test]
fn the_last_turn_is_made_without_tools_and_then_it_is_over() {
    let spec = AgentSpec { max_model_calls: 3, ..with(vec![tool("one", Read)]) };
    let mut driver = agent(spec.clone(), vec![asks(&["one"]), asks(&["one"]), says("done")]);
    assert_eq!(driver.complete()["turns"], 3);
    assert!(requests(&driver)[2].tools.is_empty());
    let mut stubborn = agent(spec, vec![asks(&["one"])]);
    let fault = stubborn.fails();
    assert_eq!(fault.code, "model_calls_exhausted", "a last reply with nothing but calls");
    assert_eq!(requests(&stubborn).len(), 3);
}

/// A model may answer with an image alone.
#[test]
fn an_image_is_a_reply_and_a_part_of_the_message() {
    let pixel = ContentPart::Image(Media::base64("image/png", "iVBORw0KGgo="));
    let drawn = |text: &str| ModelReply { media: vec![pixel.clone()], ..says(text) };
    for (text, parts) in
        [("", vec![pixel.clone()]), ("Here.", vec![ContentPart::text("Here."), pixel.clone()])]
    {
        let mut driver = agent(AgentSpec::default(), vec![drawn(text)]);
        let state = driver.complete();
        assert_eq!(state["turns"], json!(1), "it is not asked again");
        let replied = driver.of_kind(EventKind::ModelReply);
        assert_eq!(replied[0].data["media"][0]["bytes"], 8);
        assert_eq!(replied[0].data["media"][0].get("base64"), None);
        assert_eq!(drawn(text).content(), Content::Parts(parts));
    }
}
