//! Access to servers that ask for OAuth.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::Url;
use async_trait::async_trait;
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationRequest, ClientCredentialsConfig, OAuthState,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::failure::quoted;
use super::redirect_server::{RedirectServer, parameter};
use super::settings::duration;
use super::token_store::TokenStore;

/// Who this client is at an authorization server. All fields may be empty: then the client is
/// registered on first use, if the server allows that.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthSettings {
    /// The id of a client that was registered before.
    pub client_id: String,
    /// Its secret. With an id, and nobody to open pages, access is asked for by these two alone.
    pub client_secret: String,
    /// The `https://` address of a document that describes the client, for servers that accept
    /// one in place of a registration.
    pub client_metadata_url: String,
    /// What to ask for; empty for what the server suggests.
    pub scopes: Vec<String>,
    /// The port of this machine to which a login leads back, for clients that were registered with
    /// one; 0 for any that is free.
    pub redirect_port: u16,
    /// The longest that a person may take to log in, in seconds; 300.
    pub timeout: f64,
    /// The file that keeps the tokens, which only its owner can read; empty to keep them in memory.
    /// One file may keep those of several servers.
    pub token_file: String,
}

impl Default for OAuthSettings {
    fn default() -> Self {
        Self {
            client_id: String::new(),
            client_secret: String::new(),
            client_metadata_url: String::new(),
            scopes: Vec::new(),
            redirect_port: 0,
            timeout: 300.0,
            token_file: String::new(),
        }
    }
}

impl std::fmt::Debug for OAuthSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuthSettings").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// Shows people the page on which they log in and permit access.
#[async_trait]
pub trait AuthorizationHandler: Send + Sync {
    /// Shows the page. Returns the full address to which it has led, if that is known; else the
    /// browser that shows the page has to be on this machine, where its redirect is awaited.
    ///
    /// # Errors
    /// Nobody could be shown the page.
    async fn show(&self, page: &str) -> Result<Option<String>, Fault>;
}

/// The authorization of one client at one server. It keeps the tokens and renews them.
pub(super) struct ServerAuthorization {
    url: Url,
    settings: OAuthSettings,
    /// The longest that a person may take.
    timeout: Duration,
    handler: Option<Arc<dyn AuthorizationHandler>>,
    tokens: TokenStore,
    client: OnceCell<AuthClient<reqwest::Client>>,
}

impl ServerAuthorization {
    /// None if there is nothing to ask for access with.
    pub(super) fn of(
        url: &Url,
        settings: OAuthSettings,
        handler: Option<Arc<dyn AuthorizationHandler>>,
    ) -> Result<Option<Self>, Fault> {
        antiphon_runtime::redact::register(&settings.client_secret);
        let timeout = duration(settings.timeout, "oauth.timeout")?;
        if handler.is_none() && settings.client_secret.is_empty() {
            return Ok(None);
        }
        let tokens = TokenStore::new(url.as_str(), &settings.token_file);
        let (url, client) = (url.clone(), OnceCell::new());
        Ok(Some(Self { url, settings, timeout, handler, tokens, client }))
    }

    /// The client that adds tokens to requests.
    pub(super) async fn client(
        &self,
        http: reqwest::Client,
    ) -> Result<AuthClient<reqwest::Client>, Fault> {
        let made = self
            .client
            .get_or_try_init(|| async { Ok(AuthClient::new(http, self.manager().await?)) });
        made.await.cloned()
    }

    /// Asks for access, as a server's challenge says.
    pub(super) async fn authorize(&self, challenge: &str) -> Result<(), Fault> {
        let Some(client) = self.client.get() else { return Ok(()) };
        let mut manager = client.auth_manager.lock().await;
        let before = std::mem::replace(&mut *manager, self.manager().await?);
        let mut state = OAuthState::Unauthorized(before);
        if let Some(handler) = &self.handler {
            self.ask(&mut state, &**handler, challenge).await?;
        } else {
            let credentials = self.client_credentials();
            let done = state.authenticate_client_credentials(credentials).await;
            done.map_err(|error| self.refused(&error))?;
        }
        if let Some(authorized) = state.into_authorization_manager() {
            *manager = authorized;
        }
        Ok(())
    }

