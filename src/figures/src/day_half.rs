//! The half of the day that an hour is in: `5 pm`, `5 p.m.`.

use super::date::{month, weekday};
use super::scan::TextToken;

/// The hour of 24 that an hour of 12 is by the mark at a token, and how many tokens the mark has;
/// none if there is no mark.
pub(super) fn day_half(tokens: &[TextToken<'_>], place: usize, hour: u32) -> Option<(u32, usize)> {
    let word = |at: usize| tokens.get(at).and_then(TextToken::word).map(str::to_lowercase);
    let first = word(place).filter(|_| (1..=12).contains(&hour))?;
    let has_dots = matches!(&*first, "a" | "p")
        && tokens.get(place + 1).is_some_and(|it| it.is('.'))
        && word(place + 2).as_deref() == Some("m");
    let is_late = match &*first {
        "pm" => true,
        "am" if is_morning(tokens.get(place + 1)) => false,
        "p" if has_dots => true,
        "a" if has_dots => false,
        _ => return None,
    };
    // The last point may end the sentence as well.
    let used = if has_dots { 3 } else { 1 };
    Some((hour % 12 + if is_late { 12 } else { 0 }, used))
}

/// Whether `am` before this token is no German word: `die 5 am besten`, `Platz 5 am Bahnhof`.
fn is_morning(next: Option<&TextToken<'_>>) -> bool {
    let Some(word) = next.and_then(TextToken::word) else { return true };
    let is_noun = word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase);
    !word.ends_with("sten") && (!is_noun || weekday(word).or_else(|| month(word)).is_some())
}
