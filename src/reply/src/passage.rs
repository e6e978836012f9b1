//! Stretches of a reply that look like a JSON object or list.

use crate::token::{Bracket, JsonToken, JsonTokens, is_blank, word};

/// Passages of one reply that are looked at. Prose has a few; a reply with
/// more is no answer.
const MOST: usize = 64;

/// From an outermost opening bracket to the one that closes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BracketSpan<'a> {
    pub(crate) text: &'a str,
    /// Where it starts, in bytes.
    pub(crate) start: usize,
    /// False when nothing closes it, so that it extends to the end.
    pub(crate) closed: bool,
}

/// The passages of `text` in their order. A bracket that prose could have
/// written, as in `{name}` or `[see below]`, opens none. Brackets inside a
/// passage open no other one: a part of an answer is no answer.
pub(crate) fn passages(text: &str) -> Vec<BracketSpan<'_>> {
    let mut passages = Vec::new();
    let mut at = 0;
    while let Some(start) = next_opening(text, at) {
        let end = closing(text, start);
        at = end.unwrap_or(text.len());
        let inside = text.get(start..at).unwrap_or_default();
        passages.push(BracketSpan { text: inside, start, closed: end.is_some() });
        if end.is_none() || passages.len() == MOST {
            break;
        }
    }
    passages
}

fn next_opening(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let start = at + rest.find(['{', '['])?;
        let inside = text.get(start + 1..)?;
        let opens = if text.get(start..)?.starts_with('{') {
            begins_object(inside)
        } else {
            begins_list(inside)
        };
        if opens {
            return Some(start);
        }
        at = start + 1;
    }
}

fn begins_object(inside: &str) -> bool {
    let inside = inside.trim_start_matches(is_blank);
    if inside.starts_with(['"', '\'', '}']) || begins_comment(inside) {
        return true;
    }
    let key = word(inside);
    let after = inside.get(key.len()..).unwrap_or_default();
    !key.is_empty() && after.trim_start_matches(is_blank).starts_with(':')
}

fn begins_list(inside: &str) -> bool {
    let inside = inside.trim_start_matches(is_blank);
    let literals = ["true", "false", "null", "True", "False", "None"];
    inside.starts_with(['"', '\'', '{', '[', ']', '-'])
        || inside.starts_with(|c: char| c.is_ascii_digit())
        || begins_comment(inside)
        || literals.contains(&word(inside))
}

/// `[#12]` is a reference in prose; `[ # first` is a comment.
fn begins_comment(inside: &str) -> bool {
    ["//", "/*", "# "].iter().any(|mark| inside.starts_with(mark))
}

/// The end of the passage that opens at `start`, past its closing bracket.
fn closing(text: &str, start: usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut braces = 0_usize;
    for placed in JsonTokens::new(text, start) {
        match placed.token {
            JsonToken::Open(bracket) => {
                open.push(bracket);
                braces += usize::from(bracket == Bracket::Brace);
            }
            JsonToken::Close(bracket) => close(bracket, &mut open, &mut braces),
            _ => {}
        }
        if open.is_empty() {
            return Some(placed.end);
        }
    }
    None
}

/// Closes the innermost bracket of that kind and what was left open inside;
/// a bracket that closes nothing is passed over.
fn close(bracket: Bracket, open: &mut Vec<Bracket>, braces: &mut usize) {
    let is_open = match bracket {
        Bracket::Brace => *braces > 0,
        Bracket::Square => open.len() > *braces,
    };
    while is_open && let Some(inner) = open.pop() {
        *braces -= usize::from(inner == Bracket::Brace);
        if inner == bracket {
            return;
        }
    }
}
