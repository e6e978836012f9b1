//! Failures of a wire as faults: category, stable code, and the server's words without secrets.
//! Each names the model, and the address where one is involved.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_net::{HttpError, HttpReply, StatusKind, retry_after, without_secrets};
use serde_json::Value as Json;

use crate::endpoint::Endpoint;

/// The most bytes of an error page that are read.
const PAGE: usize = 64 << 10;
/// The bytes of a web page that a message quotes.
const PAGE_START: usize = 60;
/// The most characters of the server's words in a message.
const QUOTE: usize = 300;
/// The status of a server without capacity, beside those that HTTP knows.
const OVERLOADED: u16 = 529;

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
                let what = format!("{} cannot be reached", self.address());
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
        let what = format!("the reply of {} broke off", self.address());
        self.fault(FaultCode::ModelReplyCut, &what, cause)
    }

    /// The reply has more than `limit` bytes.
    pub fn too_large(self, limit: usize) -> Fault {
        let what = format!("the reply of {} is larger than the limit in bytes", self.address());
        self.fault(FaultCode::ModelReplyTooLarge, &what, &limit.to_string())
    }

    /// The reply violates the protocol of the wire, for this reason.
    pub fn malformed(self, reason: &str) -> Fault {
        let api = self.endpoint.wire.api();
        let what = format!("the reply of {} does not follow the {api}", self.address());
        self.fault(FaultCode::ModelReplyMalformed, &what, reason)
    }

    /// The successful reply is a web page or another text: the address is not that of an API.
    pub fn web_page(self, status: u16, kind: Option<&str>, body: &[u8]) -> Option<Fault> {
        let kind = kind.filter(|kind| !kind.contains("json"))?;
        let text = String::from_utf8_lossy(body.get(..PAGE_START).unwrap_or(body));
        if text.trim_start().starts_with('{') {
            return None;
        }
        let kind = kind.split(';').next().unwrap_or_default();
        let beginning = self.quote(&text);
        let message = format!(
            "{}: {} answered {status} {}, beginning \"{beginning}\": is `base_url` right?",
            self.endpoint.name,
            self.address(),
            self.quote(kind)
        );
        Some(self.named(FaultCode::ModelReplyMalformed, message))
    }

    /// The model, or a filter, refused to answer, in these words.
    pub fn refused(self, words: &str) -> Fault {
        let what = "the model refused to answer";
        self.fault(FaultCode::ModelRefused, what, words)
    }

    /// The model does not accept a parameter that the request sets.
    pub fn unsupported(self, parameter: &str, value: &str) -> Fault {
        let what = format!("the model does not accept `{parameter}`");
        let flag = format!("capabilities={{\"{parameter}\": True}}");
        self.fault(FaultCode::ModelParameterUnsupported, &what, value)
            .with("parameter", parameter)
            .hint(format!("leave it out; if this server accepts it, open the model with `{flag}`"))
    }

    /// A time limit was reached: `attempt`, `idle` or `deadline`.
    pub fn late(self, limit: &str, after: Duration) -> Fault {
        let (seconds, address) = (in_seconds(after), self.address());
        let what = match limit {
            "idle" => format!("the stream of {address} was silent for {seconds}"),
            "deadline" => format!("the deadline was over before {address} had answered"),
            _ => format!("{address} did not answer within {seconds}"),
        };
        self.named(FaultCode::ModelTimeout, format!("{}: {what}", self.endpoint.name))
            .with("limit", limit)
            .with("seconds", after.as_secs_f64())
            .hint("raise `timeout`, or use a faster model")
    }

    /// The server replied with an error status.
    pub async fn status(self, reply: HttpReply, now: Time) -> Fault {
        let status = reply.status();
        let pause = retry_after(|name| reply.header(name), now);
        let id = reply.header("x-request-id").or_else(|| reply.header("request-id"));
        let request_id = id.map(|id| self.quote(id));
        let page = reply.beginning(PAGE).await;
        let complaint = ServerError::read(&String::from_utf8_lossy(&page));
        let answered = format!("answered {status}");
        let mut fault = self.complaint(status, &answered, &complaint);
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
        let status = status.filter(|status| (400..600).contains(status));
        let complaint = ServerError::of(error);
        let status = status.unwrap_or_else(|| status_of(&complaint.kind));
        self.complaint(status, "reported an error", &complaint)
    }

    fn complaint(self, status: u16, answered: &str, complaint: &ServerError) -> Fault {
        let (code, what) = classify(status, complaint);
        let what = format!("{} {answered}, {what}", self.address());
        let hint = hint_for(&code);
        let mut fault = self.fault(code, &what, &complaint.message).with("status", status);
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
        let value = self.quote(value);
        let separator = if value.is_empty() { "" } else { ": " };
        self.named(code, format!("{}: {what}{separator}{value}", self.endpoint.name))
    }

    fn named(self, code: FaultCode, message: String) -> Fault {
        Fault::new(code, message)
            .with("model", self.endpoint.name.as_str())
            .with("address", self.address())
    }

    fn address(self) -> String {
        self.endpoint.redactor.clean(&without_secrets(&self.endpoint.url))
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

/// `fault` after so many attempts, which its message counts from the second one on.
pub(crate) fn after_attempts(mut fault: Fault, attempts: u32) -> Fault {
    let each = fault.details.get("seconds").and_then(Json::as_f64);
    let own_limit = fault.details.get("limit").and_then(Json::as_str) == Some("attempt");
    let named = |key: &str| fault.details.get(key).and_then(Json::as_str).map(str::to_owned);
    let message = match (each.filter(|_| own_limit), named("model"), named("address")) {
        _ if attempts < 2 => None,
        (Some(each), Some(model), Some(address)) => {
            let each = in_seconds(Duration::try_from_secs_f64(each).unwrap_or_default());
            Some(format!("{model}: {attempts} attempts of {each} each timed out at {address}"))
        }
        _ => Some(format!("{} ({attempts} attempts)", fault.message)),
    };
    if let Some(message) = message {
        fault.message = message;
    }
    fault.with("attempts", attempts)
}

/// A duration as a reader likes it: whole seconds without a fraction.
fn in_seconds(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1000) {
        format!("{} s", millis / 1000)
    } else {
        format!("{:.3} s", duration.as_secs_f64())
    }
}

