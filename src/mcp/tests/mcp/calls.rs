//! Calls of tools: results, questions, and servers that fail in between.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, FinishReason, ModelReply, ModelRequest, Usage};
use antiphon_mcp::McpSettings;
use antiphon_mcp::client::{
    Elicitation, ElicitationAnswer, ElicitationHandler, ElicitationQuestion, McpServices,
};
use antiphon_runtime::{CallContext, Model, ReplyChunk, Tool};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::support::{Folder, call, client, client_with, context, scripted, tool, until, watched};

#[tokio::test]
async fn what_a_server_calls_an_error_is_a_failed_call() {
    let client = client(scripted(&[]));
    let fault = call(&client, "fail").await.unwrap_err();
    assert_eq!(
        (&fault.code, fault.message.as_str()),
        (&FaultCode::ToolFailed, "`fail` failed: no such city")
    );
    let fault = call(&client, "refuse").await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ToolFailed);
    assert!(fault.message.ends_with("refused the call: unknown tool"), "{fault}");
    client.close().await;
}

#[tokio::test]
async fn media_are_content_parts_and_a_link_is_not_visited() {
    let client = client(scripted(&[]));
    let found = call(&client, "media").await.unwrap();
    client.close().await;
    let parts = antiphon_core::Content::of_result(&found).expect("parts").into_parts();
    let kinds: Vec<_> = parts.iter().map(|part| json!(part)["type"].clone()).collect();
    assert_eq!(kinds, ["text", "image", "file", "text", "file", "file", "data"]);
    assert!(!json!(parts).to_string().contains("\"url\""));
}

#[tokio::test]
async fn structured_content_is_the_result() {
    let client = client(scripted(&[]));
    assert_eq!(call(&client, "structured").await.unwrap(), json!({"people": 520_774}));
    client.close().await;
}

