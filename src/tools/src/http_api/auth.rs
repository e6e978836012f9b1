//! Who calls an API.

use antiphon_core::Fault;
use antiphon_net::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault;
use super::token_profile::TokenProfile;
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
    Token(Box<TokenProfile>),
}

impl AuthProfile {
    /// Everything in it that must not be shown.
    pub fn secrets(&self) -> Vec<Secret> {
        let texts: Vec<&SecretText> = match self {
            Self::None => Vec::new(),
            Self::Bearer { token } => vec![token],
            Self::Basic { password, .. } => vec![password],
            Self::ApiKey { key, .. } => vec![key],
            Self::Token(profile) => profile.secrets(),
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
        let missing = |field: &str| Err(lacks(field));
        match self {
            Self::Bearer { token } if token.is_empty() => missing("token"),
            Self::ApiKey { key, .. } if key.is_empty() => missing("key"),
            Self::ApiKey { name, .. } if name.trim().is_empty() => missing("name"),
            Self::Token(profile) => profile.check(),
            Self::None | Self::Bearer { .. } | Self::Basic { .. } | Self::ApiKey { .. } => Ok(()),
        }
    }
}

/// The fault of a field that is missing.
pub(super) fn lacks(field: &str) -> Fault {
    let problem = format!("the auth profile lacks a field: {field}");
    fault::setting(problem, "set it in `auth`")
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
