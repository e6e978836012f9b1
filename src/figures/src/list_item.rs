//! Numbers that count the items of a list.

use super::date::short_month;
use super::scan::TextToken;

/// The places of the tokens that count items: lines that begin with `1. `, `2. ` and so on.
pub(super) fn list_items(text: &str, tokens: &[TextToken<'_>]) -> Vec<usize> {
    let mut items = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    let mut end_run = |run: &mut Vec<usize>| {
        // A single one may be the answer.
        if run.len() > 1 {
            items.append(run);
        }
        run.clear();
    };
    for place in (0..tokens.len()).filter(|place| is_marked(text, tokens, *place)) {
        let number = tokens.get(place).and_then(|token| token.text.parse::<usize>().ok());
        if number != Some(run.len() + 1) {
            end_run(&mut run);
        }
        if number == Some(run.len() + 1) {
            run.push(place);
        }
    }
    end_run(&mut run);
    items
}

/// Whether a numeral begins a line, with a mark and words behind it.
fn is_marked(text: &str, tokens: &[TextToken<'_>], place: usize) -> bool {
    let Some(token) = tokens.get(place).filter(|token| token.numeral().is_some()) else {
        return false;
    };
    let line = text.get(..token.start).unwrap_or_default();
    let begins = line.trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|it| it == '\n');
    let mark = tokens.get(place + 1).is_some_and(|mark| mark.is('.') || mark.is(')'));
    let rest = text.get(token.end + 1..).unwrap_or_default();
    // An answer may be a number and a full stop.
    let word = tokens.get(place + 2).and_then(TextToken::word);
    let continues = rest.starts_with(' ') && word.is_some_and(|it| short_month(it).is_none());
    begins && mark && continues
}
