//! Access to servers that ask for OAuth.

use std::sync::Arc;

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

/// Who this client is at an authorization server. All fields may be empty: then the client is
/// registered on first use, if the server allows that.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

impl std::fmt::Debug for OAuthSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuthSettings").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// Shows people the page on which they permit access.
#[async_trait]
pub trait AuthorizationHandler: Send + Sync {
    /// The address to which that page redirects, usually on this machine.
    fn redirect_uri(&self) -> String;

    /// Shows the page, waits until it redirects, and returns the full address of the redirect.
    ///
    /// # Errors
    /// Nobody could be shown the page, or access was not permitted.
    async fn authorize(&self, page: &str) -> Result<String, Fault>;
}

/// The authorization of one client at one server. It keeps the tokens in memory and renews them.
pub(super) struct ServerAuthorization {
    url: Url,
    settings: OAuthSettings,
    handler: Option<Arc<dyn AuthorizationHandler>>,
    client: OnceCell<AuthClient<reqwest::Client>>,
}

impl ServerAuthorization {
    /// None if there is nothing to ask for access with.
    pub(super) fn of(
        url: &Url,
        settings: OAuthSettings,
        handler: Option<Arc<dyn AuthorizationHandler>>,
    ) -> Option<Self> {
        antiphon_runtime::redact::register(&settings.client_secret);
        let usable = handler.is_some() || !settings.client_secret.is_empty();
        usable.then(|| Self { url: url.clone(), settings, handler, client: OnceCell::new() })
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
        let request = self.request(handler.redirect_uri(), challenge);
        let refused = |error| self.refused(&error);
        state.start_authorization(request).await.map_err(refused)?;
        let page = state.get_authorization_url().await.map_err(refused)?;
        let callback = handler.authorize(&page).await?;
        state.handle_callback_url(&callback).await.map_err(refused)
    }

    fn request(&self, redirect_uri: String, challenge: &str) -> AuthorizationRequest {
        let OAuthSettings { client_id, client_secret, client_metadata_url, scopes } =
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
        let manager = AuthorizationManager::new(self.url.as_str()).await;
        manager.map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &AuthError) -> Fault {
        let server = antiphon_net::without_secrets(&self.url);
        let cause = quoted(&error.to_string());
        let message = format!("no access to the MCP server `{server}`: {cause}");
        Fault::new(FaultCode::McpUnauthorized, message)
            .hint("check the client's id, secret and scopes at the authorization server")
            .with("server", server)
    }
}