/// The status that an error inside of a successful reply would have had.
fn status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// The meaning of a status and the error beside it.
fn classify(status: u16, complaint: &ServerError) -> (FaultCode, &'static str) {
    let says = |word: &str| complaint.code == word || complaint.kind == word;
    match StatusKind::of(status) {
        StatusKind::RateLimited
            if says("insufficient_quota") || says("enforced_spend_limit_reached") =>
        {
            quota()
        }
        StatusKind::PaymentRequired => quota(),
        StatusKind::RateLimited => (FaultCode::ModelRateLimited, "too many requests"),
        StatusKind::TimedOut => (FaultCode::ModelTimeout, "the server timed out"),
        StatusKind::ServerError if status == OVERLOADED => {
            (FaultCode::ModelServerError, "the server is overloaded")
        }
        StatusKind::ServerError => (FaultCode::ModelServerError, "the server failed"),
        StatusKind::Unauthorized => (FaultCode::ModelKeyRefused, "the key was refused"),
        StatusKind::NotFound => {
            (FaultCode::ModelNotFound, "the model or the address is not known there")
        }
        StatusKind::Refused if says("content_filter") => {
            (FaultCode::ModelRefused, "the provider's filter blocked the reply")
        }
        StatusKind::Redirect => (FaultCode::ModelRedirected, "a redirect, which is not followed"),
        StatusKind::Refused | StatusKind::Success => {
            (FaultCode::ModelRequestRefused, "the request was refused")
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
    (FaultCode::ModelQuotaExhausted, "the account has no quota left")
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
        let detail = || error.pointer("/details/error_code").and_then(Json::as_str);
        let code = Some(field("code")).filter(|code| !code.is_empty());
        let code = code.or_else(|| detail().map(str::to_owned)).unwrap_or_default();
        Self { message: message.unwrap_or_default(), code, kind: field("type") }
    }
}
