//! Whether a query answers in the unit that the question asks for: a sum of `scrap_kg` is none of
//! tonnes, unless the query converts it.

use antiphon_figures::MeasuredUnit;

use super::query_token::{QueryToken, tokens};

/// How far a factor of a query may be from the exact one: people write 1.6 and 1024.
const TOLERANCE: f64 = 0.03;

/// A column that is measured in another unit than the one that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnitMismatch {
    column: String,
    held: MeasuredUnit,
    asked: MeasuredUnit,
}

/// The first column that a query selects in another unit than the question asks for, and does not
/// convert.
pub(super) fn unit_mismatch(question: &str, query: &str) -> Option<UnitMismatch> {
    let asked = MeasuredUnit::asked_in(question);
    if asked.is_empty() {
        return None;
    }
    let tokens = tokens(query);
    let numbers: Vec<f64> = tokens.iter().filter_map(QueryToken::number).collect();
    selected(&tokens).into_iter().find_map(|column| {
        let held = MeasuredUnit::of_name(column)?;
        let alike: Vec<&MeasuredUnit> = asked.iter().filter(|it| held.is_alike(it)).collect();
        let wanted = **alike.first()?;
        let is_answered =
            alike.iter().any(|asked| held == **asked || converts(held, **asked, &numbers));
        let column = column.to_owned();
        (!is_answered).then_some(UnitMismatch { column, held, asked: wanted })
    })
}

impl UnitMismatch {
    /// What is wrong, for the model and for a reader.
    pub(super) fn message(&self) -> String {
        let Self { column, held, asked } = self;
        let (held, asked) = (held.name(), asked.name());
        format!("`{column}` is measured in {held}, and the question asks for {asked}")
    }

    /// What to do about it.
    pub(super) fn hint(&self) -> String {
        let Self { column, held, asked } = self;
        if let Some(factor) = held.factor_to(asked) {
            return if factor < 1.0 {
                format!("divide it by {} in the query", rounded(1.0 / factor))
            } else {
                format!("multiply it by {} in the query", rounded(factor))
            };
        }
        let formula = match (held.name(), asked.name()) {
            ("°C", "°F") => "* 9.0 / 5 + 32",
            ("°F", "°C") => "- 32) * 5.0 / 9",
            ("°C", "K") => "+ 273.15",
            ("K", "°C") => "- 273.15",
            ("°F", "K") => "- 32) * 5.0 / 9 + 273.15",
            ("K", "°F") => "- 273.15) * 9.0 / 5 + 32",
            _ => return format!("say in `missing` that `{column}` is in {}", held.name()),
        };
        let open = if formula.contains(')') { "(" } else { "" };
        format!("convert it in the query: {open}\"{column}\" {formula}")
    }
}

/// A factor of at most six decimals.
fn rounded(factor: f64) -> String {
    let text = format!("{factor:.6}");
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}

/// Whether numbers of a query are those of the conversion.
fn converts(held: MeasuredUnit, asked: MeasuredUnit, numbers: &[f64]) -> bool {
    let is_near = |one: f64, other: f64| (one / other - 1.0).abs() <= TOLERANCE;
    if let Some(factor) = held.factor_to(&asked) {
        let is_it = |number: f64| is_near(number, factor) || is_near(number, 1.0 / factor);
        let product: f64 = numbers.iter().filter(|number| **number != 0.0).product();
        return numbers.iter().any(|number| is_it(*number)) || is_it(product);
    }
    let has = |offset: f64| numbers.iter().any(|number| is_near(*number, offset));
    let is_fahrenheit = [held, asked].iter().any(|unit| unit.name() == "°F");
    held.is_temperature() && if is_fahrenheit { has(32.0) } else { has(273.15) }
}

/// The names between each `SELECT` and its `FROM`.
fn selected<'q>(tokens: &[QueryToken<'q>]) -> Vec<&'q str> {
    let mut names = Vec::new();
    // Whether each open bracket is within such a list.
    let mut lists = vec![false];
    for token in tokens {
        match token.text {
            "(" => lists.push(lists.last() == Some(&true)),
            ")" if lists.len() > 1 => {
                lists.pop();
            }
            _ if token.is_word("select") => set_last(&mut lists, true),
            _ if token.is_word("from") => set_last(&mut lists, false),
            _ if lists.last() == Some(&true) => names.extend(token.name()),
            _ => {}
        }
    }
    names
}

fn set_last(lists: &mut [bool], is_list: bool) {
    if let Some(last) = lists.last_mut() {
        *last = is_list;
    }
}
