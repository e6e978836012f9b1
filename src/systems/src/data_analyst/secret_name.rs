//! Whether a name says that its value is a secret.

/// The end of a word that names a secret: `token`, and `authtoken`.
const ENDS: [&str; 7] =
    ["token", "password", "secret", "apikey", "credential", "credentials", "authorization"];
/// Words in the plural, which name secrets only at the end: `api_tokens`, but not `tokens_sold`.
const PLURALS: [&str; 3] = ["tokens", "passwords", "secrets"];

/// Whether a name says that its value is a secret. It is compared by whole words, which end at any
/// sign, and where small letters turn to capitals.
///
/// ```
/// use antiphon_systems::data_analyst::secret_name::names_secret;
/// assert!(names_secret("api_key") && names_secret("accessToken") && names_secret("API-KEY"));
/// assert!(!names_secret("tokens_sold") && !names_secret("secretary"));
/// ```
pub fn names_secret(name: &str) -> bool {
    let words = words(name);
    let pairs = words.iter().zip(words.iter().skip(1));
    words.iter().any(|word| word == "headers" || ENDS.iter().any(|end| word.ends_with(end)))
        || words.last().is_some_and(|last| PLURALS.contains(&last.as_str()))
        || pairs.into_iter().any(|(one, next)| one == "api" && next == "key")
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let signs: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (place, sign) in signs.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| signs.get(before));
        let next = signs.get(place + 1);
        let follows = before.is_some_and(|it| it.is_lowercase() || it.is_numeric());
        let leads =
            before.is_some_and(|it| it.is_uppercase()) && next.is_some_and(|it| it.is_lowercase());
        if !sign.is_alphanumeric() || sign.is_uppercase() && (follows || leads) {
            words.push(std::mem::take(&mut word));
        }
        if sign.is_alphanumeric() {
            word.extend(sign.to_lowercase());
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}
