//! What travels is read strictly.

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::queue::QueueMessage;
use antiphon_systems::sub_task::message::{LONGEST_TEXT, VERSION};
use antiphon_systems::sub_task::name::{result_topic, task_topic};
use antiphon_systems::sub_task::{SubTask, SubTaskResult, sub_task_id};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

fn sub_task() -> SubTask {
    SubTask {
        version: VERSION,
        sub_task_id: sub_task_id("run", 1, "s1"),
        round: 1,
        parent_task_id: "the task".to_owned(),
        assigned_agent_role: "ResearchAgent".to_owned(),
        tool_name: "WebSearchTool".to_owned(),
        sub_task_input: Map::from_iter([("query".to_owned(), json!("rivers"))]),
        narrative_step: "search".to_owned(),
        step_id: "s1".to_owned(),
        context_summary: None,
        api_keys_config_ref: Some("paid".to_owned()),
        has_alternative: true,
        attempt: 1,
        deadline: Time::from_micros(7),
        result_topic: result_topic("run"),
    }
}

fn message() -> QueueMessage {
    sub_task().message(true).unwrap()
}

/// The message with another value in a field of its body.
fn with(mut message: QueueMessage, field: &str, value: Json) -> QueueMessage {
    message.body[field] = value;
    message
}

#[test]
fn a_sub_task_and_its_results_are_read_as_they_were_sent() {
    let task = sub_task();
    assert_eq!(SubTask::read(&message()), Ok(task.clone()));
    let failure = Fault::new(FaultCode::ToolFailed, "no").with("tool", "WebSearchTool");
    for result in [task.result(Ok(json!([1, 2]))), task.result(Err(failure)), task.cancelled()] {
        let sent = result.message(&task.result_topic, Time::from_micros(9));
        assert_eq!(SubTaskResult::read(&sent), Ok(result));
    }
}

#[test]
fn work_that_must_not_be_repeated_is_delivered_once() {
    let once = sub_task().message(false).unwrap();
    assert_eq!(once.max_deliveries.map(std::num::NonZeroU32::get), Some(1));
    assert_eq!(message().max_deliveries, None);
    assert_eq!(message().deadline, Some(Time::from_micros(7)));
}

#[test]
fn a_message_names_a_key_profile_and_nothing_else_about_it() {
    let body = message().body;
    assert_eq!(body["api_keys_config_ref"], "paid");
    let fields: Vec<_> = body.as_object().unwrap().keys().collect();
    let known = [
        "version",
        "sub_task_id",
        "round",
        "parent_task_id",
        "assigned_agent_role",
        "tool_name",
        "sub_task_input",
        "narrative_step",
        "stepId",
        "api_keys_config_ref",
        "has_alternative",
        "attempt",
        "deadline",
        "result_topic",
    ];
    assert!(fields.iter().all(|field| known.contains(&field.as_str())), "{fields:?}");
}

#[test]
fn a_lying_or_foreign_sub_task_is_not_read() {
    let long = json!("x".repeat(LONGEST_TEXT + 1));
    let other_topic = QueueMessage { topic: task_topic("UtilityAgent").unwrap(), ..message() };
    let other_id = QueueMessage { id: "another".to_owned(), ..message() };
    let foreign = QueueMessage { body: json!("hello"), ..message() };
    let cases = [
        (with(message(), "version", json!(2)), "its version is not 1 but 2"),
        (foreign, "it has no version"),
        (other_topic, "topic of another role"),
        (other_id, "its id is not that"),
        (with(message(), "round", json!(0)), "its id is not that"),
        (with(message(), "round", json!(2)), "its id is not that"),
        (with(message(), "result_topic", json!("task.ResearchAgent")), "a topic that has none"),
        (with(message(), "tool_name", json!("rm -rf")), "the tool is no name"),
        (with(message(), "api_keys_config_ref", json!("a b")), "the key profile is no name"),
        (with(message(), "narrative_step", long), "a text is too long"),
        (with(message(), "key", json!("sk-1")), "unknown field `key`"),
        (with(message(), "sub_task_input", json!([])), "invalid type"),
    ];
    for (message, reason) in cases {
        let fault = SubTask::read(&message).unwrap_err();
        assert_eq!(fault.code, "sub_task_unreadable");
        assert!(fault.message.contains(reason), "{} should say {reason}", fault.message);
    }
}

#[test]
fn a_result_that_contradicts_itself_is_not_read() {
    let task = sub_task();
    let sent = |result: SubTaskResult| result.message(&task.result_topic, Time::from_micros(9));
    let completed = sent(task.result(Ok(json!(1))));
    let error = json!({"category": "tool", "code": "tool_failed", "message": "no"});
    for wrong in [
        with(completed.clone(), "error_details", error),
        with(completed.clone(), "status", json!("FAILED")),
        with(completed.clone(), "status", json!("CANCELLED")),
        with(completed.clone(), "status", json!("DONE")),
        with(completed.clone(), "sub_task_id", json!("another")),
        with(completed.clone(), "round", json!(3)),
        QueueMessage { id: task.message_id(), ..completed },
    ] {
        assert_eq!(SubTaskResult::read(&wrong).unwrap_err().code, "sub_task_unreadable");
    }
}

#[test]
fn names_that_no_message_can_have_are_refused_before_they_are_sent() {
    let role = SubTask { assigned_agent_role: "a role".to_owned(), ..sub_task() };
    assert_eq!(role.message(true).unwrap_err().code, "queue_message_invalid");
    let step = SubTask { step_id: String::new(), ..sub_task() };
    let fault = step.message(true).unwrap_err();
    assert_eq!(fault.message, "the step of a sub-task is no name: ");
}

#[test]
fn the_id_of_a_step_depends_on_all_of_its_place() {
    let id = sub_task_id("run", 1, "s1");
    assert_eq!(id, sub_task_id("run", 1, "s1"));
    assert_eq!(id.len(), 32);
    for other in
        [sub_task_id("run", 2, "s1"), sub_task_id("ru", 1, "ns1"), sub_task_id("run", 1, "s2")]
    {
        assert_ne!(id, other);
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "\\PC{0,40}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec(("[a-z]{0,8}", inner), 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// What is read is what some dispatcher could have sent: it makes the same message again.
    #[test]
    fn a_changed_message_is_refused_or_reads_as_itself(field in 0_usize..13, value in any_json()) {
        let task = message();
        let name = task.body.as_object().unwrap().keys().nth(field).unwrap().clone();
        let changed = with(task, &name, value.clone());
        if let Ok(read) = SubTask::read(&changed) {
            let again = read.message(true).unwrap();
            prop_assert_eq!(again.id, changed.id);
            prop_assert_eq!(again.topic, changed.topic);
        }
        let result = sub_task().result(Ok(json!(1))).message("result.x", Time::from_micros(1));
        let _ = SubTaskResult::read(&with(result.clone(), &name, value.clone()));
        let _ = SubTaskResult::read(&QueueMessage { body: value, ..result });
    }
}
