//! Words that a report quotes, between quotation marks or as a block, which have to stand in a
//! source.

use crate::block::blocks;
use crate::quote::align;
use crate::span::TextSpan;
use crate::word::words;

/// Fewer words may be a term.
const WORDS: usize = 4;
const MARKS: [(char, char); 10] = [
    ('“', '”'),
    ('"', '"'),
    ('„', '“'),
    ('„', '”'),
    ('‘', '’'),
    ('\'', '\''),
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
        let mut start = 0;
        while let Some(first) = next_mark(sentence, start, open, opens) {
            start = first + open.len_utf8();
            // An apostrophe at the end of a word may look like the mark that closes.
            let mut end = start;
            while let Some(last) = next_mark(sentence, end, close, closes) {
                end = last + close.len_utf8();
                let inner = sentence.get(start..last).unwrap_or_default();
                let is_long = words(inner).len() >= WORDS;
                if is_long && !found.contains(&inner) {
                    found.push(inner);
                }
                if is_long || !is_apostrophe(close) {
                    start = end;
                    break;
                }
            }
        }
    }
    found
}

/// Where a mark stands next that opens or closes a quotation.
fn next_mark(
    text: &str,
    from: usize,
    mark: char,
    fits: fn(char, Option<char>, Option<char>) -> bool,
) -> Option<usize> {
    let rest = text.get(from..)?;
    let fits = |at: usize| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let after = text.get(at + mark.len_utf8()..).and_then(|it| it.chars().next());
        fits(mark, before, after)
    };
    rest.match_indices(mark).map(|(at, _)| from + at).find(|at| fits(*at))
}

/// Whether a mark can open a quotation: those of inches and minutes, and apostrophes, do not.
fn opens(mark: char, before: Option<char>, after: Option<char>) -> bool {
    match mark {
        '"' => !before.is_some_and(|sign| sign.is_ascii_digit()),
        '\'' => {
            !before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphabetic)
        }
        _ => true,
    }
}

/// Whether a mark can close one: it is no apostrophe within a word.
fn closes(mark: char, before: Option<char>, after: Option<char>) -> bool {
    let is_within =
        before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
    !is_apostrophe(mark) || !is_within
}

const fn is_apostrophe(mark: char) -> bool {
    matches!(mark, '\'' | '’')
}

/// The quotations that stand in none of these texts, word for word.
pub(crate) fn missing_quotations(sentence: &str, texts: &[&str]) -> Vec<String> {
    let all = quotations(sentence).into_iter();
    all.filter(|quotation| !stands(quotation, texts)).map(str::to_owned).collect()
}

/// The same of a sentence of a report, which is one itself if it stands in a block quote.
pub(crate) fn missing_quotes(
    report: &str,
    (span, sentence): (TextSpan, &str),
    texts: &[&str],
) -> Vec<String> {
    let mut found = missing_quotations(sentence, texts);
    if found.is_empty() && is_block_quote(report, span, sentence) && !stands(sentence, texts) {
        found.push(sentence.to_owned());
    }
    found
}

/// Whether a sentence is quoted by its block. Who has said it, after a dash, is not.
pub(crate) fn is_block_quote(report: &str, span: TextSpan, sentence: &str) -> bool {
    let is_source = sentence.trim_start_matches(['>', ' ', '\n']).starts_with(['—', '–', '-']);
    let is_quote = || {
        let mut all = blocks(report).into_iter();
        all.any(|block| block.content.holds(span) && block.is_quote(report))
    };
    report.contains('>') && !is_source && words(sentence).len() >= WORDS && is_quote()
}

fn stands(quotation: &str, texts: &[&str]) -> bool {
    let plain = |text: &str| {
        let words: Vec<String> = words(text).iter().map(|word| word.text.to_lowercase()).collect();
        format!(" {} ", words.join(" "))
    };
    texts.iter().any(|text| {
        let span = align(quotation, text).and_then(|span| span.of(text));
        span.is_some_and(|found| plain(found).contains(&plain(quotation)))
    })
}
