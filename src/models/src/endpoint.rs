//! What a wire has to know about its server.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::{HttpRequest, Redactor, Secret, Url, is_this_machine, without_secrets};
use serde_json::{Map, Value as Json};

use crate::name::ModelName;
use crate::provider::Provider;
use crate::settings::ModelSettings;

/// A chat endpoint: its address, its credentials, and its dialect.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The full name, for messages.
    pub name: String,
    /// The server's name of the model.
    pub model: String,
    /// The URL of the chat method.
    pub url: Url,
    /// Headers to send; their values may be keys.
    pub headers: Vec<(String, Secret)>,
    /// Fields to add to every body.
    pub extra_body: Map<String, Json>,
    /// Whether requests carry the call's idempotency key.
    pub idempotency_header: bool,
    /// How the server wants requests.
    pub dialect: Dialect,
    /// The time limit of one attempt.
    pub timeout: Duration,
    /// How long a stream may be silent.
    pub idle_timeout: Duration,
    /// The largest reply in bytes.
    pub max_reply_bytes: usize,
    /// Removes the endpoint's secrets from everything that its server says.
    pub redactor: Redactor,
}

/// What differs between servers of the same wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// How to request a JSON reply.
    pub structured: Structured,
    /// Whether a stream reports token counts only on request.
    pub stream_options: bool,
    /// The name of the field that limits the reply's tokens.
    pub max_tokens_field: &'static str,
}

/// How to request a JSON reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// With a schema rewritten to the strict subset, which the server guarantees.
    Strict,
    /// With the schema as it is. Servers with grammars enforce it; others do their best.
    Schema,
    /// As any JSON; the schema goes into the instructions.
    Object,
}

impl Endpoint {
    /// Completes `settings` from the environment and the provider's row. Only api.openai.com
    /// gets strict schemas: on other servers the rewritten schema would lose keywords and gain
    /// no guarantee.
    ///
    /// # Errors
    /// See [`crate::open()`].
    pub fn resolve(
        name: &ModelName,
        settings: &ModelSettings,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        let env =
            |variable: &str| env(variable).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        let ModelName { provider, model } = name;
        let base = base_url(provider, settings, &env)?;
        let key = key(provider, settings, &base, &env)?;
        check_extra(&settings.extra_body)?;
        let headers = headers(provider, key, settings, &env);
        check_headers(&base, &headers)?;
        let official = base.host_str() == Some("api.openai.com");
        let structured = match (official, provider.takes_schema) {
            (true, _) => Structured::Strict,
            (false, true) => Structured::Schema,
            (false, false) => Structured::Object,
        };
        let max_tokens_field =
            if official { "max_completion_tokens" } else { provider.max_tokens_field };
        Ok(Self {
            redactor: Redactor::new(secrets(&headers).chain(query_secrets(&base))),
            url: chat_url(base),
            headers,
            extra_body: settings.extra_body.clone(),
            idempotency_header: settings.idempotency_header,
            dialect: Dialect {
                structured,
                stream_options: provider.stream_options,
                max_tokens_field,
            },
            timeout: settings.timeout,
            idle_timeout: settings.idle_timeout,
            max_reply_bytes: settings.max_reply_bytes,
            model: model.clone(),
            name: name.to_string(),
        })
    }
}

