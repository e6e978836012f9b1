//! Removes secrets from text that leaves the process: servers echo the keys that they refuse,
//! whole or in part.

use antiphon_runtime::redact::{MASK, spellings};

use crate::secret::Secret;

/// A prefix of so many characters identifies a secret.
const PREFIX: usize = 8;

/// Shorter secrets protect nothing.
const SHORTEST: usize = 4;

/// Removes the secrets of one endpoint from any text.
///
/// ```
/// use antiphon_net::{Redactor, Secret};
/// let redactor = Redactor::new([Secret::new("sk-live-4f9a")]);
/// assert_eq!(redactor.clean("bad key: sk-live-4f9a"), "bad key: ***");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// Each secret in every encoding that a server may echo.
    spellings: Vec<Secret>,
}

impl Redactor {
    /// A redactor of `secrets`. Those of fewer than 4 characters are ignored: a local server's
    /// `x` would be removed from every word.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut known: Vec<String> = Vec::new();
        for secret in secrets {
            let plain = secret.expose().trim();
            if plain.chars().count() < SHORTEST {
                continue;
            }
            for spelling in spellings(plain) {
                if !known.contains(&spelling) {
                    known.push(spelling);
                }
            }
        }
        // The longest first, or a secret within another one would leave the rest readable.
        known.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        Self { spellings: known.into_iter().map(Secret::new).collect() }
    }

    /// `text` with `***` in place of each secret, each prefix of one with at least 8 characters,
    /// and each bearer token.
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for spelling in &self.spellings {
            text = mask_secret(&text, spelling.expose());
        }
        mask_bearer(&text)
    }
}

fn mask_secret(text: &str, secret: &str) -> String {
    let prefix = secret.char_indices().nth(PREFIX).map_or(secret, |(end, _)| &secret[..end]);
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, found)) = rest.split_once(prefix) {
        cleaned.push_str(before);
        cleaned.push_str(MASK);
        let tail = secret.strip_prefix(prefix).unwrap_or_default();
        rest = &found[shared_prefix(found, tail)..];
    }
    cleaned.push_str(rest);
    cleaned
}

/// The length of the common prefix, up to a character boundary.
fn shared_prefix(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// Masks the word after each `Bearer `.
fn mask_bearer(text: &str) -> String {
    const SCHEME: &str = "bearer ";
    let lower = text.to_ascii_lowercase();
    let mut cleaned = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in lower.match_indices(SCHEME) {
        let start = at + SCHEME.len();
        let Some(token) = text.get(start..) else { continue };
        let length = token.find(|c: char| !is_token(c)).unwrap_or(token.len());
        if start < copied || length < PREFIX {
            continue;
        }
        cleaned.push_str(text.get(copied..start).unwrap_or_default());
        cleaned.push_str(MASK);
        copied = start + length;
    }
    cleaned.push_str(text.get(copied..).unwrap_or_default());
    cleaned
}

const fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | '+' | '/' | '=')
}
