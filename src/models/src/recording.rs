//! Requests and replies of a model in a file, and a model that repeats them from there.
//!
//! The file has one JSON object in each line: first the name of the model, then the exchanges,
//! each with its request and its reply or fault. It holds no key that the model was opened with.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::{Fault, FaultCode, ModelReply, ModelRequest};
use antiphon_runtime::{CallContext, Model, ReplyChunk, redact};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The version of the file's form.
const VERSION: u32 = 1;
/// The most characters of a value that an error shows.
const EXCERPT: usize = 80;

/// The first line of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    recording: u32,
    model: String,
}

/// Any other line.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedExchange {
    request: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<ModelReply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
}

/// A model whose requests and replies are appended to a file.
pub struct RecordingModel {
    model: Arc<dyn Model>,
    path: PathBuf,
    file: Mutex<File>,
}

impl RecordingModel {
    /// Records `model` in a new file.
    ///
    /// # Errors
    /// `Validation` with `recording_invalid` if the file exists or cannot be written.
    pub fn create(model: Arc<dyn Model>, path: &Path) -> Result<Self, Fault> {
        let file = File::options().write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let message = format!("the recording exists already: {}", path.display());
                Fault::new(FaultCode::RecordingInvalid, message).hint(
                    "repeat it with `models.replay`, or delete the file to record it once more",
                )
            }
            _ => unwritable(path, &error.to_string()),
        })?;
        let recording = Self { model, path: path.to_owned(), file: Mutex::new(file) };
        let header = Header { recording: VERSION, model: recording.model.name().to_owned() };
        recording.append(&json!(header))?;
        Ok(recording)
    }

    /// A line is short, and follows a request that took thousands of times as long: it is written
    /// where it is, without another thread.
    fn append(&self, line: &Json) -> Result<(), Fault> {
        let line = format!("{line}\n");
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.write_all(line.as_bytes());
        drop(file);
        written.map_err(|error| unwritable(&self.path, &error.to_string()))
    }
}

#[async_trait]
impl Model for RecordingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn names(&self) -> Vec<String> {
        self.model.names()
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let outcome = self.model.call(request, cx).await;
        let (reply, fault) = match outcome.clone() {
            Ok(reply) => (Some(reply), None),
            Err(fault) => (None, Some(fault)),
        };
        self.append(&json!(RecordedExchange { request: compared(request), reply, fault }))?;
        outcome
    }
}

/// A model that gives the replies of a recording, without asking anybody. Each request has to be
/// one of the recording; equal ones get their replies in the order in which they were recorded.
#[derive(Debug)]
pub struct ReplayModel {
    name: String,
    path: PathBuf,
    exchanges: Mutex<ReplayState>,
}

struct ReplayState {
    remaining: Vec<RecordedExchange>,
    asked: usize,
}

impl std::fmt::Debug for ReplayState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayState")
            .field("remaining", &self.remaining.len())
            .finish_non_exhaustive()
    }
}

