//! Failures of a wire as faults: category, stable code, and the server's words without secrets.

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_net::{HttpError, HttpReply, StatusKind, retry_after, without_secrets};
use serde_json::Value as Json;

use crate::endpoint::Endpoint;

/// The most bytes of an error page that are read.
const PAGE: usize = 64 << 10;
/// The most characters of the server's words in a message.
const QUOTE: usize = 300;

/// Makes the faults of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct FaultFactory<'e> {
    endpoint: &'e Endpoint,
}

/// An error as the server describes it.
#[derive(Debug, Default)]
struct ServerError {
    message: String,
    code: String,
    kind: String,
}

impl<'e> FaultFactory<'e> {
    /// A factory for `endpoint`.
    pub const fn of(endpoint: &'e Endpoint) -> Self {
        Self { endpoint }
    }

    /// There was no reply.
    pub fn unanswered(self, error: &HttpError) -> Fault {
        match error {
            HttpError::Unreachable { cause, .. } | HttpError::Cut { cause, .. } => {
                let what = format!(
                    "the model cannot be reached at `{}`",
                    without_secrets(&self.endpoint.url)
                );
                self.fault(FaultCode::ModelUnreachable, &what, cause)
                    .hint("check the address, and that the server is running")
            }
            HttpError::BadHeader(name) => {
                let what = "a header of the model request contains characters that HTTP forbids";
                self.fault(FaultCode::ModelSettingInvalid, what, name)
            }
            other => {
                let what = "the model request could not be sent";
                self.fault(FaultCode::ModelSettingInvalid, what, &other.to_string())
            }
        }
    }

    /// The reply was cut off, or is too large.
    pub fn unread(self, error: &HttpError) -> Fault {
        match error {
            HttpError::TooLarge { limit } => self.too_large(*limit),
            HttpError::Cut { cause, .. } => self.cut(cause),
            other => self.unanswered(other),
        }
    }

    /// The reply was cut off.
    pub fn cut(self, cause: &str) -> Fault {
        let what = "the reply of the model broke off";
        self.fault(FaultCode::ModelReplyCut, what, cause)
    }

    /// The reply has more than `limit` bytes.
    pub fn too_large(self, limit: usize) -> Fault {
        let what = "the reply of the model is larger than the limit in bytes";
        self.fault(FaultCode::ModelReplyTooLarge, what, &limit.to_string())
    }

    /// The reply violates the protocol of the wire, for this reason.
    pub fn malformed(self, reason: &str) -> Fault {
        let what = "the reply of the model does not follow the OpenAI chat API";
        self.fault(FaultCode::ModelReplyMalformed, what, reason)
    }

    /// The model, or a filter, refused to answer, in these words.
    pub fn refused(self, words: &str) -> Fault {
        let what = "the model refused to answer";
        self.fault(FaultCode::ModelRefused, what, words)
    }

    /// A time limit was reached: `attempt`, `idle` or `deadline`.
    pub fn late(self, limit: &str, seconds: f64) -> Fault {
        let what = match limit {
            "idle" => "the stream of the model was silent for too long, in seconds",
            "deadline" => "the deadline passed before the model had answered, after seconds",
            _ => "the model took longer than the time-out, in seconds",
        };
        self.fault(FaultCode::ModelTimeout, what, &format!("{seconds:.3}")).with("limit", limit)
    }

    /// The server replied with an error status.
    pub async fn status(self, reply: HttpReply, now: Time) -> Fault {
        let status = reply.status();
        let pause = retry_after(|name| reply.header(name), now);
        let request_id = reply.header("x-request-id").map(|id| self.quote(id));
        let page = reply.beginning(PAGE).await;
        let complaint = ServerError::read(&String::from_utf8_lossy(&page));
        let mut fault = self.complaint(status, &complaint).with("status", status);
        if let Some(id) = request_id {
            fault = fault.with("request_id", id);
        }
        match pause {
            Some(pause) => fault.retry_after(pause),
            None => fault,
        }
    }

    /// The body of a successful reply, or an event of a stream, contains an error.
    pub fn reported(self, error: &Json) -> Fault {
        let status = error.get("code").and_then(Json::as_u64).and_then(|code| code.try_into().ok());
        let status = status.filter(|status| (400..600).contains(status)).unwrap_or(500);
        self.complaint(status, &ServerError::of(error)).with("status", status)
    }

