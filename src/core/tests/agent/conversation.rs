//! The order of a conversation, and which calls are made side by side.

use antiphon_core::Role::{Assistant, System, Tool, User};
use antiphon_core::SideEffect::{External, None as Pure, Read, Write};
use antiphon_core::ToolSpec;
use antiphon_core::agent::AgentSpec;
use antiphon_core::effect::Effect;
use antiphon_core::event::EventKind;
use antiphon_core::event::content::{MAX_TEXT, MAX_TEXTS};
use antiphon_core::model::ModelReply;
use antiphon_core::task::TaskWork;
use serde_json::json;

use super::model::{agent, asks, invocations, requests, results, says, tool, with};
use crate::support::Finish;

#[test]
fn messages_come_in_the_order_of_the_requests_in_any_order_of_answers() {
    let tools = vec![tool("one", Read), tool("two", Pure), tool("three", Read)];
    let mut driver = agent(with(tools), vec![asks(&["two", "one", "three"]), says("done")]);
    driver.finish = Finish::Backwards;
    assert_eq!(driver.complete()["text"], "done");
    let asked = requests(&driver);
    let roles: Vec<_> = asked[1].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [System, User, Assistant, Tool, Tool, Tool]);
    assert_eq!(results(&asked[1]), ["two", "one", "three"]);
    let ids: Vec<_> = asked[1].messages[3..].iter().map(|m| m.tool_call_id.clone()).collect();
    assert_eq!(ids, ["call 0", "call 1", "call 2"].map(|id| Some(id.to_owned())));
    assert_eq!(asked[1].messages[2].tool_calls.len(), 3);
}

