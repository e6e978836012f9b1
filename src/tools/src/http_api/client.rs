//! The exchange with an API.

use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_net::{
    AddressPolicy, GuardedClient, GuardedOptions, HttpError, HttpReply, HttpRequest, Method,
    Redactor, RedirectRefusal, Secret, Url, redirect, retry_after, within, without_secrets,
};
use antiphon_runtime::CallContext;

use super::adjustment;
use super::auth::{ApiPrincipal, AuthProfile, KeyLocation, basic};
use super::call::{ApiCall, PreparedCall};
use super::catalogue::{ApiCatalogue, ApiEndpoint};
use super::fault;
use super::options::ApiOptions;
use super::reply::ApiReply;
use super::request_note::RequestNote;
use super::token::{TokenCache, TokenRequest};

mod attempt_fault;

/// How many redirects within the API are followed.
const REDIRECTS: usize = 3;

/// The longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The pause before a repetition that the server did not ask for.
const PAUSE: Duration = Duration::from_millis(500);

/// How much of an error reply is read, in bytes.
const ERROR_BYTES: usize = 64_000;

/// A call that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiExchange {
    /// The reply.
    pub reply: ApiReply,
    /// The URL without query.
    pub url: String,
    /// How many requests were sent.
    pub requests: usize,
    /// What happened on the way: a token that was renewed or could not be had, parameters that were
    /// added.
    pub notes: Vec<String>,
}

/// An API that can be called.
#[derive(Debug)]
pub struct HttpApi {
    catalogue: ApiCatalogue,
    base: Url,
    auth: AuthProfile,
    client: GuardedClient,
    tokens: TokenCache,
    options: ApiOptions,
}

impl HttpApi {
    /// An API at `base_url`, or else at the address in its catalogue. Connects to nothing.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`: there is no usable address, or the auth
    /// profile is incomplete.
    pub fn new(
        catalogue: ApiCatalogue,
        base_url: Option<&str>,
        auth: AuthProfile,
        policy: AddressPolicy,
        options: ApiOptions,
    ) -> Result<Self, Fault> {
        auth.check()?;
        if adjustment::time_zone(&options.timezone).is_none() {
            let problem = format!("`timezone` is no IANA time zone: {}", options.timezone);
            return Err(fault::setting(problem, "write for instance Europe/Berlin"));
        }
        let added = (&*options.adjustments, &options.known_values);
        if let Some(unknown) = adjustment::unknown_placeholder(added.0, added.1) {
            let problem = format!("a value of a parameter has an unknown placeholder: {unknown}");
            return Err(fault::setting(problem, "write {today} for the date of the call"));
        }
        let hint = "set `base_url` to an http or https URL such as https://api.example.com/v1";
        let text = base_url.or(catalogue.base_url.as_deref());
        let text = text.ok_or_else(|| fault::setting("`base_url` is missing", hint))?;
        let base = Url::parse(text).ok().filter(|url| {
            let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
            is_web && url.username().is_empty() && url.password().is_none()
        });
        let base = base.ok_or_else(|| {
            let problem = "`base_url` must be an http or https URL without user and password";
            fault::setting(problem, hint)
        })?;
        // Redirects are followed here, because an API must not send its caller elsewhere.
        let guarded = GuardedOptions { max_redirects: 0, ..GuardedOptions::default() };
        let client = GuardedClient::new(policy, guarded);
        for secret in auth.secrets() {
            antiphon_runtime::redact::register(secret.expose());
        }
        Ok(Self { catalogue, base, auth, client, tokens: TokenCache::default(), options })
    }

    /// Its endpoints.
    pub const fn catalogue(&self) -> &ApiCatalogue {
        &self.catalogue
    }

    /// The date for parameters that are added, in the time zone of the call; nothing if none is a date.
    fn today(&self, endpoint: &ApiEndpoint, call: &ApiCall, now: Time) -> Result<String, Fault> {
        let ApiOptions { adjustments, known_values, timezone, .. } = &self.options;
        if !adjustment::need_date(adjustments, known_values) {
            return Ok(String::new());
        }
        let name = call.timezone.as_deref().unwrap_or(timezone);
        let zone = adjustment::time_zone(name).ok_or_else(|| {
            let problem = format!("`timezone` is no IANA time zone: {name}");
            fault::call(&problem, &endpoint.id())
        })?;
        Ok(adjustment::date_in(zone, now))
    }