    fn complaint(self, status: u16, complaint: &ServerError) -> Fault {
        let (code, what) = classify(status, complaint);
        let words = match complaint.message.as_str() {
            "" => format!("status {status}"),
            words => words.to_owned(),
        };
        let hint = hint_for(&code);
        let mut fault = self.fault(code, what, &words);
        if let Some(hint) = hint {
            fault = fault.hint(hint);
        }
        for (key, value) in [("provider_code", &complaint.code), ("provider_type", &complaint.kind)]
        {
            if !value.is_empty() {
                fault = fault.with(key, self.quote(value));
            }
        }
        fault
    }

    fn fault(self, code: FaultCode, what: &str, value: &str) -> Fault {
        Fault::new(code, format!("{what}: {}", self.quote(value)))
            .with("model", self.endpoint.name.as_str())
    }

    /// The server's words without secrets and control characters, shortened.
    fn quote(self, words: &str) -> String {
        let words = self.endpoint.redactor.clean(words);
        let mut quote: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
        quote.retain(|c| !c.is_control());
        if let Some((end, _)) = quote.char_indices().nth(QUOTE) {
            quote.truncate(end);
            quote.push('…');
        }
        quote
    }
}

/// The meaning of a status and the error beside it.
fn classify(status: u16, complaint: &ServerError) -> (FaultCode, &'static str) {
    let says = |word: &str| complaint.code == word || complaint.kind == word;
    match StatusKind::of(status) {
        StatusKind::RateLimited if says("insufficient_quota") => quota(),
        StatusKind::PaymentRequired => quota(),
        StatusKind::RateLimited => {
            (FaultCode::ModelRateLimited, "the model server limits the rate of requests")
        }
        StatusKind::TimedOut => (FaultCode::ModelTimeout, "the model server timed out"),
        StatusKind::ServerError => (FaultCode::ModelServerError, "the model server failed"),
        StatusKind::Unauthorized => {
            (FaultCode::ModelKeyRefused, "the model server refused the key")
        }
        StatusKind::NotFound => (
            FaultCode::ModelNotFound,
            "the server does not know the model, or the address is wrong",
        ),
        StatusKind::Refused if says("content_filter") => {
            (FaultCode::ModelRefused, "the provider's filter blocked the reply")
        }
        StatusKind::Redirect => (
            FaultCode::ModelRedirected,
            "the model server answered with a redirect, which is not followed",
        ),
        StatusKind::Refused | StatusKind::Success => {
            (FaultCode::ModelRequestRefused, "the model server refused the request")
        }
    }
}

/// What the caller can do about it.
const fn hint_for(code: &FaultCode) -> Option<&'static str> {
    Some(match code {
        FaultCode::ModelKeyRefused => "check the key, and that it may use this model",
        FaultCode::ModelQuotaExhausted => "add credit to the account, or use another model",
        FaultCode::ModelRateLimited => "wait, lower the concurrency, or add a fallback model",
        FaultCode::ModelNotFound => "check the model's name and the base URL",
        FaultCode::ModelRedirected => "if you trust the target, use it as the base URL",
        FaultCode::ModelServerError => "try again later, or add a fallback model",
        FaultCode::ModelTimeout => "raise `timeout`, or use a faster model",
        _ => return None,
    })
}

const fn quota() -> (FaultCode, &'static str) {
    (FaultCode::ModelQuotaExhausted, "the account at the provider has no quota left")
}

impl ServerError {
    /// Parses an error page: JSON as providers write it, or plain text; markup is dropped.
    fn read(page: &str) -> Self {
        match serde_json::from_str::<Json>(page) {
            Ok(json) => Self::of(json.get("error").unwrap_or(&json)),
            Err(_) if page.trim_start().starts_with('<') => Self::default(),
            Err(_) => Self { message: page.to_owned(), ..Self::default() },
        }
    }

    fn of(error: &Json) -> Self {
        if let Json::String(message) = error {
            return Self { message: message.clone(), ..Self::default() };
        }
        let field = |name: &str| match error.get(name) {
            Some(Json::String(text)) => text.clone(),
            Some(Json::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let message = ["message", "detail"].map(field).into_iter().find(|text| !text.is_empty());
        Self { message: message.unwrap_or_default(), code: field("code"), kind: field("type") }
    }
}
