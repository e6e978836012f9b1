//! Words that a report puts between quotation marks, which have to stand in a source.

use crate::quote::align;
use crate::word::words;

/// Fewer words may be a term.
const WORDS: usize = 4;
const MARKS: [(char, char); 9] = [
    ('“', '”'),
    ('"', '"'),
    ('„', '“'),
    ('„', '”'),
    ('‘', '’'),
    ('«', '»'),
    ('»', '«'),
    ('‹', '›'),
    ('「', '」'),
];

/// The quotations of a sentence that are long enough to be one.
pub(crate) fn quotations(sentence: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (open, close) in MARKS {
        // Which of the two opens is up to the language.
        if open == '»' && sentence.find(close) < sentence.find(open) {
            continue;
        }
        let mut rest = sentence;
        while let Some((before, after)) = rest.split_once(open) {
            // A mark of inches opens nothing.
            if open == close && before.ends_with(|sign: char| sign.is_ascii_digit()) {
                rest = after;
                continue;
            }
            let Some((inner, next)) = after.split_once(close) else { break };
            if words(inner).len() >= WORDS && !found.contains(&inner) {
                found.push(inner);
            }
            rest = next;
        }
    }
    found
}

/// The quotations that stand in none of these texts, word for word.
pub(crate) fn missing_quotations(sentence: &str, texts: &[&str]) -> Vec<String> {
    let plain = |text: &str| {
        let words: Vec<String> = words(text).iter().map(|word| word.text.to_lowercase()).collect();
        format!(" {} ", words.join(" "))
    };
    let stands = |quotation: &str| {
        texts.iter().any(|text| {
            let span = align(quotation, text).and_then(|span| span.of(text));
            span.is_some_and(|found| plain(found).contains(&plain(quotation)))
        })
    };
    let all = quotations(sentence).into_iter();
    all.filter(|quotation| !stands(quotation)).map(str::to_owned).collect()
}