/// A tool of the scripted server, which promises results of this schema.
fn promising(name: &str, schema: &Json) -> McpSettings {
    let tools = json!([{"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema}]);
    scripted(&["--tools", &tools.to_string()])
}

#[tokio::test]
async fn a_result_fits_the_schema_that_its_server_gives() {
    let wants = |kind: &str| json!({"type": "object", "properties": {"people": {"type": kind}}});
    let promised = client(promising("structured", &wants("integer")));
    let listed = promised.tools().await.unwrap();
    assert_eq!(listed[0].spec().results, Some(wants("integer")), "a planner can read it");
    assert_eq!(call(&promised, "structured").await.unwrap(), json!({"people": 520_774}));
    promised.close().await;

    for (tool, schema, cause) in [
        ("structured", wants("string"), "`/people`"),
        ("env", wants("string"), "lacks the structured content"),
    ] {
        let broken = client(promising(tool, &schema));
        let fault = call(&broken, tool).await.unwrap_err();
        broken.close().await;
        assert_eq!(fault.code, FaultCode::McpReplyInvalid);
        assert!(fault.message.contains(cause), "{fault}");
        assert_eq!(fault.details["tool"], tool);
    }
}

#[tokio::test]
async fn errors_and_schemas_that_are_no_use_are_not_held_against_a_tool() {
    let failing = client(promising("fail", &json!({"type": "object"})));
    assert_eq!(call(&failing, "fail").await.unwrap_err().code, FaultCode::ToolFailed);
    failing.close().await;
    let remote = json!({"$ref": "https://schemas.example/people"});
    let unusable = client(promising("structured", &remote));
    assert_eq!(call(&unusable, "structured").await.unwrap(), json!({"people": 520_774}));
    unusable.close().await;
}

#[tokio::test]
async fn structured_content_cannot_pass_for_parts_with_addresses() {
    let client = client(scripted(&[]));
    let found = call(&client, "smuggle").await.unwrap();
    client.close().await;
    assert_eq!(found["content"][0]["type"], "data");
}

#[tokio::test]
async fn progress_reaches_those_who_watch() {
    let client = client(scripted(&[]));
    let progress = tool(&client, "progress").await;
    let (cx, mut chunks) = watched();
    progress.call(json!({}), &cx).await.unwrap();
    client.close().await;
    drop(cx);
    let mut seen = Vec::new();
    while let Some(chunk) = chunks.recv().await {
        let ReplyChunk::Progress { done, total, message } = chunk else { panic!("{chunk:?}") };
        seen.push(json!([done, total, message]));
    }
    seen.sort_by_key(ToString::to_string);
    assert_eq!(seen, [json!([1.0, 2.0, "step 1"]), json!([2.0, 2.0, "step 2"])]);
}

struct Always(ElicitationAnswer);

#[async_trait]
impl ElicitationHandler for Always {
    async fn ask(&self, question: ElicitationQuestion) -> Result<ElicitationAnswer, Fault> {
        assert_eq!(question.message, "Really?");
        assert_eq!(question.as_json()["schema"]["properties"]["sure"]["type"], "boolean");
        Ok(self.0.clone())
    }
}

fn answering(answer: ElicitationAnswer) -> McpServices {
    McpServices {
        elicitation: Elicitation::Handler(Arc::new(Always(answer))),
        ..McpServices::default()
    }
}

#[tokio::test]
async fn a_question_is_answered_in_either_era() {
    for era in ["2025", "2026"] {
        let answer = ElicitationAnswer::Accept(json!({"sure": true}));
        let client = client_with(scripted(&["--era", era]), answering(answer));
        let found = call(&client, "ask").await.unwrap();
        client.close().await;
        assert!(found.as_str().unwrap().contains(r#""content": {"sure": true}"#), "{found}");
        assert_eq!(found.as_str().unwrap().contains("\"s1\""), era == "2026");
    }
}

/// The context of a call that was made again with these answers.
fn answered(answers: &[Json]) -> CallContext {
    CallContext { answers: Some(answers.to_vec()), ..context() }
}

#[tokio::test]
async fn the_run_is_asked_and_the_call_is_made_again_with_the_answer() {
    for era in ["2025", "2026"] {
        let services = McpServices { elicitation: Elicitation::Run, ..McpServices::default() };
        let client = client_with(scripted(&["--era", era]), services);
        let ask = tool(&client, "ask").await;
        let asked = ask.call(json!({}), &answered(&[])).await.unwrap_err();
        assert_eq!(asked.code, "question_asked");
        let question = &asked.details["question"];
        assert_eq!(
            (&question["type"], &question["question"]),
            (&json!("elicitation"), &json!("Really?"))
        );
        let found = ask.call(json!({}), &answered(&[json!({"sure": true})])).await.unwrap();
        assert!(found.as_str().unwrap().contains(r#""content": {"sure": true}"#), "{found}");
        let alone = ask.call(json!({}), &context()).await.unwrap();
        assert!(alone.as_str().unwrap().contains(r#""action": "decline""#), "{alone}");
        client.close().await;
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_no_answer() {
    for era in ["2025", "2026"] {
        let services = McpServices { elicitation: Elicitation::Run, ..McpServices::default() };
        let client = client_with(scripted(&["--era", era]), services);
        let ask = tool(&client, "ask").await;
        for (wrong, problem) in [
            (json!({"nope": 3}), "the answer has an unknown field, not `sure`: nope"),
            (json!({"sure": "x"}), "`sure` must be true or false: \"x\""),
            (json!({}), "the answer lacks a field: sure"),
        ] {
            let asked =
                ask.call(json!({}), &answered(std::slice::from_ref(&wrong))).await.unwrap_err();
            assert_eq!(asked.code, "question_asked");
            assert_eq!(asked.details["question"]["question"], "Really?");
            assert_eq!(asked.details["question"]["problem"], problem);
            let found = ask.call(json!({}), &answered(&[wrong, json!(true)])).await.unwrap();
            assert!(found.as_str().unwrap().contains(r#""content": {"sure": true}"#), "{found}");
        }
        client.close().await;
    }
}

#[tokio::test]
async fn questions_of_concurrent_calls_over_pipes_belong_to_their_calls() {
    let services = McpServices { elicitation: Elicitation::Run, ..McpServices::default() };
    let client = client_with(scripted(&["--era", "2025"]), services);
    let ask = tool(&client, "ask").await;
    let (yes, no) = (answered(&[json!({"sure": true})]), answered(&[json!({"sure": false})]));
    let (yes, no, open) =
        tokio::join!(ask.call(json!({}), &yes), ask.call(json!({}), &no), async {
            ask.call(json!({}), &answered(&[])).await
        },);
    assert!(yes.unwrap().as_str().unwrap().contains("true"));
    assert!(no.unwrap().as_str().unwrap().contains("false"));
    assert_eq!(open.unwrap_err().code, "question_asked");
    client.close().await;
}

#[tokio::test]
async fn nobody_to_ask_declines_the_question() {
    let client = client(scripted(&[]));
    let found = call(&client, "ask").await.unwrap();
    client.close().await;
    assert!(found.as_str().unwrap().contains(r#""action": "decline""#), "{found}");
}

#[test]
fn a_misfit_says_what_the_field_expects() {
    let schema = json!({"required": ["city"], "properties": {
        "city": {"type": "string", "enum": ["Lyon", "Nice"]},
        "beds": {"type": "integer"},
        "price": {"type": "number"},
        "view": {"type": "string", "oneOf": [{"const": "sea", "title": "The sea"}]},
        "extras": {"type": "array", "items": {"anyOf": [{"const": "tea"}, {"const": "bath"}]}},
    }});
    let (server, message) = ("s".to_owned(), "Where?".to_owned());
    let question = ElicitationQuestion { server, message, schema: Some(schema), url: None };
    let misfit = |answer: Json| question.misfit(&ElicitationAnswer::read(&question, &answer));
    for fits in [
        json!({"city": "Nice", "beds": 2.0, "price": 1, "view": "sea", "extras": ["tea"]}),
        json!({"city": "Lyon", "extras": []}),
        json!(null),
        json!({"action": "cancel"}),
    ] {
        assert_eq!(misfit(fits), None);
    }
    for (answer, problem) in [
        (
            json!("Lyon"),
            "the answer must be a dict of `city`, `beds`, `price`, `view`, `extras`: \"Lyon\"",
        ),
        (json!({"city": "Rome"}), "`city` must be one of \"Lyon\", \"Nice\": \"Rome\""),
        (json!({"city": 3}), "`city` must be a text: 3"),
        (json!({"city": "Lyon", "beds": 1.5}), "`beds` must be an integer: 1.5"),
        (json!({"city": "Lyon", "price": true}), "`price` must be a number: true"),
        (json!({"city": "Lyon", "view": "lake"}), "`view` must be one of \"sea\": \"lake\""),
        (json!({"city": "Lyon", "extras": "tea"}), "`extras` must be a list: \"tea\""),
        (
            json!({"city": "Lyon", "extras": ["gym"]}),
            "`extras` must be a list, and each item one of \"tea\", \"bath\": [\"gym\"]",
        ),
        (json!({}), "the answer lacks a field: city"),
    ] {
        assert_eq!(misfit(answer).as_deref(), Some(problem));
    }
    let long = misfit(json!({"city": "é".repeat(500)})).unwrap();
    assert!(long.chars().count() < 150, "{long}");
}

#[test]
fn answers_of_people_are_read_as_they_are_meant() {
    let schema = json!({"properties": {"city": {"type": "string"}}});
    let question = ElicitationQuestion {
        server: "s".into(),
        message: "Where?".into(),
        schema: Some(schema),
        url: None,
    };
    let read = |answer: Json| ElicitationAnswer::read(&question, &answer);
    let lyon = ElicitationAnswer::Accept(json!({"city": "Lyon"}));
    assert_eq!(read(json!("Lyon")), lyon);
    assert_eq!(read(json!({"city": "Lyon"})), lyon);
    assert_eq!(read(json!({"action": "accept", "content": {"city": "Lyon"}})), lyon);
    assert_eq!(read(json!(null)), ElicitationAnswer::Decline);
    assert_eq!(read(json!(false)), ElicitationAnswer::Decline);
    assert_eq!(read(json!({"action": "cancel"})), ElicitationAnswer::Cancel);
    let schema = Some(json!({"properties": {"sure": {"type": "boolean"}}}));
    let sure = ElicitationQuestion { schema, ..question.clone() };
    let read = |answer: Json| ElicitationAnswer::read(&sure, &answer);
    assert_eq!(read(json!(false)), ElicitationAnswer::Accept(json!({"sure": false})));
    assert_eq!(read(json!(null)), ElicitationAnswer::Decline);
}

struct FortyTwo;

#[async_trait]
impl Model for FortyTwo {
    fn name(&self) -> &'static str {
        "forty-two"
    }

    async fn call(&self, request: &ModelRequest, _cx: &CallContext) -> Result<ModelReply, Fault> {
        assert_eq!(request.messages[0].content, "Six times seven?");
        Ok(ModelReply {
            text: "42".into(),
            media: Vec::new(),
            tool_calls: Vec::new(),
            finish: FinishReason::Stop,
            usage: Usage::ZERO,
            model: "forty-two".into(),
            attempts: 1,
            latency: std::time::Duration::ZERO,
            provider_content: None,
        })
    }
}

#[tokio::test]
async fn a_server_asks_a_model_only_if_it_may() {
    let services = McpServices { model: Some(Arc::new(FortyTwo)), ..McpServices::default() };
    let allowed = client_with(scripted(&[]), services);
    let found = call(&allowed, "sample").await.unwrap();
    allowed.close().await;
    assert!(found.as_str().unwrap().contains("\"text\": \"42\""), "{found}");

    let refused = client(scripted(&[]));
    let found = call(&refused, "sample").await.unwrap();
    refused.close().await;
    assert!(found.as_str().unwrap().contains("sampling is not allowed"), "{found}");
}

#[tokio::test]
async fn a_server_is_told_the_folders_to_work_in() {
    let roots = vec!["file:///work/data".to_owned()];
    let client = client(McpSettings { roots, ..scripted(&[]) });
    let found = call(&client, "roots").await.unwrap();
    client.close().await;
    assert!(found.as_str().unwrap().contains("file:///work/data"), "{found}");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_at_the_server() {
    let folder = Folder::new("cancelled");
    let client = client(scripted(&["--log", &folder.path("log")]));
    let hang = tool(&client, "hang").await;
    let call = tokio::spawn(async move { hang.call(json!({}), &context()).await });
    let find = |method: &str| folder.messages("log").into_iter().find(|it| it["method"] == method);
    until(|| find("tools/call").is_some()).await;
    call.abort();
    until(|| find("notifications/cancelled").is_some()).await;
    let cancelled = find("notifications/cancelled").unwrap();
    assert_eq!(cancelled["params"]["requestId"], find("tools/call").unwrap()["id"]);
    // The server is well: the connection stays.
    assert_eq!(crate::support::call(&client, "echo").await.unwrap(), json!("hello"));
    assert_eq!(folder.starts("log"), 1);
    client.close().await;
}

#[tokio::test]
async fn a_slow_tool_times_out_and_its_server_stays() {
    let folder = Folder::new("slow");
    let settings = McpSettings { timeout: 0.2, ..scripted(&["--log", &folder.path("log")]) };
    let client = client(settings);
    let fault = call(&client, "hang").await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ToolTimeout);
    assert_eq!(call(&client, "echo").await.unwrap(), json!("hello"));
    assert_eq!(folder.starts("log"), 1);
    client.close().await;
}

#[tokio::test]
async fn a_server_that_hangs_costs_one_time_out_and_is_replaced() {
    let folder = Folder::new("stalled");
    let settings = McpSettings { timeout: 0.2, ..scripted(&["--log", &folder.path("log")]) };
    let client = client(settings);
    let fault = call(&client, "stall").await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ToolTimeout);
    assert_eq!(call(&client, "echo").await.unwrap(), json!("hello"));
    assert_eq!(folder.starts("log"), 2);
    client.close().await;
}

#[tokio::test]
async fn a_call_without_side_effects_is_repeated_when_its_server_dies() {
    let folder = Folder::new("died");
    let once = folder.path("once");
    let client = client(scripted(&["--die-once", &once, "--log", &folder.path("log")]));
    assert_eq!(call(&client, "die").await.unwrap(), json!("alive"));
    assert_eq!(folder.starts("log"), 2);
    client.close().await;
}

#[tokio::test]
async fn a_call_that_may_have_had_its_effect_is_not_repeated() {
    let folder = Folder::new("died-writing");
    let client = client(scripted(&["--log", &folder.path("log")]));
    let fault = call(&client, "die write").await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpConnectionLost);
    assert_eq!(fault.details["stderr"], "out of cheese");
    assert_eq!(folder.starts("log"), 1);
    assert_eq!(call(&client, "echo").await.unwrap(), json!("hello"));
    assert_eq!(folder.starts("log"), 2);
    client.close().await;
}

#[tokio::test]
async fn a_server_that_dies_each_time_is_reconnected_once() {
    let folder = Folder::new("dying");
    let client = client(scripted(&["--log", &folder.path("log")]));
    let fault = call(&client, "die").await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpConnectionLost);
    assert_eq!(folder.starts("log"), 2);
    client.close().await;
}
