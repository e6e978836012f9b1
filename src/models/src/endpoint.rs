//! What a wire has to know about its server.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::{HttpRequest, Redactor, Secret, Url, is_this_machine, without_secrets};
use antiphon_runtime::redact;
use serde_json::{Map, Value as Json};

use crate::capabilities::{MaxTokensField, ModelCapabilities, StructuredOutput};
use crate::family::ModelFamily;
use crate::name::ModelName;
use crate::provider::Provider;
use crate::settings::ModelSettings;
use crate::wire::WireKind;

/// A model's endpoint: its address, its credentials, and what it accepts.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The full name, for messages.
    pub name: String,
    /// The server's name of the model.
    pub model: String,
    /// The API that it speaks.
    pub wire: WireKind,
    /// The URL that requests go to.
    pub url: Url,
    /// Headers that every request to the provider has.
    pub fixed_headers: &'static [(&'static str, &'static str)],
    /// Headers to send; their values may be keys.
    pub headers: Vec<(String, Secret)>,
    /// Fields to add to every body.
    pub extra_body: Map<String, Json>,
    /// Whether requests carry the call's idempotency key.
    pub idempotency_header: bool,
    /// What the model accepts.
    pub capabilities: ModelCapabilities,
    /// The time limit of one attempt.
    pub timeout: Duration,
    /// How long a stream may be silent.
    pub idle_timeout: Duration,
    /// The largest reply in bytes.
    pub max_reply_bytes: usize,
    /// Removes the endpoint's secrets from everything that its server says.
    pub redactor: Redactor,
}

impl Endpoint {
    /// Completes `settings` from the environment, the provider's row and the model's family.
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
        let credential = credential(provider, settings, &base, &env)?;
        check_extra(provider.wire, &settings.extra_body)?;
        let headers = headers(provider, credential, settings, &env);
        check_headers(&base, &headers)?;
        register_credentials(&headers, &base);
        Ok(Self {
            redactor: Redactor::new(secrets(&headers).chain(query_secrets(&base))),
            capabilities: capabilities(name, settings, &base),
            url: method_url(provider.wire, base),
            wire: provider.wire,
            fixed_headers: provider.fixed_headers,
            headers,
            extra_body: settings.extra_body.clone(),
            idempotency_header: settings.idempotency_header,
            timeout: settings.timeout,
            idle_timeout: settings.idle_timeout,
            max_reply_bytes: settings.max_reply_bytes,
            model: model.clone(),
            name: name.to_string(),
        })
    }
}

/// The user's settings count over the family, and that over the provider. Only api.openai.com
/// gets strict schemas: on other servers of its API the rewritten schema would lose keywords and
/// gain no guarantee.
fn capabilities(name: &ModelName, settings: &ModelSettings, base: &Url) -> ModelCapabilities {
    let ModelName { provider, model } = name;
    let mut known = provider.capabilities;
    if base.host_str() == Some("api.openai.com") {
        known.structured_output = StructuredOutput::Strict;
        known.max_tokens_field = MaxTokensField::MaxCompletionTokens;
    }
    known.with(&ModelFamily::overrides(provider.name, model)).with(&settings.capabilities)
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

/// Anthropic's addresses come without `/v1`, and those of others with it.
fn method_url(wire: WireKind, mut base: Url) -> Url {
    let folder = base.path().trim_end_matches('/');
    let path = match wire {
        WireKind::OpenAiChat => format!("{folder}/chat/completions"),
        WireKind::AnthropicMessages => format!("{}/v1/messages", folder.trim_end_matches("/v1")),
    };
    base.set_path(&path);
    base
}

/// The header that opens the server, and its value.
fn credential(
    provider: &Provider,
    settings: &ModelSettings,
    base: &Url,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<Option<(String, Secret)>, Fault> {
    let first = |variables: &[&str]| variables.iter().find_map(|variable| env(variable));
    let given = settings.api_key.clone().filter(|key| !key.expose().trim().is_empty());
    let key = given.or_else(|| first(provider.key_env).map(Secret::new));
    let bearer = |token: &Secret| {
        ("authorization".to_owned(), Secret::new(format!("Bearer {}", token.expose().trim())))
    };
    let header = match (key, provider.key_header) {
        (Some(key), Some(header)) => Some((header.to_owned(), key)),
        (Some(key), None) => Some(bearer(&key)),
        (None, _) => first(provider.bearer_env).map(|token| bearer(&Secret::new(token))),
    };
    if header.is_none() && provider.needs_key && !is_this_machine(base) {
        return Err(key_missing(provider, base));
    }
    Ok(header)
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
    credential: Option<(String, Secret)>,
    settings: &ModelSettings,
    env: &impl Fn(&str) -> Option<String>,
) -> Vec<(String, Secret)> {
    let from_env = provider.env_headers.iter().filter_map(|(variable, header)| {
        env(variable).map(|value| ((*header).to_owned(), Secret::new(value)))
    });
    let own = settings.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    credential.into_iter().chain(from_env).chain(own).collect()
}

/// The values, and credentials without their scheme: servers echo them on their own.
fn secrets(headers: &[(String, Secret)]) -> impl Iterator<Item = Secret> {
    headers.iter().map(|(_, value)| Secret::from(without_scheme(value.expose())))
}

fn without_scheme(value: &str) -> &str {
    let credential = ["Bearer ", "Basic ", "Token "].iter().find_map(|it| value.strip_prefix(it));
    credential.unwrap_or(value)
}

/// Has keys removed from everything that models and tools say. Other headers and fields of the
/// query, such as a media type or a version, are words that a reply may need.
fn register_credentials(headers: &[(String, Secret)], base: &Url) {
    for (name, value) in headers {
        if is_credential(name) {
            redact::register(without_scheme(value.expose()));
        }
    }
    for (name, value) in base.query_pairs() {
        if is_credential(&name) {
            redact::register(&value);
        }
    }
}

fn is_credential(name: &str) -> bool {
    const WORDS: [&str; 7] = ["auth", "key", "token", "secret", "password", "cookie", "sig"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
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

fn check_extra(wire: WireKind, extra: &Map<String, Json>) -> Result<(), Fault> {
    let Some(field) = wire.own_fields().iter().find(|field| extra.contains_key(**field)) else {
        return Ok(());
    };
    let message =
        format!("`extra_body` must not contain a field that the request itself sets: `{field}`");
    Err(Fault::new(FaultCode::ModelSettingInvalid, message).with("field", *field))
}
