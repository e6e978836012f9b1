//! What a server asks a person while one of its tools works.

use std::sync::Arc;

use antiphon_core::Fault;
use async_trait::async_trait;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value as Json, json};

/// Characters of a value that a message shows.
const SHOWN: usize = 80;

/// A question of a server. Its texts come from the server, and are not to be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationQuestion {
    /// The server, as faults call it.
    pub server: String,
    /// What it asks.
    pub message: String,
    /// The schema of the answer, an object of plain fields; none if the person is to visit `url`.
    pub schema: Option<Json>,
    /// The address that the person is to visit. Nothing opens it.
    pub url: Option<String>,
}

impl ElicitationQuestion {
    pub(super) fn of(server: &str, params: &ElicitRequestParams) -> Option<Self> {
        let server = server.to_owned();
        match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let (message, schema) = (message.clone(), Some(json!(requested_schema)));
                Some(Self { server, message, schema, url: None })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let (message, url) = (message.clone(), Some(url.clone()));
                Some(Self { server, message, schema: None, url })
            }
            _ => None,
        }
    }

    /// Why an answer does not fit the schema; none if it does.
    pub fn misfit(&self, answer: &ElicitationAnswer) -> Option<String> {
        let (ElicitationAnswer::Accept(content), Some(schema)) = (answer, &self.schema) else {
            return None;
        };
        let fields = schema.get("properties").and_then(Json::as_object)?;
        let names = || fields.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let Some(given) = content.as_object() else {
            return Some(format!("the answer must be a dict of {}: {}", names(), short(content)));
        };
        if let Some(name) = given.keys().find(|name| !fields.contains_key(*name)) {
            return Some(format!("the answer has an unknown field, not {}: {name}", names()));
        }
        let mut required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
        let is_missing = |name: &&str| !given.contains_key(*name);
        if let Some(name) = required.by_ref().filter_map(Json::as_str).find(is_missing) {
            return Some(format!("the answer lacks a field: {name}"));
        }
        given.iter().find_map(|(name, value)| {
            let expected = expected(fields.get(name)?, value)?;
            Some(format!("`{name}` must be {expected}: {}", short(value)))
        })
    }

    /// The question as the value of an interrupt.
    pub fn as_json(&self) -> Json {
        let (kind, server, message) = ("elicitation", &self.server, &self.message);
        match &self.url {
            Some(url) => json!({"type": kind, "server": server, "question": message, "url": url}),
            None => {
                json!({"type": kind, "server": server, "question": message, "schema": self.schema})
            }
        }
    }
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// The values that were asked for; null for an address that was visited.
    Accept(Json),
    /// The person does not answer; the tool may go on.
    Decline,
    /// The person wants the tool to stop.
    Cancel,
}

impl ElicitationAnswer {
    /// Reads the answer to an interrupt: null declines, and so does false unless it answers a
    /// question for a boolean; an object with `action` and `content` is taken as it is, and any
    /// other value is the answer itself. If `question` asks for one field only, a plain value is the
    /// value of that field.
    pub fn read(question: &ElicitationQuestion, answer: &Json) -> Self {
        let declines = match answer {
            Json::Null => true,
            Json::Bool(false) => !asks_for_boolean(question),
            _ => false,
        };
        if declines {
            return Self::Decline;
        }
        let action = answer.get("action").and_then(Json::as_str);
        match (action, answer) {
            (Some("accept"), answer) => {
                Self::Accept(answer.get("content").cloned().unwrap_or(Json::Null))
            }
            (Some("decline"), _) => Self::Decline,
            (Some("cancel"), _) => Self::Cancel,
            (_, Json::Object(_)) => Self::Accept(answer.clone()),
            (_, plain) => Self::Accept(match only_field(question) {
                Some(name) => json!({name: plain}),
                None => plain.clone(),
            }),
        }
    }

    pub(super) fn into_result(self) -> ElicitResult {
        match self {
            Self::Accept(Json::Null) => ElicitResult::new(ElicitationAction::Accept),
            Self::Accept(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            Self::Decline => ElicitResult::new(ElicitationAction::Decline),
            Self::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

fn only_field(question: &ElicitationQuestion) -> Option<&str> {
    let fields = question.schema.as_ref()?.get("properties")?.as_object()?;
    let mut names = fields.keys();
    names.next().filter(|_| names.next().is_none()).map(String::as_str)
}

/// What a field expects instead of this value; none if it fits.
fn expected(field: &Json, value: &Json) -> Option<String> {
    let (fits, kind) = match field.get("type").and_then(Json::as_str) {
        Some("string") => (value.is_string(), "a text"),
        Some("boolean") => (value.is_boolean(), "true or false"),
        Some("number") => (value.is_number(), "a number"),
        Some("integer") => (value.as_f64().is_some_and(|one| one.fract() == 0.0), "an integer"),
        Some("array") => (value.is_array(), "a list"),
        _ => (true, ""),
    };
    if !fits {
        return Some(kind.to_owned());
    }
    if let (Some(items), Some(values)) = (field.get("items"), value.as_array()) {
        let wrong = values.iter().find_map(|one| expected(items, one));
        return wrong.map(|of_each| format!("a list, and each item {of_each}"));
    }
    let choices = choices(field)?;
    let is_choice = choices.contains(&value);
    let listed = || choices.iter().map(|choice| short(choice)).collect::<Vec<_>>().join(", ");
    (!is_choice).then(|| format!("one of {}", listed()))
}

/// The values to choose from, with or without titles.
fn choices(field: &Json) -> Option<Vec<&Json>> {
    if let Some(plain) = field.get("enum").and_then(Json::as_array) {
        return Some(plain.iter().collect());
    }
    let titled = field.get("oneOf").or_else(|| field.get("anyOf"))?.as_array()?;
    titled.iter().map(|choice| choice.get("const")).collect()
}

/// A value of a person or a server as messages show it.
fn short(value: &Json) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn asks_for_boolean(question: &ElicitationQuestion) -> bool {
    let schema = question.schema.as_ref();
    let kind = only_field(question)
        .and_then(|name| schema?.get("properties")?.get(name)?.get("type")?.as_str());
    kind == Some("boolean")
}

/// Who answers the questions of servers.
#[derive(Clone, Default)]
pub enum Elicitation {
    /// Nobody: servers are told that nobody can be asked.
    #[default]
    Declined,
    /// A handler, for which the call waits.
    Handler(Arc<dyn ElicitationHandler>),
    /// Whoever answers the questions of the run that makes the call. The call is cancelled, and made
    /// again with the answer.
    Run,
}

/// Answers the questions of servers.
#[async_trait]
pub trait ElicitationHandler: Send + Sync {
    /// Asks a person, and waits.
    ///
    /// # Errors
    /// Nobody could be asked; the server reads that the question was cancelled.
    async fn ask(&self, question: ElicitationQuestion) -> Result<ElicitationAnswer, Fault>;
}
