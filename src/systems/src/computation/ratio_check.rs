//! Whether code divides what the question asks for as a share, or per something.

use super::code_text::{has_word, numbers};
use super::result_check::{ComputedResult, ResultMismatch};

/// A column `L/100km` holds values per 100: a product with a number of the question has to be
/// divided by it.
pub(super) fn per_many(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    if !computed.code.multiplies() || computed.form.has_any("per pro par por") {
        return None;
    }
    let stated = computed.form.numbers();
    let in_code = computed.code.code.as_str();
    let in_code = numbers(in_code);
    let uses_stated = in_code.iter().any(|number| *number > 1.0 && stated.contains(number));
    computed.used_names().iter().filter(|_| uses_stated).find_map(|name| {
        let many = per(name)?;
        let is_quotient = |number: f64| stated.iter().any(|it| is_near(number * many, *it));
        let divides = |number: &f64| {
            is_near(*number, many) || is_near(*number * many, 1.0) || is_quotient(*number)
        };
        (!in_code.iter().any(divides)).then(|| {
            let reason = format!("the values of `{name}` are per {many}");
            ResultMismatch::certain(format!(
                "{reason}, and the code multiplies them without dividing by {many}"
            ))
        })
    })
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// The number above 1 that the values of a column are divided by: 100 of `L/100km`.
pub(super) fn per(name: &str) -> Option<f64> {
    let lower = name.to_lowercase().replace(['_', '('], " ");
    let ends = lower.match_indices('/').map(|(place, sign)| place + sign.len());
    let words = lower.match_indices(" per ").map(|(place, word)| place + word.len());
    let mut rests = ends.chain(words).filter_map(|place| lower.get(place..)).map(str::trim_start);
    let found = rests.find(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))?;
    let unit = found.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == ',');
    // `/100k` is per 100,000, and `/100km` per 100 of something.
    let is_thousands =
        unit.strip_prefix('k').is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
    let factor = if is_thousands { 1_000.0 } else { 1.0 };
    numbers(found).first().map(|number| number * factor).filter(|number| *number > 1.0)
}

/// A share needs a division, unless a column holds it: for certain where rows are counted.
pub(super) fn share(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    const COLUMNS: [&str; 9] = [
        "percentage",
        "percent",
        "pct",
        "share",
        "rate",
        "ratio",
        "proportion",
        "fraction",
        "quota",
    ];
    let has_percent = computed.columns().iter().any(|column| column.name.contains('%'));
    let is_missing = computed.form.asks_for_share()
        && !has_percent
        && !computed.has_column(&COLUMNS)
        && !computed.code.divides()
        && !computed.code.is_opaque();
    let counts = computed.code.count(&["len", "count", "nunique", "shape", "size"]) > 0;
    let reason = "the question asks for a share, and the code divides nothing";
    is_missing.then(|| {
        if counts { ResultMismatch::certain(reason) } else { ResultMismatch::unusual(reason) }
    })
}

/// `How much per square metre` is divided, unless a column holds it. A result for each is grouped.
pub(super) fn rate(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    const GROUPED: &[&str] = &["groupby", "value_counts", "pivot_table", "resample", "Counter"];
    let is_held = computed.used_names().iter().any(|name| {
        let name = name.to_lowercase();
        name.contains(['/', '%']) || has_word(&name, "per") || has_word(&name, "rate")
    });
    let is_missing = computed.form.has_any("per pro")
        && computed.evidence.items < 2
        && !is_held
        && !computed.code.divides()
        && !computed.code.has_word(GROUPED)
        && !computed.code.is_opaque();
    let reason = "the question asks for something per something, and the code divides nothing";
    is_missing.then(|| ResultMismatch::unusual(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::computation::operation_check::tests::certain;

    #[test]
    fn a_share_is_divided() {
        let ask = |python: &str| certain(&["pay"], "What percentage of the people is old?", python);
        assert_eq!(ask("result = len(s[s['pay'] > 3])"), Some(true));
        assert_eq!(ask("result = s['pay'].max()"), Some(false), "a column may hold it");
        assert_eq!(ask("result = (s['pay'] > 3).mean() * 100"), None);
        assert_eq!(ask("result = len(a) / len(b)"), None);
        assert_eq!(ask("result = f'{len(a) / len(b):.1%}'"), None);
        assert_eq!(ask("result = s['size'].max()"), Some(false), "a column is no count");
        let held = "What percentage of the cake is fat?";
        assert_eq!(certain(&["fat_pct"], held, "result = len(s['fat_pct'])"), None);
    }

    #[test]
    fn what_is_asked_for_per_something_is_divided() {
        let ask = |question: &str, python: &str| certain(&["km", "L/100km"], question, python);
        let rent = "Wie hoch ist die Miete pro Quadratmeter?";
        assert_eq!(ask(rent, "result = s['km'].iloc[0]"), Some(false));
        assert_eq!(ask(rent, "result = s['km'].iloc[0] / 63"), None);
        assert_eq!(ask("How many are there per type?", "result = s.groupby('t').size()"), None);
        assert_eq!(ask("How much per 100 km?", "result = s['L/100km'].iloc[100]"), None);
    }

    #[test]
    fn what_is_per_hundred_is_divided_by_it() {
        let ask = |python: &str| {
            let question = "How many litres does it need for 300 km?";
            certain(&["fuel L/100km"], question, python)
        };
        assert_eq!(ask("result = f['fuel L/100km'].max() * 300"), Some(true));
        assert_eq!(ask("result = f['fuel L/100km'].max() * 300 / 100"), None);
        assert_eq!(ask("result = f['fuel L/100km'].max() * 300 * 0.01"), None);
        assert_ne!(ask("result = f['fuel L/100km'].max() * 3"), Some(true));
        assert_eq!(ask("result = f['fuel L/100km'].max()"), Some(true), "300 is ignored");
        assert_eq!(per("deaths per 1,000"), Some(1_000.0));
        assert_eq!(per("cases_per_100k"), Some(100_000.0));
        assert_eq!(per("births_per_1000"), Some(1_000.0));
        assert_eq!((per("EUR/kg"), per("price per item"), per("24/7")), (None, None, Some(7.0)));
    }
}