impl ReplayModel {
    /// Reads a recording.
    ///
    /// # Errors
    /// `Validation` with `recording_invalid` if the file cannot be read, or is no recording.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| unreadable(path, 0, &error.to_string()))?;
        let mut lines = (1..).zip(text.lines());
        let (_, first) = lines.next().ok_or_else(|| unreadable(path, 1, "it is empty"))?;
        let header: Header =
            serde_json::from_str(first).map_err(|error| unreadable(path, 1, &error.to_string()))?;
        if header.recording != VERSION {
            let reason = format!("its version is {}, and {VERSION} is known", header.recording);
            return Err(unreadable(path, 1, &reason));
        }
        let exchange = |(number, line): (usize, &str)| {
            serde_json::from_str(line)
                .map_err(|error| unreadable(path, number, &error.to_string()))
                .and_then(|found: RecordedExchange| match (&found.reply, &found.fault) {
                    (None, None) => Err(unreadable(path, number, "there is no reply")),
                    _ => Ok(found),
                })
        };
        let remaining = lines.map(exchange).collect::<Result<_, _>>()?;
        Ok(Self {
            name: header.model,
            path: path.to_owned(),
            exchanges: Mutex::new(ReplayState { remaining, asked: 0 }),
        })
    }

    fn next(&self, request: &ModelRequest) -> Result<RecordedExchange, Fault> {
        let asked = compared(request);
        let mut state = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked += 1;
        let position = state.remaining.iter().position(|known| known.request == asked);
        match position {
            Some(position) => Ok(state.remaining.remove(position)),
            None => Err(self.mismatch(state.asked, state.remaining.first(), &asked)),
        }
    }

    fn mismatch(&self, number: usize, next: Option<&RecordedExchange>, asked: &Json) -> Fault {
        let path = self.path.display();
        let message = match next.map(|next| difference(&next.request, asked, "")) {
            None => format!(
                "request {number} is not in the recording, which has no further one: {path}"
            ),
            Some((place, recorded, found)) => format!(
                "request {number} is not in the recording {path}: `{place}` is {found}, and the \
                 next one has {recorded}"
            ),
        };
        Fault::new(FaultCode::RecordingMismatch, message)
            .with("model", self.name.as_str())
            .with("request", number)
            .hint("if the change is meant, delete the file and record it once more")
    }
}

#[async_trait]
impl Model for ReplayModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let RecordedExchange { reply, fault, .. } = self.next(request)?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let reply = reply.ok_or_else(|| unreadable(&self.path, 0, "there is no reply"))?;
        for word in reply.text.split_inclusive(' ') {
            cx.emit(ReplyChunk::Text(word.to_owned()));
        }
        Ok(reply)
    }
}

/// What the model sees of a request; tags and time limits do not reach it.
fn compared(request: &ModelRequest) -> Json {
    let mut json = json!(request);
    // A recording holds no key: replies have none, and requests get theirs from a user.
    redact::clean_json(&mut json);
    if let Json::Object(fields) = &mut json {
        for field in ["tags", "timeout", "unavailable_tools"] {
            fields.remove(field);
        }
    }
    json
}

/// The first place where two values differ, and what each has there.
fn difference(recorded: &Json, found: &Json, place: &str) -> (String, String, String) {
    let inner = match (recorded, found) {
        (Json::Object(left), Json::Object(right)) => {
            let names = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name)));
            names
                .map(|name| (name.clone(), left.get(name), right.get(name)))
                .find(|(_, left, right)| left != right)
        }
        (Json::Array(left), Json::Array(right)) => (0..left.len().max(right.len()))
            .map(|index| (index.to_string(), left.get(index), right.get(index)))
            .find(|(_, left, right)| left != right),
        _ => None,
    };
    match inner {
        Some((name, Some(left), Some(right))) => difference(left, right, &join(place, &name)),
        Some((name, left, right)) => (join(place, &name), excerpt(left), excerpt(right)),
        None => (place.to_owned(), excerpt(Some(recorded)), excerpt(Some(found))),
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn excerpt(value: Option<&Json>) -> String {
    let Some(value) = value else { return "missing".to_owned() };
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(EXCERPT) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn unwritable(path: &Path, reason: &str) -> Fault {
    let message = format!("the recording cannot be written ({reason}): {}", path.display());
    Fault::new(FaultCode::RecordingInvalid, message).hint("choose a file in a writable directory")
}

/// Line 0 stands for the file as a whole.
fn unreadable(path: &Path, line: usize, reason: &str) -> Fault {
    let place = if line == 0 { String::new() } else { format!("line {line}: ") };
    let message = format!("the recording cannot be read ({place}{reason}): {}", path.display());
    Fault::new(FaultCode::RecordingInvalid, message)
        .hint("make one with `models.record`, and keep it as it is")
}
