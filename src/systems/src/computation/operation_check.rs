//! Whether code does what the question asks for: a difference is subtracted, and a value in an
//! order picked by its place.

use super::code_text::{has_word, numbers};
use super::column_name::stands_for;
use super::question_form::QuestionForm;
use super::ratio_check;
use super::result_check::{ComputedResult, ResultMismatch};

type Check = fn(&ComputedResult<'_>) -> Option<ResultMismatch>;

/// The checks, the surest first.
pub(super) const CHECKS: [Check; 11] = [
    replaced_input,
    difference,
    place,
    ratio_check::per_many,
    ratio_check::share,
    direction,
    ratio_check::rate,
    duration,
    statistic,
    named_value,
    stated_number,
];

/// Code that writes an input anew computes from data that it invents. What it makes from the input
/// itself, or in a function, is none.
fn replaced_input(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    const MADE: [&str; 5] = ["pd.DataFrame(", "pandas.DataFrame(", "DataFrame(", "[", "{"];
    let code = computed.code.code.as_str();
    let replaces = |name: &str| {
        let lines = code.match_indices(name).filter(|(at, _)| {
            let before = code.get(..*at).unwrap_or_default();
            (before.is_empty() || before.ends_with('\n')) && !has_word(before, name)
        });
        let values = lines.filter_map(|(at, _)| {
            code.get(at + name.len()..)?.trim_start().strip_prefix('=').map(str::trim_start)
        });
        let mut values = values.filter(|value| MADE.iter().any(|made| value.starts_with(made)));
        values.any(|value| !has_word(bracketed(value), name))
    };
    let replaced = computed.sources.iter().find(|source| replaces(&source.name))?;
    Some(ResultMismatch::certain(format!(
        "the code replaces the input `{}` by other data",
        replaced.name
    )))
}

/// A value from its beginning to the end of the bracket that it opens.
fn bracketed(value: &str) -> &str {
    let mut depth = 0_usize;
    for (place, sign) in value.char_indices() {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth < 2 => return value.get(..place).unwrap_or_default(),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    value
}

/// A difference needs a subtraction, unless a column holds it.
fn difference(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    const COLUMNS: [&str; 6] = ["difference", "delta", "margin", "gap", "change", "spread"];
    // `Is there a difference`, and `by what factor`, ask for none.
    let is_missing = computed.form.asks_by_how_much()
        && !computed.form.has_any("there factor times")
        && !computed.has_column(&COLUMNS)
        && !computed.code.subtracts()
        && !computed.code.is_opaque();
    is_missing.then(|| {
        ResultMismatch::certain(
            "the question asks for a difference, and the code subtracts nothing",
        )
    })
}

const LARGEST_OR_SMALLEST: [&str; 4] = ["max", "min", "idxmax", "idxmin"];

/// `The third-highest` needs 3, or 2 as an index, in the code.
fn place(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let place = computed.form.place()?;
    let known = [f64::from(place), f64::from(place - 1)];
    // A place can be unpacked from what is sorted.
    let has_number = computed.code.numbers().iter().any(|number| known.contains(number))
        || computed.code.has_word(&["sorted"]) && computed.code.code.contains("*_");
    // The second is also the largest of those that are not the largest.
    let is_second = place == 2 && computed.code.count(&LARGEST_OR_SMALLEST) > 1;
    let is_missing = !has_number && !is_second && !computed.code.is_opaque();
    is_missing.then(|| {
        let reason = format!("the question asks for number {place} in an order");
        ResultMismatch::certain(format!("{reason}, and the code picks no such place"))
    })
}

/// The lowest is no maximum, and the highest no minimum. A rank is the highest if it is small.
fn direction(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    const LOW: &str = "lowest smallest fewest least cheapest earliest minimum";
    const HIGH: &str = "highest largest biggest greatest latest maximum";
    const SMALLEST: [&str; 5] = ["min", "idxmin", "nsmallest", "argmin", "nanmin"];
    const LARGEST: [&str; 5] = ["max", "idxmax", "nlargest", "argmax", "nanmax"];
    const SORTED: &[&str] = &["sort_values", "sorted", "sort", "rank", "ascending", "argsort"];
    let ComputedResult { form, code, .. } = computed;
    let (low, high) = (form.has_any(LOW), form.has_any(HIGH));
    if low == high || code.has_word(SORTED) || form.has_any("rank ranks ranked place position") {
        return None;
    }
    let (wanted, other, taken) =
        if low { (SMALLEST, LARGEST, "largest") } else { (LARGEST, SMALLEST, "smallest") };
    (code.has_word(&other) && !code.has_word(&wanted)).then(|| {
        let asked = if low { "smallest" } else { "largest" };
        ResultMismatch::unusual(format!(
            "the question asks for the {asked}, and the code takes the {taken}"
        ))
    })
}

/// The time from one date to another is a difference, unless a column holds it.
fn duration(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    const PARTS: [&str; 11] =
        ["time", "dur", "day", "night", "hour", "min", "sec", "length", "week", "month", "year"];
    let columns = computed.columns();
    let is_held = columns.iter().any(|column| {
        let name = column.name.to_lowercase();
        PARTS.iter().any(|part| name.contains(part))
    });
    let is_missing = computed.form.asks_for_duration()
        && !is_held
        && !computed.code.subtracts()
        && !computed.code.is_opaque();
    is_missing.then(|| {
        ResultMismatch::certain("the question asks for a time, and the code subtracts no dates")
    })
}

/// A mean, a median, a sum and a number of different values come from functions of that kind. A
/// table may hold them already.
fn statistic(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    const MEAN: &str = "average mean durchschnitt durchschnittliche moyen moyenne promedio";
    const DISTINCT: &[&str] = &[
        "nunique",
        "unique",
        "set",
        "drop_duplicates",
        "duplicated",
        "groupby",
        "value_counts",
        "Counter",
        "dict",
        "pivot_table",
        "crosstab",
    ];
    let ComputedResult { form, code, .. } = computed;
    let asks = |words: &str| {
        let columns: Vec<&str> = words.split_whitespace().collect();
        form.has_any(words) && !computed.has_column(&columns)
    };
    let missing = if asks("median") && !code.has_word(&["median", "quantile", "percentile"]) {
        "a median"
    } else if asks(MEAN) && !asks("median") && !code.divides() {
        "a mean"
    } else if form.counts_distinct() && !code.has_word(DISTINCT) && !code.code.contains('{') {
        "the number of different values"
    } else {
        return None;
    };
    (!code.is_opaque()).then(|| {
        ResultMismatch::unusual(format!(
            "the question asks for {missing}, and the code computes none"
        ))
    })
}

/// A value of a cell that the question names stands in the code, which else ignores it.
fn named_value(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let texts: Vec<String> = computed.code.texts.iter().map(|text| text.to_lowercase()).collect();
    let is_used = |value: &str| {
        let value = value.to_lowercase();
        texts.iter().any(|text| text.contains(&value) || text.len() > 2 && value.contains(&**text))
    };
    // Values that the name of a column or an input has say nothing about rows.
    let names = |value: &str| {
        computed.columns().iter().any(|column| stands_for(&value.to_lowercase(), &column.name))
            || computed.sources.iter().any(|source| stands_for(&value.to_lowercase(), &source.name))
    };
    let ignored = computed.evidence.named.iter().find(|value| !is_used(value) && !names(value))?;
    (!computed.code.is_opaque()).then(|| {
        ResultMismatch::unusual(format!(
            "the question names the value `{ignored}`, and the code does not"
        ))
    })
}

/// A number of the question stands in the code. A year may be that of all rows. A number that
/// values are compared with is missed for certain if the code compares nothing, and so is one that
/// a value per 100 is asked for.
fn stated_number(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let known = computed.code.numbers();
    let has = |number: f64| {
        let near = [number - 1.0, number + 1.0];
        let scaled = [1.0, 0.01, 0.001, 1_000.0, 1_000_000.0].map(|factor| number * factor);
        let changed = [1.0 + number / 100.0, 1.0 - number / 100.0];
        near.iter().chain(&scaled).chain(&changed).any(|it| known.contains(it))
    };
    let is_used = |number: f64| {
        let is_year = (1900.0..2100.0).contains(&number);
        let is_size =
            computed.sources.iter().any(|source| source.rows.to_string() == number.to_string());
        is_year || is_size || number < 2.0 || has(number)
    };
    let compared = QuestionForm::thresholds(computed.question);
    let missed = compared.iter().find(|number| !has(**number));
    let ignored = missed.or_else(|| computed.form.numbers().iter().find(|it| !is_used(**it)))?;
    // Numbers of the names of columns and of units are not those of a condition.
    let in_names = computed.columns().iter().any(|it| numbers(&it.name).contains(ignored));
    if in_names || computed.code.is_opaque() {
        return None;
    }
    let reason = format!("the question names the number {ignored}, and the code does not");
    let rates: Vec<f64> =
        computed.used_names().iter().filter_map(|name| ratio_check::per(name)).collect();
    let has_ratio = rates.iter().any(|many| known.contains(&(ignored / many)));
    // A comparison may be with the same in another unit: 1.5 hours are 90 minutes.
    let is_other = |number: f64| number > 2.0 || number.fract() != 0.0;
    let is_converted = numbers(&computed.code.code).into_iter().any(is_other)
        || computed.code.has_word(&["Timedelta", "timedelta", "to_timedelta", "DateOffset"]);
    let is_certain = missed.is_some() && !is_converted && !computed.code.compares()
        || !rates.is_empty() && !has_ratio && !is_converted;
    Some(ResultMismatch { reason, is_certain })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::computation::input_table::{InputTable, TableColumn};
    use crate::computation::result_check::ResultEvidence;

    /// Whether what speaks against a result of this code is certain.
    pub(in crate::computation) fn certain(
        columns: &[&str],
        question: &str,
        python: &str,
    ) -> Option<bool> {
        let column = |name: &&str| TableColumn { name: (*name).to_owned(), missing: 0 };
        let columns = columns.iter().map(column).collect();
        let sources = [InputTable { name: "staff".to_owned(), rows: 9, columns }];
        let named = if question.contains("Lab") { vec!["Lab".to_owned()] } else { Vec::new() };
        let evidence = ResultEvidence { named, ..ResultEvidence::default() };
        ComputedResult::new(question, python, &sources, evidence).mismatch().map(|it| it.is_certain)
    }

    #[test]
    fn a_difference_is_subtracted() {
        let ask = |python: &str| {
            certain(&["pay"], "What is the difference between the pay of Lab and of all?", python)
        };
        assert_eq!(ask("result = s['pay'].max() / s['Lab'].min()"), Some(true));
        assert_eq!(ask("result = s['Lab'][-1] / 3  # a - b"), Some(true));
        for python in [
            "result = s['pay'].max() - s['Lab'].min()",
            "result = a['Lab']-b",
            "result = 'Lab' and np.ptp(s)",
            "result = s['Lab'].diff().iloc[-1]",
            "result = s.eval('Lab + b')",
            "result = f\"{s['Lab'] - b:.2f} EUR\"",
            "result = np.busday_count(s['Lab'], b)",
        ] {
            assert_eq!(ask(python), None, "{python}");
        }
        let held = "What is the difference in goals of Lab?";
        assert_eq!(certain(&["goal_diff"], held, "result = s.at['Lab', 'goal_diff']"), None);
        let yes_no = "Is there a difference in pay between the Lab and the others?";
        assert_eq!(certain(&["pay"], yes_no, "result = s['Lab'] != b"), None);
        let french = "De combien le salaire Lab dépasse-t-il le salaire Sales ?";
        assert_eq!(certain(&["pay"], french, "result = a / b"), Some(true));
    }

    #[test]
    fn an_input_is_not_written_anew() {
        let ask = |python: &str| certain(&["pay"], "What is the highest pay?", python);
        let invented = "import pandas as pd\nstaff = pd.DataFrame({'pay': [1]})\nresult = 1";
        assert_eq!(ask(invented), Some(true));
        assert_eq!(ask("staff = pd.DataFrame(staff)\nresult = staff['pay'].max()"), None);
        assert_eq!(ask("staff = [one for one in staff if one['pay']]\nresult = 1"), None);
        assert_eq!(ask("result = (staff == [1]).any()"), None);
        assert_eq!(ask("staff = [\n    one\n    for one in staff\n]\nresult = 1"), None);
        assert_eq!(ask("raw = staff\nstaff = [one for one in raw]\nresult = 1"), None);
        assert_eq!(ask("def f(rows):\n    staff = {}\n    return rows\nresult = f(3)"), None);
    }

    #[test]
    fn the_third_is_picked_by_its_place() {
        let ask = |place: &str, python: &str| {
            certain(&["pay"], &format!("Who has the {place}-highest pay?"), python)
        };
        assert_eq!(ask("third", "result = s['pay'].idxmax()"), Some(true));
        assert_eq!(ask("third", "result = s['pay'].nlargest(3).index[-1]"), None);
        assert_eq!(ask("third", "result = s.sort_values('pay').index[-3]"), None);
        assert_eq!(ask("second", "result = s[s['pay'] < s['pay'].max()]['pay'].max()"), None);
        assert_eq!(ask("second", "result = s['pay'].drop(s['pay'].idxmax()).idxmax()"), None);
        assert_eq!(ask("second", "_, second, *_ = sorted(s['pay'])\nresult = second"), None);
        let half = "Who was hired in the second half?";
        assert_eq!(certain(&["pay"], half, "result = 'x'"), None);
    }

    #[test]
    fn a_time_is_the_difference_of_two_dates() {
        let longest = "Which book was out for the longest time?";
        let last = "result = b.loc[b['back'].idxmax(), 'title']";
        let days = "result = b.loc[(b['back'] - b['out']).idxmax(), 'title']";
        assert_eq!(certain(&["out", "back"], longest, last), Some(true));
        assert_eq!(certain(&["out", "back"], longest, days), None);
        assert_eq!(certain(&["nights"], "Who had the longest stay?", "result = 'x'"), None);
        assert_eq!(certain(&["days out"], longest, "result = b['days out'].max()"), None);
    }

    #[test]
    fn the_lowest_is_no_maximum() {
        let ask = |question: &str, python: &str| certain(&["pay"], question, python);
        let lowest = "What is the lowest pay?";
        assert_eq!(ask(lowest, "result = s['pay'].max()"), Some(false));
        assert_eq!(ask(lowest, "result = s['pay'].min()"), None);
        assert_eq!(ask(lowest, "result = s.sort_values('pay').iloc[0]"), None);
        let both = "Which has the lowest highest pay?";
        assert_eq!(ask(both, "result = s.groupby('pay').max().idxmin()"), None);
        assert_eq!(ask("What is the highest rank?", "result = s['rank'].min()"), None);
    }

    #[test]
    fn what_the_question_names_stands_in_the_code() {
        let ask = |question: &str, python: &str| certain(&["pay", "dept"], question, python);
        let lab = "What is the lowest pay in the Lab?";
        assert_eq!(ask(lab, "result = s['pay'].min()"), Some(false));
        assert_eq!(ask(lab, "result = s[s['dept'] == 'lab']['pay'].min()"), None);
        let above = "How many in the Lab earn over 40,000?";
        assert_eq!(ask(above, "result = len(s[s['dept'] == 'Lab'])"), Some(true));
        let hours = "result = (s[s['dept'] == 'Lab']['pay'] > 1.5).sum()";
        assert_eq!(ask("How many in the Lab wait more than 90 minutes?", hours), Some(false));
        let days = "result = (s[s['dept'] == 'Lab']['pay'] > pd.Timedelta(days=1)).sum()";
        assert_eq!(ask("How many in the Lab wait more than 24 hours?", days), Some(false));
        let hour = "result = (s[s['dept'] == 'Lab']['pay'] > 1).sum()";
        assert_eq!(ask("How many in the Lab wait more than 60 minutes?", hour), Some(false));
        let with = "How many in the Lab have 40 days off?";
        assert_eq!(ask(with, "result = len(s[s['dept'] == 'Lab'])"), Some(false));
        let least = "How many in the Lab have at least 40 days off?";
        assert_eq!(ask(least, "result = (s['Lab'] > 39).sum()"), None);
        assert_eq!(ask("How many of the 9 in the Lab are old?", "result = (s['Lab']).sum()"), None);
        assert_eq!(ask(above, "result = ((s['dept'] == 'Lab') & (s['pay'] > 40_000)).sum()"), None);
        assert_eq!(ask("How many in the Lab in 2024?", "result = len('Lab')"), None);
    }

    #[test]
    fn a_statistic_is_computed_unless_the_table_has_it() {
        let ask = |question: &str, python: &str| certain(&["pay"], question, python);
        let mean = "What is the mean pay in the Lab?";
        assert_eq!(ask(mean, "result = 'Lab' and s['pay'].sum()"), Some(false));
        assert_eq!(ask(mean, "result = 'Lab' and s['pay'].mean()"), None);
        let median = "What is the median pay in the Lab?";
        assert_eq!(ask(median, "result = 'Lab' and s['pay'].mean()"), Some(false));
        let held = certain(&["mean_pay"], mean, "result = s.at['Lab', 'mean_pay']");
        assert_eq!(held, None);
        let different = "How many different people are in the Lab?";
        assert_eq!(ask(different, "result = 'Lab' and len(s)"), Some(false));
        assert_eq!(ask(different, "result = 'Lab' and s['pay'].nunique()"), None);
    }
}