    /// Calls an endpoint of the catalogue for a principal.
    ///
    /// A 401 renews a fetched token once. A 400 or 422 adds parameters once, by the rules of the
    /// options. Methods that only read are repeated once after a lost connection, 429, 502, 503
    /// and 504. Redirects are followed within the origin of the API. If no token can be fetched, a
    /// method that only reads is sent without one. The notes of `cx` are told of each request.
    ///
    /// # Errors
    /// `api_call_invalid`, `api_call_rejected`, `api_unauthorized`, `api_token_failed`,
    /// `api_server_failed`, `api_timeout`, and those of [`HttpError`]. No fault contains a secret.
    pub async fn call(
        &self,
        endpoint: &ApiEndpoint,
        call: ApiCall,
        principal: &ApiPrincipal,
        cx: &CallContext,
    ) -> Result<ApiExchange, Fault> {
        let today = self.today(endpoint, &call, cx.clock.now())?;
        let left = cx.deadline.map(|deadline| deadline.since(cx.clock.now()));
        let limit = left.map_or(self.options.timeout, |left| left.min(self.options.timeout));
        let until = cx.clock.now() + limit;
        let mut attempt = CallAttempt {
            api: self,
            endpoint,
            call,
            auth: principal.auth(&self.auth),
            principal,
            cx,
            until,
            today,
            token: None,
            token_fault: None,
            url: String::new(),
            secrets: principal.auth(&self.auth).secrets(),
            requests: 0,
            notes: Vec::new(),
            is_renewed: false,
            is_adjusted: false,
            is_repeated: false,
        };
        let outcome = within(cx.clock.as_ref(), Some(limit), attempt.run()).await;
        let late = || Err(fault::timeout(&endpoint.id(), limit.as_secs_f64()));
        outcome.unwrap_or_else(late).map_err(|fault| attempt.explained(fault))
    }
}

/// One call, with what its repetitions have used up.
struct CallAttempt<'c> {
    api: &'c HttpApi,
    endpoint: &'c ApiEndpoint,
    call: ApiCall,
    auth: &'c AuthProfile,
    principal: &'c ApiPrincipal,
    cx: &'c CallContext,
    until: Time,
    /// The date in the time zone of the call.
    today: String,
    token: Option<Secret>,
    /// Why there is no token.
    token_fault: Option<Fault>,
    /// The URL of the last request, without query and secrets.
    url: String,
    secrets: Vec<Secret>,
    requests: usize,
    notes: Vec<String>,
    is_renewed: bool,
    is_adjusted: bool,
    is_repeated: bool,
}

/// How a call goes on after a reply.
enum NextStep {
    Finish(Box<ApiExchange>),
    Repeat,
    Fail(Fault),
}

impl<'c> CallAttempt<'c> {
    async fn run(&mut self) -> Result<ApiExchange, Fault> {
        loop {
            let prepared = PreparedCall::new(self.endpoint, &self.call, &self.api.base)?;
            let request = self.request(&prepared).await?;
            self.url = self.redactor().clean(&without_secrets(request.url()));
            let step = match self.send(request).await {
                Ok((reply, note)) => self.decide(reply, note).await,
                Err(error) => Err(error),
            };
            match step {
                Ok(NextStep::Finish(exchange)) => return Ok(*exchange),
                Ok(NextStep::Repeat) => {}
                Ok(NextStep::Fail(fault)) => return Err(fault),
                // Also if it breaks off within the body.
                Err(error) if self.may_repeat() && is_transient(&error) => {
                    self.is_repeated = true;
                    self.pause(PAUSE).await;
                }
                Err(error) => return Err(self.clean(Fault::from(error))),
            }
        }
    }