/// How many tasks each effect starts.
fn starts(effects: [antiphon_core::SideEffect; 2]) -> Vec<usize> {
    let tools = vec![tool("one", effects[0]), tool("two", effects[1])];
    let mut driver = agent(with(tools), vec![asks(&["one", "two"]), says("done")]);
    let mut starts = vec![];
    loop {
        match driver.step() {
            Effect::Start(tasks) => starts.push(tasks.len()),
            Effect::Wait(_) => assert!(driver.answer_one()),
            Effect::Done(_) => return starts,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn calls_are_made_side_by_side_only_when_none_of_them_changes_anything() {
    let at_once = [1, 1, 2, 1, 1];
    let in_turn = [1, 1, 1, 1, 1, 1];
    assert_eq!(starts([Pure, Read]), at_once);
    assert_eq!(starts([Read, Write]), in_turn);
    assert_eq!(starts([External, Read]), in_turn);
}

#[test]
fn the_schema_waits_for_the_turn_without_tools() {
    let schema = antiphon_core::Schema::new("any", json!({"type": "object"}));
    let shape = std::sync::Arc::new(antiphon_reply::CompiledSchema::compile(&schema).unwrap());
    let spec =
        AgentSpec { output: Some(shape), max_tool_calls: 1, ..with(vec![tool("one", Read)]) };
    let mut driver = agent(spec, vec![asks(&["one"]), says("{}")]);
    assert_eq!(driver.complete()["value"], json!({}));
    let asked = requests(&driver);
    assert_eq!((asked[0].tools.len(), &asked[0].schema), (1, &None));
    assert_eq!((asked[1].tools.len(), asked[1].schema.is_some()), (0, true));
}

#[test]
fn each_call_has_its_own_span_within_the_agents() {
    let tools = vec![tool("one", Read), tool("two", Read)];
    let mut driver = agent(with(tools), vec![asks(&["one", "two"]), says("done")]);
    driver.finish = Finish::Backwards;
    driver.complete();
    let node = driver.of_kind(EventKind::NodeStarted)[0].span_id.clone();
    let kinds =
        [EventKind::ModelCall, EventKind::ModelReply, EventKind::ToolCall, EventKind::ToolResult];
    let calls: Vec<_> = driver.events.iter().filter(|event| kinds.contains(&event.kind)).collect();
    assert!(calls.iter().all(|event| event.parent_span_id.as_ref() == Some(&node)));
    let mut spans: Vec<_> = calls.iter().map(|event| event.span_id.clone()).collect();
    spans.sort();
    spans.dedup();
    assert_eq!((calls.len(), spans.len()), (8, 4), "a call and its answer share one");
    for event in driver.of_kind(EventKind::ToolResult) {
        let asked = driver.of_kind(EventKind::ToolCall);
        let asked = asked.iter().find(|asked| asked.span_id == event.span_id).unwrap();
        assert_eq!((&asked.name, &asked.data["call_id"]), (&event.name, &event.data["call_id"]));
        assert_eq!(event.data["ok"], true);
    }
}

#[test]
fn events_hold_what_is_new_in_each_request_the_reply_and_the_result() {
    let replies = vec![asks(&["one"]), says("done")];
    let mut driver = agent(with(vec![tool("one", Read)]), replies);
    driver.complete();
    let asked = driver.of_kind(EventKind::ModelCall);
    let count = |number: usize| asked[number].data["messages"].as_array().unwrap().len();
    assert_eq!((count(0), count(1)), (requests(&driver)[0].messages.len(), 2));
    assert_eq!(asked[1].data["earlier"], count(0));
    assert_eq!(asked[0].data["tools"], json!(["one"]));
    assert_eq!(asked[0].data["tool_specs"][0]["description"], "says its name");
    assert_eq!(asked[1].data.get("tool_specs"), None);
    assert_eq!(asked[1].data["messages"][1]["content"], "one");
    let replied = driver.of_kind(EventKind::ModelReply);
    assert_eq!(replied[0].data["tool_calls"][0]["name"], "one");
    assert_eq!(replied[1].data["text"], "done");
    assert_eq!(driver.of_kind(EventKind::ToolResult)[0].data["result"], "one");
}

#[test]
fn texts_of_events_are_cut_and_those_of_a_run_are_bounded() {
    let long = "é".repeat(MAX_TEXT + 1_000);
    let tools = vec![tool("one", Read)];
    let spec = AgentSpec { max_tool_calls: 500, max_model_calls: 500, ..with(tools) };
    let wordy = || ModelReply { text: long.clone(), ..asks(&["one"]) };
    let replies = (0..200).map(|_| wordy()).chain([says("done")]).collect();
    let mut driver = agent(spec, replies);
    driver.complete();
    let replied = driver.of_kind(EventKind::ModelReply);
    let mark = format!("[truncated: {MAX_TEXT} of {} characters]", MAX_TEXT + 1_000);
    assert!(replied[0].data["text"].as_str().unwrap().ends_with(&mark));
    assert!(replied[199].data["text"].as_str().unwrap().starts_with("[left out: "));
    let size: usize = driver.events.iter().map(|event| json!(event).to_string().len()).sum();
    assert!(size < 2 * MAX_TEXTS, "{size}");
}

#[test]
fn arguments_arrive_parsed_coerced_and_checked() {
    let mut asked = asks(&["one"]);
    asked.tool_calls[0].arguments = "{'city': 'Lyon',}".into();
    let mut driver = agent(with(vec![tool("one", Read)]), vec![asked, says("done")]);
    driver.complete();
    assert_eq!(invocations(&driver)[0].arguments, json!({"city": "Lyon"}));
}

#[test]
fn a_handoff_ends_the_loop_and_the_other_calls_of_its_reply_are_not_made() {
    let parameters = json!({"type": "object", "properties": {}});
    let handoff = ToolSpec::new("transfer_to_expert", "hands over", parameters);
    let spec = AgentSpec { handoffs: vec![handoff], ..with(vec![tool("one", Read)]) };
    let mut driver = agent(spec, vec![asks(&["one", "transfer_to_expert", "one"])]);
    driver.complete();
    let asked = requests(&driver);
    let offered: Vec<_> = asked[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["one", "transfer_to_expert"]);
    assert!(invocations(&driver).is_empty());
    let concluded = driver.tasks.iter().find_map(|task| match &task.work {
        TaskWork::Close(result) => Some(result),
        _ => None,
    });
    let result = concluded.unwrap();
    assert_eq!(result.handoff.as_deref(), Some("transfer_to_expert"));
    let roles: Vec<_> = result.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Assistant, Tool]);
    assert_eq!(result.messages[0].tool_calls.len(), 1, "each call has a result");
}

#[test]
fn the_last_model_call_offers_no_handoff() {
    let handoff = ToolSpec::new("transfer_to_expert", "hands over", json!({"type": "object"}));
    let spec = AgentSpec { handoffs: vec![handoff], max_model_calls: 1, ..AgentSpec::default() };
    let mut driver = agent(spec, vec![says("done")]);
    assert_eq!(driver.complete()["text"], "done");
    assert!(requests(&driver)[0].tools.is_empty());
}
