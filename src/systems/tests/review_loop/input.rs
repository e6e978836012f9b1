//! What may be asked: RL-20, files.

use antiphon_systems::review_loop::{Attachment, QuestionInput};
use antiphon_systems::{Outcome, SystemInput};
use serde_json::json;

use crate::scene::{Scene, a1};

fn asked(messages: &serde_json::Value) -> QuestionInput {
    QuestionInput::read(&json!({ "messages": messages })).unwrap()
}

/// RL-20 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_blank_question_is_refused_before_any_model_is_called() {
    for blank in [json!([]), json!([{"content": " \n"}]), json!([{"content": []}])] {
        let (model, result) = Scene::new(&json!({})).try_ask(asked(&blank)).await;
        assert_eq!(result.unwrap_err().code, "question_blank");
        assert!(model.requests().is_empty());
    }
}

/// RL-20 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn only_the_first_message_is_the_question() {
    let messages =
        json!([{"role": "user", "content": "first"}, {"content": "second"}, {"content": "third"}]);
    let run = a1().ask(asked(&messages)).await;
    assert_eq!(run.state().question, "first");
    let seen = run.model.requests();
    let all = seen.iter().flat_map(|request| &request.messages);
    assert!(all.into_iter().all(|message| !message.content.text().contains("second")));
}

#[tokio::test]
async fn text_parts_are_joined_and_a_file_part_is_the_file() {
    let parts = json!([{"content": [
        {"type": "text", "text": "Sum the"},
        {"type": "text", "text": "numbers."},
        {"type": "file", "name": "numbers.txt", "text": "1 2 3"},
    ]}]);
    let run = a1().ask(asked(&parts)).await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.state().question, "Sum the\nnumbers.");
    for role in ["planner", "researcher", "expert"] {
        let first = run.requests(role)[0].messages[1].content.to_string();
        assert!(first.contains("<file name=\"numbers.txt\">\n1 2 3\n</file>"), "{role}: {first}");
    }
    let critic = run.requests("critic")[0].messages[1].content.to_string();
    assert!(critic.contains("<file name=\"numbers.txt\">\n"));
    let received = json!({"question": "Sum the\nnumbers.", "file": "numbers.txt"});
    assert_eq!(run.notes("question_received"), [received]);
}

#[test]
fn a_file_must_be_text_and_small_enough() {
    let limit = Attachment::LIMIT;
    assert!(Attachment::from_bytes("a.txt", vec![b'a'; limit]).is_ok());
    let code =
        |content: Vec<u8>| Attachment::from_bytes("a.txt", content).unwrap_err().code.clone();
    assert_eq!(code(vec![b'a'; limit + 1]), "attachment_too_large");
    assert_eq!(code(vec![0xFF, 0xFE]), "attachment_not_text");
    assert_eq!(code(vec![b'a', 0]), "attachment_not_text");
}

#[test]
fn two_files_and_unknown_parts_are_refused() {
    let file = || Attachment::new("a.txt", "a").unwrap();
    let parts = json!([{"content": [
        {"type": "text", "text": "q"}, {"type": "file", "name": "b.txt", "text": "b"},
    ]}]);
    let mut two = asked(&parts);
    two.file = Some(file());
    assert_eq!(two.check().unwrap_err().code, "question_malformed");
    let image = json!([{"content": [{"type": "image_url", "image_url": "x"}]}]);
    let refused = QuestionInput::read(&json!({ "messages": image })).unwrap_err();
    assert_eq!(refused.code, "question_malformed");
}
