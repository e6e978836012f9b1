//! Divisions of whole numbers: `sum(a) / count(*)` drops the rest in SQLite and PostgreSQL, so that the
//! average of 1, 2 and 4 would be 2.

use serde_json::Value as Json;

use super::query_token::{QueryToken, closing, opening, tokens};
use crate::data_analyst::tabular::TabularResult;

/// The kind of a failure by such a division.
pub(super) const WHOLE_DIVISION: &str = "WholeDivision";

/// The functions one of which stands in such a division: what is divided by or into them is meant to
/// be a share or an average. `time / 100` may be meant as it is written.
const AGGREGATES: [&str; 2] = ["sum", "count"];
/// The functions whose result is whole if what they are given is.
const WHOLE: [&str; 7] = ["sum", "count", "min", "max", "abs", "length", "nullif"];
/// What makes a division one of real numbers somewhere in a query.
const REAL: [&str; 9] =
    ["cast", "real", "float", "double", "numeric", "decimal", "avg", "total", "::"];

/// The first division in a query whose operands may all be whole numbers, with an aggregate among
/// them, as it is written.
///
/// ```
/// use antiphon_systems::data_analyst::sql::whole_division::whole_division;
/// let found = |query| whole_division(query);
/// assert_eq!(found("SELECT sum(a) / count(*) FROM t").as_deref(), Some("sum(a) / count(*)"));
/// assert_eq!(found("SELECT sum(a) * 1.0 / count(*) FROM t"), None);
/// assert_eq!(found("SELECT time / 100 FROM t"), None);
/// ```
pub fn whole_division(query: &str) -> Option<String> {
    let tokens = tokens(query);
    let is_real = |token: &QueryToken<'_>| {
        token.number().is_some() && token.text.contains(['.', 'e', 'E'])
            || REAL.iter().any(|word| token.is_word(word))
    };
    if tokens.iter().any(is_real) {
        return None;
    }
    // The place of a median, say, is to be a whole number.
    let is_place = |token: &QueryToken<'_>| token.is_word("limit") || token.is_word("offset");
    let counted = tokens.iter().take_while(|token| !is_place(token));
    let signs = counted.enumerate().filter(|(_, token)| token.text == "/");
    signs.into_iter().find_map(|(at, _)| {
        let (start, end) = (operand_before(&tokens, at)?, operand_after(&tokens, at)?);
        let all = tokens.get(start..end)?;
        if !all.iter().any(|token| AGGREGATES.iter().any(|name| token.is_word(name))) {
            return None;
        }
        let written = query.get(all.first()?.place.start..all.last()?.place.end)?;
        Some(written.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

/// Whether a result has whole numbers and no others. Decimals that a float would round are texts.
pub(super) fn is_whole(table: &TabularResult) -> bool {
    let is_decimal =
        |text: &str| text.contains('.') && text.parse::<f64>().is_ok_and(f64::is_finite);
    let is_number = |cell: &&Json| cell.is_number() || cell.as_str().is_some_and(is_decimal);
    let mut numbers = table.rows.iter().flat_map(|row| row.values()).filter(is_number).peekable();
    numbers.peek().is_some() && numbers.all(|cell: &Json| cell.is_i64() || cell.is_u64())
}

/// What such a division does.
pub(super) fn message(division: &str) -> String {
    format!("`{division}` divides whole numbers, which drops the rest")
}

/// Where the operand that ends before a token begins.
fn operand_before(tokens: &[QueryToken<'_>], at: usize) -> Option<usize> {
    let last = at.checked_sub(1)?;
    let token = tokens.get(last)?;
    if token.text != ")" {
        return is_value(token).then_some(last);
    }
    let open = opening(tokens, last)?;
    let name = open.checked_sub(1).and_then(|place| tokens.get(place));
    let is_whole = name.is_some_and(|name| WHOLE.iter().any(|it| name.is_word(it)));
    is_whole.then(|| open - 1)
}

/// Where the operand that begins after a token ends.
fn operand_after(tokens: &[QueryToken<'_>], at: usize) -> Option<usize> {
    let token = tokens.get(at + 1)?;
    let calls = tokens.get(at + 2).is_some_and(|next| next.text == "(");
    if !calls {
        return is_value(token).then_some(at + 2);
    }
    if !WHOLE.iter().any(|name| token.is_word(name)) {
        return None;
    }
    closing(tokens, at + 2).map(|close| close + 1)
}

/// A column or a whole number.
fn is_value(token: &QueryToken<'_>) -> bool {
    token.name().is_some() || token.number().is_some()
}