    /// The request with what identifies the caller.
    async fn request(&mut self, prepared: &PreparedCall<'_>) -> Result<HttpRequest, Fault> {
        let method = Method::from_bytes(self.endpoint.method.as_bytes())
            .map_err(|_| HttpError::BadMethod(self.endpoint.method.clone()))?;
        let mut url = prepared.url().clone();
        let auth = if self.endpoint.requires_auth { self.auth } else { &AuthProfile::None };
        if let AuthProfile::ApiKey { name, key, location: KeyLocation::Query } = auth {
            url.query_pairs_mut().append_pair(name, key.secret().expose());
        }
        let mut request = HttpRequest::new(method, url)
            .header("accept", "application/json, text/csv;q=0.9, text/*;q=0.8, */*;q=0.1")?;
        for (name, value) in prepared.headers() {
            request = request.header(name, value)?;
        }
        if let Some(body) = prepared.body() {
            request = request.body(body.to_owned()).header("content-type", "application/json")?;
        }
        if let Some(key) = &self.cx.idempotency_key
            && !self.endpoint.is_read()
        {
            request = request.header("idempotency-key", key)?;
        }
        let header = match auth {
            AuthProfile::None | AuthProfile::ApiKey { location: KeyLocation::Query, .. } => None,
            AuthProfile::Bearer { token } => Some(bearer(token.secret())),
            AuthProfile::Basic { user, password } => {
                let login = basic(user, password.secret());
                Some(("authorization", Secret::new(format!("Basic {}", login.expose()))))
            }
            AuthProfile::ApiKey { name, key, .. } => Some((name.as_str(), key.secret().clone())),
            AuthProfile::Token(_) => self.first_token().await?.as_ref().map(bearer),
        };
        match header {
            Some((name, value)) => Ok(request.secret_header(name, &value)?),
            None => Ok(request),
        }
    }