fn base_url(
    provider: &Provider,
    settings: &ModelSettings,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<Url, Fault> {
    let from_env = || provider.base_url_env.iter().find_map(|variable| env(variable));
    let text = settings.base_url.clone().or_else(from_env);
    let text = text.or_else(|| provider.base_url.map(str::to_owned));
    let text = text.ok_or_else(|| base_url_missing(provider))?;
    let bare = !text.contains("://");
    let full = if bare { format!("http://{text}") } else { text };
    let mut url = Url::parse(&full).map_err(|error| base_url_invalid(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(base_url_invalid(&format!("its scheme is `{}`", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(base_url_invalid("it holds a user or a password"));
    }
    if bare && url.port().is_none() {
        // Cannot fail, because the URL has a host.
        let _ = url.set_port(provider.default_port);
    }
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        // A server that listens on all addresses is reached at the loopback address.
        let _ = url.set_host(Some("127.0.0.1"));
    }
    if url.path() == "/" {
        url.set_path(provider.default_path);
    }
    Ok(url)
}

fn base_url_missing(provider: &Provider) -> Fault {
    let message = format!("the model provider has no default address: `{}`", provider.name);
    let variables = provider.base_url_env.join("` or `");
    Fault::new(FaultCode::ModelBaseUrlMissing, message)
        .hint(format!("set `{variables}`, or pass `base_url`"))
}

/// The address is not quoted: it may contain a password.
fn base_url_invalid(reason: &str) -> Fault {
    let message = format!("the base URL of the model cannot be used: {reason}");
    Fault::new(FaultCode::ModelBaseUrlInvalid, message)
        .hint("use the form `https://host/v1`, and pass a key as `api_key`")
}

fn chat_url(mut base: Url) -> Url {
    let path = format!("{}/chat/completions", base.path().trim_end_matches('/'));
    base.set_path(&path);
    base
}

fn key(
    provider: &Provider,
    settings: &ModelSettings,
    base: &Url,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Secret>, Fault> {
    let from_env = || provider.key_env.iter().find_map(|variable| env(variable)).map(Secret::new);
    let given = settings.api_key.clone().filter(|key| !key.expose().trim().is_empty());
    let key = given.or_else(from_env);
    if key.is_none() && provider.needs_key && !is_this_machine(base) {
        return Err(key_missing(provider, base));
    }
    Ok(key)
}

fn key_missing(provider: &Provider, base: &Url) -> Fault {
    let variables = provider.key_env.join("` or `");
    let message =
        format!("no key for the model provider `{}`, expected in: `{variables}`", provider.name);
    Fault::new(FaultCode::ModelKeyMissing, message)
        .with("provider", provider.name)
        .with("address", without_secrets(base))
        .hint(format!("set the environment variable `{variables}`, or pass `api_key`"))
}

fn headers(
    provider: &Provider,
    key: Option<Secret>,
    settings: &ModelSettings,
    env: &impl Fn(&str) -> Option<String>,
) -> Vec<(String, Secret)> {
    let key = key.map(|key| match provider.key_header {
        Some(header) => (header.to_owned(), key),
        None => {
            ("authorization".to_owned(), Secret::new(format!("Bearer {}", key.expose().trim())))
        }
    });
    let from_env = provider.env_headers.iter().filter_map(|(variable, header)| {
        env(variable).map(|value| ((*header).to_owned(), Secret::new(value)))
    });
    let own = settings.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    key.into_iter().chain(from_env).chain(own).collect()
}

/// The values, and credentials without their scheme: servers echo them on their own.
fn secrets(headers: &[(String, Secret)]) -> impl Iterator<Item = Secret> {
    headers.iter().map(|(_, value)| {
        let credential = ["Bearer ", "Basic ", "Token "]
            .into_iter()
            .find_map(|scheme| value.expose().strip_prefix(scheme));
        credential.map_or_else(|| value.clone(), Secret::from)
    })
}

/// The values of the URL's query: some gateways accept a key there, and servers echo the URL.
fn query_secrets(base: &Url) -> Vec<Secret> {
    base.query_pairs().map(|(_, value)| Secret::new(value)).collect()
}

/// Finds a key with a line break before anything is sent.
fn check_headers(base: &Url, headers: &[(String, Secret)]) -> Result<(), Fault> {
    for (name, value) in headers {
        if HttpRequest::get(base.clone()).secret_header(name, value).is_err() {
            let what = "a header of the model request contains characters that HTTP forbids";
            return Err(Fault::new(FaultCode::ModelSettingInvalid, format!("{what}: {name}"))
                .hint("look for line breaks in the key or header"));
        }
    }
    Ok(())
}

/// Fields that the wire sets itself: a second value would be ignored, or break the decoding of
/// the reply.
const OWN_FIELDS: [&str; 7] =
    ["model", "messages", "tools", "response_format", "stream", "stream_options", "n"];

fn check_extra(extra: &Map<String, Json>) -> Result<(), Fault> {
    let Some(field) = OWN_FIELDS.iter().find(|field| extra.contains_key(**field)) else {
        return Ok(());
    };
    let message =
        format!("`extra_body` must not contain a field that the request itself sets: `{field}`");
    Err(Fault::new(FaultCode::ModelSettingInvalid, message).with("field", *field))
}
