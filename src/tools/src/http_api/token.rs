//! Tokens that are fetched, kept, and fetched again.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_net::{GuardedClient, Redactor, Secret, Url, without_secrets};
use antiphon_runtime::Clock;
use serde_json::Value as Json;

use super::auth::AuthProfile;
use super::fault;

/// A token is renewed so long before it expires, or after half of its life if that is shorter.
const GRACE: Duration = Duration::from_mins(2);

/// The life of a token whose endpoint does not say.
const USUAL_LIFE: Duration = Duration::from_hours(1);

/// The longest life that is believed.
const LONGEST_LIFE: Duration = Duration::from_hours(720);

/// The largest reply of a token endpoint in bytes.
const LARGEST_REPLY: usize = 100_000;

/// The most principals whose tokens are kept.
const MOST_KEPT: usize = 1_000;

/// A token and when to renew it.
#[derive(Clone, Debug)]
struct KeptToken {
    token: Secret,
    renew_at: Time,
}

/// The place of one principal's token. Concurrent calls wait for the one that fetches it.
type TokenSlot = Arc<tokio::sync::Mutex<Option<KeptToken>>>;

/// The tokens of an API, for each principal and auth profile. They are never stored.
#[derive(Debug, Default)]
pub struct TokenCache {
    slots: Mutex<BTreeMap<(String, u64), TokenSlot>>,
}

/// What a token is fetched with.
pub(super) struct TokenRequest<'r> {
    pub(super) client: &'r GuardedClient,
    pub(super) clock: &'r dyn Clock,
    pub(super) principal: &'r str,
    pub(super) auth: &'r AuthProfile,
}

impl TokenCache {
    /// The token of the principal. `refused` is one that the API has just refused: it is replaced,
    /// unless another call has done so.
    pub(super) async fn token(
        &self,
        request: &TokenRequest<'_>,
        refused: Option<&Secret>,
    ) -> Result<Secret, Fault> {
        let slot = self.slot(request);
        let mut kept = slot.lock().await;
        let now = request.clock.now();
        if let Some(known) = &*kept
            && now < known.renew_at
            && refused.is_none_or(|refused| refused.expose() != known.token.expose())
        {
            return Ok(known.token.clone());
        }
        *kept = None;
        let (token, life) = fetch(request).await?;
        let life = life.min(LONGEST_LIFE);
        let renew_at = now + life.saturating_sub(GRACE.min(life / 2));
        *kept = Some(KeptToken { token: token.clone(), renew_at });
        Ok(token)
    }

    fn slot(&self, request: &TokenRequest<'_>) -> TokenSlot {
        let key = (request.principal.to_owned(), fingerprint(request.auth));
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST_KEPT && !slots.contains_key(&key) {
            // Those that nobody uses now; the next call of their principals fetches again.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(key).or_default())
    }
}

/// Tells auth profiles apart without keeping a second copy of their secrets.
fn fingerprint(auth: &AuthProfile) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{auth:?}").hash(&mut hasher);
    for secret in auth.secrets() {
        secret.expose().hash(&mut hasher);
    }
    hasher.finish()
}

async fn fetch(request: &TokenRequest<'_>) -> Result<(Secret, Duration), Fault> {
    let AuthProfile::Token(profile) = request.auth else {
        return Err(fault::token("none", "the auth profile has no token endpoint"));
    };
    let url = Url::parse(&profile.url).map_err(|_| fault::token("none", "its URL is malformed"))?;
    let place = without_secrets(&url);
    let redactor = Redactor::new(request.auth.secrets());
    let failed = |problem: &str| fault::token(&place, &redactor.clean(problem));
    let sent = profile.request().map_err(|error| failed(&error.to_string()))?;
    let reply = request.client.send(&sent).await.map_err(|error| failed(&error.to_string()))?;
    let status = reply.status();
    let body = reply.beginning(LARGEST_REPLY).await;
    let text = String::from_utf8_lossy(&body);
    if !(200..300).contains(&status) {
        let said: String = text.chars().take(300).collect();
        return Err(failed(&format!("status {status}: {said}")));
    }
    let Ok(json) = serde_json::from_str::<Json>(&text) else {
        return Err(failed("its reply is no JSON"));
    };
    let token = ["access_token", "id_token", "idToken", "accessToken", "token"]
        .into_iter()
        .find_map(|name| json.get(name)?.as_str());
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        return Err(failed("its reply contains no token"));
    };
    Ok((Secret::new(token), life(&json)))
}

/// The seconds may be a number or a text.
fn life(json: &Json) -> Duration {
    let seconds = ["expires_in", "expiresIn"].into_iter().find_map(|name| {
        let value = json.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    seconds.map_or(USUAL_LIFE, Duration::from_secs)
}