    /// The token of the principal; none if it cannot be had, and the endpoint only reads: whether it
    /// may be read without one is for the API to say.
    async fn first_token(&mut self) -> Result<Option<Secret>, Fault> {
        if self.token_fault.is_some() {
            return Ok(None);
        }
        match self.fetch_token(None).await {
            Ok(token) => Ok(Some(token)),
            Err(fault) if self.endpoint.is_read() => {
                let said = self.redactor().clean(&fault.message);
                self.notes.push(format!("the request was sent without a token: {said}"));
                self.token_fault = Some(fault);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// The token of the principal; after `refused`, another one.
    async fn fetch_token(&mut self, refused: Option<Secret>) -> Result<Secret, Fault> {
        if let (None, Some(token)) = (&refused, &self.token) {
            return Ok(token.clone());
        }
        let request = TokenRequest {
            client: &self.api.client,
            clock: self.cx.clock.as_ref(),
            principal: self.principal.name(),
            auth: self.auth,
        };
        let token = self.api.tokens.token(&request, refused.as_ref()).await?;
        antiphon_runtime::redact::register(token.expose());
        self.secrets.push(token.clone());
        self.token = Some(token.clone());
        Ok(token)
    }

    /// Sends a request, and follows redirects within the origin of the API. The note of the last
    /// one waits for the body of the reply.
    async fn send(
        &mut self,
        request: HttpRequest,
    ) -> Result<(HttpReply, RequestNote<'c>), HttpError> {
        self.requests += 1;
        let mut request = request;
        for _ in 0..=REDIRECTS {
            let url = self.redactor().clean(&without_secrets(request.url()));
            let note = RequestNote::begin(self.cx, request.method().to_string(), url);
            let reply = match self.api.client.send(&request).await {
                Ok(reply) => reply,
                Err(error) => {
                    note.failed(self.redactor().clean(&error.to_string()));
                    return Err(error);
                }
            };
            let status = reply.status();
            let location = reply.header("location").filter(|_| (300..400).contains(&status));
            let Some(location) = location else { return Ok((reply, note)) };
            note.answered(status);
            let next = redirect::follow(&request, status, location)?;
            if next.url().origin() != self.api.base.origin() {
                let method = request.method().to_string();
                let to = without_secrets(next.url());
                return Err(RedirectRefusal::OtherOrigin { method, to }.into());
            }
            request = next;
        }
        Err(RedirectRefusal::TooMany { limit: REDIRECTS }.into())
    }

    async fn decide(
        &mut self,
        reply: HttpReply,
        mut note: RequestNote<'c>,
    ) -> Result<NextStep, HttpError> {
        let status = reply.status();
        note.status(status);
        if (200..300).contains(&status) || status == 304 {
            return Ok(NextStep::Finish(Box::new(self.finish(reply, note).await?)));
        }
        let asked = retry_after(|name| reply.header(name), self.cx.clock.now());
        // Half of what an error says is better than nothing.
        let said = reply.beginning(ERROR_BYTES).await;
        note.answered(status);
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(self.after_refusal(status, &said, asked).await)
    }

    /// How the call goes on after a status that is no success.
    async fn after_refusal(
        &mut self,
        status: u16,
        said: &str,
        asked: Option<Duration>,
    ) -> NextStep {
        match status {
            401 if self.may_renew() => match self.renew().await {
                Ok(true) => return NextStep::Repeat,
                Ok(false) => {}
                Err(fault) => return NextStep::Fail(fault.with("status", status)),
            },
            401 | 403 if self.token_fault.is_some() => {
                let fault = self.token_fault.take();
                let fault = fault.unwrap_or_else(|| self.failure(status, said, asked));
                return NextStep::Fail(fault.with("status", status));
            }
            400 | 422 if self.may_adjust() && self.adjust(said) => return NextStep::Repeat,
            429 if self.cx.has_alternative => {}
            429 | 502..=504 if self.may_repeat() => {
                let pause = asked.unwrap_or(PAUSE);
                let left = self.until.since(self.cx.clock.now());
                if pause < left && pause <= LONGEST_PAUSE {
                    self.is_repeated = true;
                    self.pause(pause).await;
                    return NextStep::Repeat;
                }
            }
            _ => {}
        }
        NextStep::Fail(self.failure(status, said, asked))
    }

    const fn may_send(&self) -> bool {
        self.requests < self.api.options.max_requests
    }

    /// A method that changes something may have done so, whatever the connection says.
    fn may_repeat(&self) -> bool {
        self.may_send() && !self.is_repeated && self.endpoint.is_read()
    }

    const fn may_adjust(&self) -> bool {
        self.may_send() && !self.is_adjusted
    }

    fn may_renew(&self) -> bool {
        self.may_send() && !self.is_renewed && self.token.is_some()
    }

    /// Whether there is another token now.
    async fn renew(&mut self) -> Result<bool, Fault> {
        self.is_renewed = true;
        let refused = self.token.clone();
        let token = self.fetch_token(refused.clone()).await?;
        let is_new = refused.is_none_or(|refused| refused.expose() != token.expose());
        if is_new {
            self.notes.push("the token was renewed after status 401".to_owned());
        }
        Ok(is_new)
    }

    /// Whether the server's message asks for something that is known.
    fn adjust(&mut self, said: &str) -> bool {
        let options = &self.api.options;
        self.is_adjusted = true;
        let (rules, known) = (&options.adjustments, &options.known_values);
        let about = (said, self.today.as_str());
        let added = adjustment::adjust(&mut self.call, self.endpoint, rules, known, about);
        if !added.is_empty() {
            let added = added.join(", ");
            self.notes
                .push(format!("parameters were added after the server asked for them: {added}"));
        }
        !added.is_empty()
    }

    fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets.iter().cloned())
    }

    async fn pause(&self, pause: Duration) {
        self.cx.clock.sleep(pause).await;
    }

    async fn finish(
        &mut self,
        reply: HttpReply,
        note: RequestNote<'c>,
    ) -> Result<ApiExchange, HttpError> {
        let status = reply.status();
        let content_type = reply.header("content-type").unwrap_or_default().to_owned();
        let body = match reply.body(self.api.options.max_bytes).await {
            Ok(body) => body,
            Err(error) => {
                note.failed(self.redactor().clean(&error.to_string()));
                return Err(error);
            }
        };
        note.answered(status);
        let limits = &self.api.options.reply;
        let reply = ApiReply::read(status, &content_type, &body, limits, &self.redactor());
        let notes = std::mem::take(&mut self.notes);
        Ok(ApiExchange { reply, url: self.url.clone(), requests: self.requests, notes })
    }
}

fn bearer(token: &Secret) -> (&'static str, Secret) {
    ("authorization", Secret::new(format!("Bearer {}", token.expose())))
}

const fn is_transient(error: &HttpError) -> bool {
    matches!(error, HttpError::Unreachable { .. } | HttpError::Cut { .. })
}
