//! Recordings, and models that repeat them.

use std::path::PathBuf;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, Message, ModelReply, ModelRequest};
use antiphon_models::{ModelSettings, RecordingModel, ReplayModel, ScriptedModel, ScriptedReply};
use antiphon_runtime::{Model, ReplyChunk};
use serde_json::json;

use crate::answers::{KEY, chunks, cx, fails, opened, says, settings, watched};
use crate::server::Server;

/// A file that does not exist yet, in a folder that is removed at the end.
struct RecordingFolder(PathBuf);

impl RecordingFolder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("antiphon-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("calls.jsonl")
    }
}

impl Drop for RecordingFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn asks(text: &str) -> ModelRequest {
    ModelRequest { messages: vec![Message::user(text)], ..ModelRequest::default() }
}

async fn ask(model: &dyn Model, text: &str) -> Result<ModelReply, Fault> {
    model.call(&asks(text), &cx()).await
}

fn script(replies: impl IntoIterator<Item = ScriptedReply>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::new(replies).named("test:one"))
}

#[tokio::test]
async fn a_recording_is_repeated_without_asking_anybody() {
    let scratch = RecordingFolder::new("repeated");
    let down = Fault::new(FaultCode::ModelServerError, "down");
    let calls = ScriptedReply::calls([("search", json!({"q": 1}))]).usage(3, 4);
    let model = script(["for a b".into(), calls, down.clone().into(), "again".into()]);
    let recording = RecordingModel::create(model, &scratch.file()).unwrap();
    assert_eq!(recording.name(), "test:one");
    let mut recorded = Vec::new();
    for text in ["a", "b", "c", "a"] {
        recorded.push(ask(&recording, text).await);
    }
    let replay = ReplayModel::open(&scratch.file()).unwrap();
    assert_eq!(replay.name(), "test:one");
    // Requests that differ may come in another order; equal ones keep theirs.
    assert_eq!(ask(&replay, "b").await, recorded[1]);
    let (cx, mut watcher) = watched(cx());
    let first = replay.call(&asks("a"), &cx).await;
    assert_eq!(first, recorded[0]);
    let words = ["for ", "a ", "b"].map(|word| ReplyChunk::Text(word.into()));
    assert_eq!(chunks(&mut watcher), words);
    assert_eq!(ask(&replay, "a").await, recorded[3]);
    assert_eq!(ask(&replay, "c").await.unwrap_err(), down);
}

#[tokio::test]
async fn another_request_is_refused_with_the_first_difference() {
    let scratch = RecordingFolder::new("refused");
    let recording = RecordingModel::create(script(["1".into()]), &scratch.file()).unwrap();
    ask(&recording, "a").await.unwrap();
    let replay = ReplayModel::open(&scratch.file()).unwrap();
    let fault = ask(&replay, "b").await.unwrap_err();
    assert_eq!(fault.code, FaultCode::RecordingMismatch);
    let end = "`messages.0.content` is \"b\", and the next one has \"a\"";
    assert!(fault.message.ends_with(end), "{}", fault.message);
    let warm = ModelRequest { temperature: Some(0.5), ..asks("a") };
    let fault = replay.call(&warm, &cx()).await.unwrap_err();
    assert!(fault.message.ends_with("`temperature` is 0.5, and the next one has missing"));
    let tagged = ModelRequest { tags: [("agent".into(), "x".into())].into(), ..asks("a") };
    assert_eq!(replay.call(&tagged, &cx()).await.unwrap().text, "1");
    let fault = ask(&replay, "a").await.unwrap_err();
    assert!(fault.message.contains("request 4") && fault.message.contains("no further one"));
}

#[tokio::test]
async fn no_key_is_in_a_recording() {
    let scratch = RecordingFolder::new("secret");
    let server = Server::start([says(&format!("your key is {KEY}")), fails(401, "", KEY)]).await;
    let headers = [("x-secret".to_owned(), "hush-hush-42".into())].into();
    let model = opened(&ModelSettings { headers, ..settings(&server) });
    let recording = RecordingModel::create(model, &scratch.file()).unwrap();
    let question = asks(&format!("is {KEY} my key, or hush-hush-42?"));
    recording.call(&question, &cx()).await.unwrap();
    recording.call(&question, &cx()).await.unwrap_err();
    let text = std::fs::read_to_string(scratch.file()).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(!text.contains("sk-test") && !text.contains("hush-hush"), "{text}");
    assert!(ReplayModel::open(&scratch.file()).is_ok());
}

#[tokio::test]
async fn a_recording_is_never_overwritten_and_a_damaged_one_is_refused() {
    let scratch = RecordingFolder::new("damaged");
    let fault = ReplayModel::open(&scratch.file()).unwrap_err();
    assert_eq!(fault.code, FaultCode::RecordingInvalid);
    for (text, message) in [
        ("", "line 1: it is empty"),
        ("{\"model\": \"a\"}", "line 1: missing field `recording`"),
        ("{\"recording\": 9, \"model\": \"a\"}", "line 1: its version is 9"),
        ("{\"recording\": 1, \"model\": \"a\"}\n{\"requ", "line 2: EOF"),
        ("{\"recording\": 1, \"model\": \"a\"}\n{\"request\": {}}", "line 2: there is no reply"),
    ] {
        std::fs::write(scratch.file(), text).unwrap();
        let fault = ReplayModel::open(&scratch.file()).unwrap_err();
        assert!(fault.message.contains(message), "{}", fault.message);
    }
    let fault = RecordingModel::create(script([]), &scratch.file()).err().unwrap();
    assert!(fault.message.starts_with("the recording exists already"), "{}", fault.message);
    let nowhere = scratch.0.join("no/such/folder");
    assert_eq!(
        RecordingModel::create(script([]), &nowhere).err().unwrap().code,
        "recording_invalid"
    );
}
