//! Who calls an API.

use antiphon_core::Fault;
use antiphon_net::{Secret, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault;
use crate::secret_text::SecretText;

/// Where an API key goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyLocation {
    /// A header.
    #[default]
    Header,
    /// The query of the URL.
    Query,
}

/// How a token is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenGrant {
    /// OAuth 2.0 for a program, by its id and secret.
    #[default]
    ClientCredentials,
    /// OAuth 2.0 with a refresh token.
    RefreshToken,
    /// A user name and a password.
    Password,
}

impl TokenGrant {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client_credentials",
            Self::RefreshToken => "refresh_token",
            Self::Password => "password",
        }
    }
}

/// How a caller identifies itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum AuthProfile {
    /// Not at all.
    #[default]
    None,
    /// `Authorization: Bearer …` with a token that is given.
    Bearer {
        /// The token.
        token: SecretText,
    },
    /// `Authorization: Basic …`.
    Basic {
        /// The user name.
        user: String,
        /// The password.
        password: SecretText,
    },
    /// A key in a header or in the query.
    ApiKey {
        /// The name of the header or parameter, such as `X-API-Key`.
        name: String,
        /// The key.
        key: SecretText,
        /// Where it goes.
        #[serde(default)]
        location: KeyLocation,
    },
    /// A token that is fetched from a token endpoint, kept until it expires, and fetched again
    /// once when the API answers 401.
    Token {
        /// The address of the token endpoint.
        url: String,
        /// What is sent there.
        #[serde(default)]
        grant: TokenGrant,
        /// The id of the program.
        #[serde(default)]
        client_id: Option<String>,
        /// The secret of the program.
        #[serde(default)]
        client_secret: Option<SecretText>,
        /// The user name, for the grant `password`.
        #[serde(default)]
        username: Option<String>,
        /// The password, for the grant `password`.
        #[serde(default)]
        password: Option<SecretText>,
        /// The refresh token, for the grant `refresh_token`.
        #[serde(default)]
        refresh_token: Option<SecretText>,
        /// What the token may be used for.
        #[serde(default)]
        scope: Option<String>,
        /// Whom the token is for.
        #[serde(default)]
        audience: Option<String>,
    },
}

impl AuthProfile {
    /// Everything in it that must not be shown.
    pub fn secrets(&self) -> Vec<Secret> {
        let texts: Vec<&SecretText> = match self {
            Self::None => Vec::new(),
            Self::Bearer { token } => vec![token],
            Self::Basic { password, .. } => vec![password],
            Self::ApiKey { key, .. } => vec![key],
            Self::Token { client_secret, password, refresh_token, .. } => {
                [client_secret, password, refresh_token].into_iter().flatten().collect()
            }
        };
        let mut secrets: Vec<Secret> =
            texts.into_iter().map(|text| text.secret().clone()).collect();
        if let Self::Basic { user, password } = self {
            secrets.push(basic(user, password.secret()));
        }
        secrets
    }

    /// Checks what can be known before the first call.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` that names the field.
    pub fn check(&self) -> Result<(), Fault> {
        let missing = |field: &str| {
            let problem = format!("the auth profile lacks a field: {field}");
            Err(fault::setting(problem, "set it in `auth`"))
        };
        match self {
            Self::Bearer { token } if token.is_empty() => missing("token"),
            Self::ApiKey { key, .. } if key.is_empty() => missing("key"),
            Self::ApiKey { name, .. } if name.trim().is_empty() => missing("name"),
            Self::Token { url, .. } if !is_web_url(url) => {
                Err(fault::setting("`url` of the auth profile must be an http or https URL", ""))
            }
            Self::Token { grant, client_id, username, password, refresh_token, .. } => {
                match grant {
                    TokenGrant::ClientCredentials if client_id.is_none() => missing("client_id"),
                    TokenGrant::RefreshToken if refresh_token.is_none() => missing("refresh_token"),
                    TokenGrant::Password if username.is_none() => missing("username"),
                    TokenGrant::Password if password.is_none() => missing("password"),
                    _ => Ok(()),
                }
            }
            Self::None | Self::Bearer { .. } | Self::Basic { .. } | Self::ApiKey { .. } => Ok(()),
        }
    }
}

fn is_web_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// User and password as HTTP sends them.
pub(super) fn basic(user: &str, password: &Secret) -> Secret {
    use base64::Engine;
    let pair = format!("{user}:{}", password.expose());
    Secret::new(base64::engine::general_purpose::STANDARD.encode(pair))
}

/// For whom a call is made. Tokens are kept for each principal, and never used for another.
#[derive(Clone, Debug, Default)]
pub struct ApiPrincipal {
    name: String,
    auth: Option<AuthProfile>,
}

impl ApiPrincipal {
    /// A principal who calls with the auth profile of the API.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), auth: None }
    }

    /// Sets an auth profile of its own.
    ///
    /// # Errors
    /// As [`AuthProfile::check`].
    pub fn with_auth(mut self, auth: AuthProfile) -> Result<Self, Fault> {
        auth.check()?;
        self.auth = Some(auth);
        Ok(self)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its auth profile, or that of the API.
    pub(super) fn auth<'p>(&'p self, of_api: &'p AuthProfile) -> &'p AuthProfile {
        self.auth.as_ref().unwrap_or(of_api)
    }
}
