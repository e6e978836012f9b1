//! What a token endpoint is asked with.

use std::collections::BTreeMap;

use antiphon_core::Fault;
use antiphon_net::{HttpError, HttpRequest, Method, Secret, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::auth::{basic, lacks};
use super::call::UNRESERVED;
use super::fault;
use crate::secret_text::SecretText;

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
    /// The fields that are given, and no others: a login that is not one of OAuth 2.0.
    Custom,
}

/// How the fields of the request are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenBody {
    /// As those of a form, which OAuth 2.0 demands.
    #[default]
    Form,
    /// As an object of JSON.
    Json,
}

/// A token endpoint, and what it is asked with.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenProfile {
    /// The address of the token endpoint.
    pub url: String,
    /// What is sent there.
    pub grant: TokenGrant,
    /// The id of the program.
    pub client_id: Option<String>,
    /// The secret of the program.
    pub client_secret: Option<SecretText>,
    /// The user name, for the grant `password`.
    pub username: Option<String>,
    /// The password, for the grant `password`.
    pub password: Option<SecretText>,
    /// The refresh token, for the grant `refresh_token`.
    pub refresh_token: Option<SecretText>,
    /// What the token may be used for.
    pub scope: Option<String>,
    /// Whom the token is for.
    pub audience: Option<String>,
    /// How the fields are written.
    pub body: TokenBody,
    /// Further fields of the request, such as `email`; in a form only texts, numbers and booleans.
    pub fields: Map<String, Json>,
    /// Further fields that are secret.
    pub secret_fields: BTreeMap<String, SecretText>,
    /// Parameters of the URL, which are secret, such as the key of an API.
    pub query: BTreeMap<String, SecretText>,
}

impl TokenProfile {
    /// Everything in it that must not be shown.
    pub(super) fn secrets(&self) -> Vec<&SecretText> {
        let Self { client_secret, password, refresh_token, secret_fields, query, .. } = self;
        let named = [client_secret, password, refresh_token].into_iter().flatten();
        named.chain(secret_fields.values()).chain(query.values()).collect()
    }

    /// Checks what can be known before the first call.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` that names the field.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if !is_web_url(&self.url) {
            let problem = "`url` of the auth profile must be an http or https URL";
            return Err(fault::setting(problem, ""));
        }
        let missing = match self.grant {
            TokenGrant::ClientCredentials => self.client_id.is_none().then_some("client_id"),
            TokenGrant::RefreshToken => self.refresh_token.is_none().then_some("refresh_token"),
            TokenGrant::Password if self.username.is_none() => Some("username"),
            TokenGrant::Password => self.password.is_none().then_some("password"),
            TokenGrant::Custom => {
                (self.fields.is_empty() && self.secret_fields.is_empty()).then_some("fields")
            }
        };
        if let Some(field) = missing {
            return Err(lacks(field));
        }
        let is_nested = |value: &Json| value.is_object() || value.is_array();
        let nested = self.fields.iter().find(|(_, value)| is_nested(value));
        match (self.body, nested) {
            (TokenBody::Form, Some((name, _))) => {
                let problem = format!("a form cannot hold a list or an object: {name}");
                Err(fault::setting(problem, "set `body` to `json` in `auth`"))
            }
            _ => Ok(()),
        }
    }

    /// The request for a token.
    pub(super) fn request(&self) -> Result<HttpRequest, HttpError> {
        let mut url = Url::parse(&self.url).map_err(|_| HttpError::BadUrl(String::new()))?;
        for (name, value) in &self.query {
            url.query_pairs_mut().append_pair(name, value.secret().expose());
        }
        let kind = match self.body {
            TokenBody::Form => "application/x-www-form-urlencoded",
            TokenBody::Json => "application/json",
        };
        let mut request = HttpRequest::new(Method::POST, url)
            .header("content-type", kind)?
            .header("accept", "application/json")?;
        let mut fields = self.usual_fields();
        if self.grant != TokenGrant::Custom {
            match (&self.client_id, &self.client_secret) {
                (Some(id), Some(secret)) => {
                    let login = basic(id, secret.secret());
                    let value = Secret::new(format!("Basic {}", login.expose()));
                    request = request.secret_header("authorization", &value)?;
                }
                (Some(id), None) => fields.push(("client_id", Json::from(id.as_str()))),
                _ => {}
            }
        }
        let own = self.fields.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let secret = self.secret_fields.iter();
        let secret = secret.map(|(name, text)| (name.as_str(), Json::from(text.secret().expose())));
        fields.extend(own.chain(secret));
        let body = match self.body {
            TokenBody::Form => form(&fields),
            TokenBody::Json => {
                let named = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
                Json::Object(named.collect()).to_string()
            }
        };
        Ok(request.body(body))
    }

    /// The fields of OAuth 2.0.
    fn usual_fields(&self) -> Vec<(&str, Json)> {
        let grant = match self.grant {
            TokenGrant::ClientCredentials => "client_credentials",
            TokenGrant::RefreshToken => "refresh_token",
            TokenGrant::Password => "password",
            TokenGrant::Custom => return Vec::new(),
        };
        let secret = |text: &'_ Option<SecretText>| {
            text.as_ref().map(|text| text.secret().expose().to_owned())
        };
        let fields = [
            ("grant_type", Some(grant.to_owned())),
            ("username", self.username.clone()),
            ("password", secret(&self.password)),
            ("refresh_token", secret(&self.refresh_token)),
            ("scope", self.scope.clone()),
            ("audience", self.audience.clone()),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, Json::from(value?)))).collect()
    }
}

fn is_web_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn form(fields: &[(&str, Json)]) -> String {
    use percent_encoding::utf8_percent_encode;
    let encode = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
    let text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let given = fields.iter().filter(|(_, value)| !value.is_null());
    let pairs = given.map(|(name, value)| format!("{}={}", encode(name), encode(&text(value))));
    pairs.collect::<Vec<_>>().join("&")
}
