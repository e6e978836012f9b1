//! Whether a shorter answer says the same as the expert's: every number, date, unit and name in it
//! must stand in the expert's words. What is left out is not looked at, because leaving out is the
//! purpose; a word in lower case is not either, unless it negates.

use std::collections::BTreeSet;

use antiphon_figures::added;

/// The first number, date, unit, name or negation of `short` that `full` does not have.
pub(super) fn changed_word(full: &str, short: &str) -> Option<String> {
    added(short, full).first().map(ToString::to_string).or_else(|| new_name(full, short))
}

fn new_name(full: &str, short: &str) -> Option<String> {
    let known: BTreeSet<String> = words(full).map(str::to_lowercase).collect();
    let is_new = |word: &&str| matters(word) && !known.contains(&word.to_lowercase());
    words(short).find(is_new).map(str::to_owned)
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether a word may be a name, or turns the statement around. Numbers were compared before, and
/// months with them.
pub(super) fn matters(word: &str) -> bool {
    const PLAIN: &str = " a about all an and approximately are as at between both but by each for \
        from he her his i if in is it its of on only or she so some that the their there these \
        they this those to was we were when where which who with january february march april \
        may june july august september october november december jan feb mar apr jun jul aug sep \
        sept oct nov dec zero one two three four five six seven eight nine ten eleven twelve ";
    const NEGATION: &str = " no not never none neither nor nobody nothing without nein nicht kein \
        keine nie non pas jamais nunca ";
    let lower = format!(" {} ", word.to_lowercase());
    if NEGATION.contains(&lower) {
        return true;
    }
    let has_letters = word.chars().any(char::is_alphabetic);
    // `5th` is a number, `B12` a name.
    let is_number = word.starts_with(|sign: char| sign.is_ascii_digit());
    let is_name = word.chars().any(|sign| sign.is_uppercase() || sign.is_numeric());
    has_letters && is_name && !is_number && !PLAIN.contains(&lower)
}