    async fn ask(
        &self,
        state: &mut OAuthState,
        handler: &dyn AuthorizationHandler,
        challenge: &str,
    ) -> Result<(), Fault> {
        let refused = |error| self.refused(&error);
        let redirect = RedirectServer::listen(self.settings.redirect_port).await;
        let redirect = redirect.map_err(|error| self.unheard(&error))?;
        let request = self.request(redirect.uri(), challenge);
        state.start_authorization(request).await.map_err(refused)?;
        let page = state.get_authorization_url().await.map_err(refused)?;
        let answered = tokio::time::timeout(self.timeout, self.answer(handler, redirect, &page));
        let answer = answered.await.map_err(|_| {
            let seconds = self.timeout.as_secs_f64();
            self.denied(&format!("nobody has permitted it within {seconds} s"))
        })??;
        let error = Url::parse(&answer).ok().and_then(|answer| parameter(&answer, "error"));
        if let Some(error) = error {
            return Err(self.denied(&quoted(&error)));
        }
        state.handle_callback_url(&answer).await.map_err(refused)
    }

    /// The address to which the page has led.
    async fn answer(
        &self,
        handler: &dyn AuthorizationHandler,
        redirect: RedirectServer,
        page: &str,
    ) -> Result<String, Fault> {
        let url = Url::parse(page).map_err(|error| self.denied(&error.to_string()))?;
        let arrived = redirect.arrived(&url);
        tokio::pin!(arrived);
        tokio::select! {
            arrived = &mut arrived => arrived.map_err(|error| self.unheard(&error)),
            shown = handler.show(page) => match shown? {
                Some(answer) => Ok(answer),
                None => arrived.await.map_err(|error| self.unheard(&error)),
            },
        }
    }

    fn request(&self, redirect_uri: String, challenge: &str) -> AuthorizationRequest {
        let OAuthSettings { client_id, client_secret, client_metadata_url, scopes, .. } =
            &self.settings;
        let mut request = AuthorizationRequest::new(redirect_uri)
            .with_initial_scope_selection()
            .with_client_name("antiphon")
            .with_scopes(scopes)
            .with_challenge(challenge);
        if !client_id.is_empty() {
            request = request.with_preregistered_client(client_id);
        }
        if !client_secret.is_empty() {
            request = request.with_client_secret(client_secret);
        }
        if !client_metadata_url.is_empty() {
            request = request.with_client_metadata_url(client_metadata_url);
        }
        request
    }

    fn client_credentials(&self) -> ClientCredentialsConfig {
        let OAuthSettings { client_id, client_secret, scopes, .. } = self.settings.clone();
        let resource = Some(self.url.to_string());
        ClientCredentialsConfig::ClientSecret { client_id, client_secret, scopes, resource }
    }

    /// The library looks addresses of authorization servers up itself, and refuses private ones
    /// unless the server's own address is private.
    async fn manager(&self) -> Result<AuthorizationManager, Fault> {
        let refused = |error| self.refused(&error);
        let mut manager = AuthorizationManager::new(self.url.as_str()).await.map_err(refused)?;
        manager.set_credential_store(self.tokens.clone());
        manager.initialize_from_store().await.map_err(refused)?;
        Ok(manager)
    }

    fn refused(&self, error: &AuthError) -> Fault {
        self.no_access(&quoted(&error.to_string()))
            .hint("check the client's id, secret and scopes at the authorization server")
    }

    fn denied(&self, cause: &str) -> Fault {
        self.no_access(cause).hint("permit access on the page that is shown")
    }

    /// Nothing can be heard of the redirect.
    fn unheard(&self, error: &io::Error) -> Fault {
        let port = self.settings.redirect_port;
        self.no_access(&format!("nothing can listen on port {port} of this machine: {error}"))
            .hint("choose another `redirect_port` in `oauth`, or 0 for any that is free")
    }

    fn no_access(&self, cause: &str) -> Fault {
        let server = antiphon_net::without_secrets(&self.url);
        let message = format!("no access to the MCP server `{server}`: {cause}");
        Fault::new(FaultCode::McpUnauthorized, message).with("server", server)
    }
}
