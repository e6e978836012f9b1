//! Whether a result can be what the question asks for, by its form and by the cells that it
//! repeats. Each check names a reason; what is only unusual goes back to the model once.

use antiphon_figures::MeasuredUnit;
use serde::Deserialize;

use super::code_text::CodeText;
use super::column_name::stands_for;
use super::input_table::{self, InputTable, TableColumn};
use super::operation_check;
use super::question_form::QuestionForm;

/// Why a result does not answer the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResultMismatch {
    /// The reason, for the model and the caller.
    pub(super) reason: String,
    /// Whether the result is wrong for certain: else it is delivered if the model keeps to it.
    pub(super) is_certain: bool,
}

impl ResultMismatch {
    pub(super) fn certain(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_certain: true }
    }

    pub(super) fn unusual(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_certain: false }
    }
}

/// What a result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResultForm {
    Number,
    Text,
    Truth,
    Moment,
    Items,
    #[default]
    Other,
}

/// How a result and a question relate to the cells of the inputs, as `inspect.py` finds it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResultEvidence {
    pub(super) form: ResultForm,
    /// The result, if it is a number.
    pub(super) number: Option<f64>,
    /// Whether its text has digits.
    pub(super) has_digits: bool,
    /// How many items the result has.
    pub(super) items: u64,
    /// The rows of the longest input.
    pub(super) rows: u64,
    /// The columns that the inputs have after the code ran.
    pub(super) present: Vec<String>,
    /// Those of them that hold a value of the result, or may.
    pub(super) held: Vec<String>,
    /// Those that hold numbers.
    pub(super) numeric: Vec<String>,
    /// Texts of cells that the question has.
    pub(super) named: Vec<String>,
}

/// A question, the code for it, and its result.
pub(super) struct ComputedResult<'f> {
    pub(super) question: &'f str,
    pub(super) form: QuestionForm,
    pub(super) code: CodeText,
    pub(super) sources: &'f [InputTable],
    pub(super) used: Vec<InputTable>,
    pub(super) evidence: ResultEvidence,
}

impl<'f> ComputedResult<'f> {
    pub(super) fn new(
        question: &'f str,
        python: &str,
        sources: &'f [InputTable],
        evidence: ResultEvidence,
    ) -> Self {
        Self {
            question,
            form: QuestionForm::of(question),
            code: CodeText::of(python),
            sources,
            used: input_table::used(python, sources),
            evidence,
        }
    }

    pub(super) fn columns(&self) -> Vec<&'f TableColumn> {
        self.sources.iter().flat_map(|source| &source.columns).collect()
    }

    /// Whether a column is called by one of these words.
    pub(super) fn has_column(&self, words: &[&str]) -> bool {
        self.columns().iter().any(|it| words.iter().any(|word| stands_for(word, &it.name)))
    }

    /// The names of the columns that the code reads.
    pub(super) fn used_names(&self) -> Vec<&str> {
        let columns = self.used.iter().flat_map(|source| &source.columns);
        columns.map(|column| &*column.name).collect()
    }

    /// What speaks against the result: first what is certain.
    pub(super) fn mismatch(&self) -> Option<ResultMismatch> {
        let checks = [asked_cell, number, person, one_item, quantity, part, size];
        let found = checks.into_iter().chain(operation_check::CHECKS);
        let mut mismatches: Vec<ResultMismatch> = found.filter_map(|check| check(self)).collect();
        mismatches.sort_by_key(|mismatch| !mismatch.is_certain);
        mismatches.into_iter().next()
    }
}

/// The answer to `which vehicle … give its plate` is a cell of the column `Plate`.
fn asked_cell(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let ResultEvidence { form, held, present, numeric, .. } = &computed.evidence;
    let mut asked = computed.form.asked_columns(&computed.columns());
    // `What revenue did it make` asks for a sum of such cells, `which number` for a cell.
    asked.retain(|name| !numeric.iter().any(|one| one == name) || is_key(name));
    // A column that the code renamed or made an index cannot be compared.
    let is_known = asked.iter().all(|name| present.iter().any(|one| one == name));
    let is_held = asked.iter().any(|name| held.iter().any(|one| one == name));
    if asked.is_empty() || !is_known || is_held {
        return None;
    }
    let columns = asked.join("`, `");
    let reason =
        format!("the question asks for a value of the column `{columns}`, and the result has none");
    // Another table may have names for the keys of that column, code may write a cell otherwise, and
    // `show the regions and compute the sum` asks for something else too.
    let is_certain = computed.sources.len() == 1
        && (*form != ResultForm::Text || !held.is_empty())
        && !computed.form.has_any("and und et y e");
    Some(ResultMismatch { reason, is_certain })
}

/// The answer to `how many` is a number.
fn number(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let found = match computed.evidence.form {
        ResultForm::Text if !computed.evidence.has_digits => "a text",
        ResultForm::Truth => "true or false",
        ResultForm::Moment if !computed.form.has_any("date day time when") => "a date",
        _ => return None,
    };
    computed.form.asks_for_number().then(|| {
        ResultMismatch::certain(format!(
            "the question asks for a number, and the result is {found}"
        ))
    })
}

/// The answer to `who` is a name, or the number by which a table names people.
fn person(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let ResultEvidence { form, held, .. } = &computed.evidence;
    let found = match form {
        ResultForm::Number if !held.iter().any(|name| is_key(name)) => "a number",
        ResultForm::Truth => "true or false",
        ResultForm::Moment => "a date",
        _ => return None,
    };
    // `Who sold more, and how much?` and `Who …? Give the age.` ask for both.
    let is_alone = !computed.form.has_any("how many much give state");
    (computed.form.asks_for_person() && is_alone).then(|| {
        ResultMismatch::certain(format!(
            "the question asks for a person, and the result is {found}"
        ))
    })
}

/// Whether a column names things by numbers: `Loan#`, `customer_id`.
fn is_key(name: &str) -> bool {
    const KEYS: [&str; 8] = ["id", "no", "nr", "number", "code", "key", "badge", "bib"];
    let lower = name.to_lowercase();
    lower.split(|sign: char| !sign.is_alphanumeric()).any(|part| KEYS.contains(&part))
        || name.contains('#')
        || lower.ends_with("id")
}

/// One thing is asked for, and the result is a whole column. Two or three may be equally large.
fn one_item(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let ResultEvidence { form, items, rows, .. } = &computed.evidence;
    if *form != ResultForm::Items || *items < 2 || !computed.form.asks_for_one() {
        return None;
    }
    let reason = format!("the question asks for one thing, and the result has {items} items");
    let is_whole = *items > 3 && items * 2 >= *rows;
    Some(if is_whole { ResultMismatch::certain(reason) } else { ResultMismatch::unusual(reason) })
}

/// How code reads columns without their names.
const UNNAMED: &[&str] = &[
    "iloc",
    "iat",
    "values",
    "columns",
    "to_numpy",
    "select_dtypes",
    "iterrows",
    "itertuples",
    "items",
    "melt",
    "stack",
    "describe",
];

/// A number of grams is no count of rows, and does not come from a column in degrees.
fn quantity(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let ResultEvidence { form, numeric, .. } = &computed.evidence;
    let is_time = |unit: &MeasuredUnit| {
        MeasuredUnit::of_name("length_days").is_some_and(|days| days.is_alike(unit))
    };
    let mut asked = MeasuredUnit::asked_in(computed.question);
    asked.retain(|unit| !is_time(unit));
    // `How many were paid in euros` counts rows where the code asks for that text.
    let is_value = |text: &String| !MeasuredUnit::asked_in(&format!("in {text}")).is_empty();
    let is_other_form = *form != ResultForm::Number || asked.is_empty();
    if is_other_form || computed.code.is_opaque() || computed.code.texts.iter().any(is_value) {
        return None;
    }
    // A price or a density that the question states makes another quantity of it.
    let stated = computed.form.numbers();
    if computed.code.numbers().iter().any(|number| stated.contains(number)) {
        return None;
    }
    let unit = asked.first().map_or("", MeasuredUnit::name);
    let used = computed.used_names();
    let read: Vec<&str> =
        used.iter().copied().filter(|name| numeric.iter().any(|one| one == name)).collect();
    let texts = used.len() - read.len();
    if read.is_empty() && texts > 0 && !computed.code.has_word(UNNAMED) {
        return Some(ResultMismatch::certain(format!(
            "the question asks for a quantity in {unit}, and the code reads no column of numbers"
        )));
    }
    let [only] = &*read else { return None };
    let held = MeasuredUnit::of_name(only)?;
    let is_other = !asked.iter().any(|unit| unit.is_alike(&held));
    let is_converted = computed.code.divides() || computed.code.multiplies();
    (is_other && !is_converted).then(|| {
        ResultMismatch::certain(format!(
            "the question asks for a quantity in {unit}, and `{only}` is in {}",
            held.name()
        ))
    })
}

/// A part of a whole is between 0 and 100 percent of it. A column may exceed another, as what was
/// spent does a budget.
fn part(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let number = computed.evidence.number?;
    let numeric = |name: &&str| computed.evidence.numeric.iter().any(|one| one == name);
    let is_ratio = computed.used_names().into_iter().filter(|name| numeric(name)).count() > 1;
    let is_part = computed.form.asks_for_share() && !computed.form.compares() && !is_ratio;
    // A little room for rounding.
    (is_part && !(-0.01..=100.01).contains(&number)).then(|| {
        ResultMismatch::certain(format!(
            "the question asks for a part of a whole, and {number} is none"
        ))
    })
}

/// A difference that is asked for is rarely 0 or negative.
fn size(computed: &ComputedResult<'_>) -> Option<ResultMismatch> {
    let number = computed.evidence.number.filter(|number| *number <= 0.0)?;
    computed.form.asks_by_how_much().then(|| {
        ResultMismatch::unusual(format!(
            "the question asks for a difference, and {number} is not above 0: subtract the \
             smaller value from the larger one"
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    const FLEET: [&str; 6] =
        ["Plate", "veh. type", "km (total)", "last_svc", "fuel L/100km", "Driver"];

    fn mismatch(
        columns: &[&str],
        question: &str,
        python: &str,
        found: Json,
    ) -> Option<ResultMismatch> {
        let column = |name: &&str| TableColumn { name: (*name).to_owned(), missing: 0 };
        let columns: Vec<TableColumn> = columns.iter().map(column).collect();
        let sources = [InputTable { name: "fleet".to_owned(), rows: 10, columns }];
        let mut evidence: ResultEvidence = serde_json::from_value(found).unwrap();
        evidence.rows = 10;
        evidence.present = sources[0].columns.iter().map(|column| column.name.clone()).collect();
        ComputedResult::new(question, python, &sources, evidence).mismatch()
    }

    fn is_certain(question: &str, python: &str, found: Json) -> Option<bool> {
        mismatch(&FLEET, question, python, found).map(|mismatch| mismatch.is_certain)
    }

    #[test]
    fn the_answer_is_a_value_of_the_column_that_is_asked_for() {
        let text = |held: &[&str]| json!({"form": "text", "held": held});
        let third = "Which vehicle has the highest total of kilometres? Give its plate.";
        let wrong = mismatch(&FLEET, third, "", text(&["veh. type"])).unwrap();
        assert!(wrong.reason.contains("`Plate`") && wrong.is_certain, "{}", wrong.reason);
        assert_eq!(is_certain(third, "", text(&["Plate"])), None);
        for (question, held, expected) in [
            ("Which driver has driven most?", "Plate", Some(true)),
            ("Which driver has driven most?", "Driver", None),
            ("In which vehicle type is most fuel used?", "Driver", Some(true)),
            ("In which vehicle type is most fuel used?", "veh. type", None),
            ("What is the name of the driver with the most kilometres?", "Plate", Some(true)),
            ("Which driver has driven more, and in which vehicle?", "Driver", None),
            // What is computed, and what no column is called, is not compared.
            ("Which month had the most services?", "Plate", None),
            ("Which fuel range is the most common?", "Plate", None),
            ("Which company owns most?", "Plate", None),
            ("Give the number of plates.", "Driver", None),
            ("Give the total of the plates.", "Driver", None),
        ] {
            assert_eq!(is_certain(question, "", text(&[held])), expected, "{question} {held}");
        }
    }

    #[test]
    fn another_table_may_have_names_for_the_keys_of_a_column() {
        let table = |name: &str, column: &str| InputTable {
            name: name.to_owned(),
            rows: 10,
            columns: vec![TableColumn { name: column.to_owned(), missing: 0 }],
        };
        let sources = [table("trips", "driver"), table("people", "full name")];
        let evidence = ResultEvidence {
            form: ResultForm::Text,
            present: vec!["driver".to_owned(), "full name".to_owned()],
            held: vec!["full name".to_owned()],
            ..ResultEvidence::default()
        };
        let computed = ComputedResult::new("Which driver has driven most?", "", &sources, evidence);
        assert!(!computed.mismatch().unwrap().is_certain);
    }

    #[test]
    fn a_number_is_asked_for_and_a_person_is_none() {
        let text = |digits: bool| json!({"form": "text", "has_digits": digits});
        let count = "How many drivers are there?";
        assert_eq!(is_certain(count, "", text(false)), Some(true));
        assert_eq!(is_certain(count, "", text(true)), None, "a text such as `3 litres`");
        assert_eq!(is_certain(count, "", json!({"form": "truth"})), Some(true));
        assert_eq!(is_certain(count, "", json!({"form": "number"})), None);
        let both = "How many are there, and which driver drove most?";
        assert_eq!(is_certain(both, "", json!({"form": "text", "held": ["Driver"]})), None);
        let who = "Who drove most?";
        assert_eq!(is_certain(who, "", json!({"form": "number"})), Some(true));
        assert_eq!(is_certain(who, "", json!({"form": "number", "held": ["driver_id"]})), None);
        assert_eq!(is_certain(who, "", json!({"form": "text"})), None);
    }

    #[test]
    fn a_part_is_within_its_whole_and_a_difference_above_zero() {
        let number = |number: f64| json!({"form": "number", "number": number});
        let share = "What percentage of the vehicles are vans?";
        assert_eq!(is_certain(share, "result = a / b", number(166.7)), Some(true));
        for known in [0.0, 0.33, 33.0, 100.0] {
            assert_eq!(is_certain(share, "result = a / b", number(known)), None);
        }
        let change = "What percentage of last year's total is more than this year's?";
        assert_eq!(is_certain(change, "result = a / b", number(166.7)), None);
        let difference = "What is the difference between the two?";
        assert_eq!(is_certain(difference, "result = a - b", number(-4.0)), Some(false));
        assert_eq!(is_certain(difference, "result = a - b", number(4.0)), None);
    }

    #[test]
    fn one_thing_is_asked_for_and_no_column() {
        let items = |items: u64| json!({"form": "items", "items": items, "held": ["Plate"]});
        let one = "Which vehicle is the newest? Give its plate.";
        assert_eq!(is_certain(one, "", items(10)), Some(true));
        assert_eq!(is_certain(one, "", items(2)), Some(false), "two may be equally new");
        assert_eq!(is_certain(one, "", items(1)), None);
        assert_eq!(is_certain("In which month is most driven?", "", items(10)), Some(true));
        for many in [
            "Which vehicles are vans? Give their plates.",
            "Which three plates are the newest?",
            "How many kilometres has each vehicle driven?",
            "How many vehicles are there per type?",
        ] {
            assert_eq!(is_certain(many, "", items(10)), None, "{many}");
        }
    }

    #[test]
    fn a_quantity_is_no_count_of_rows_and_has_its_own_unit() {
        let elements = ["sym", "element name", "melting point °C"];
        let number = || json!({"form": "number", "numeric": ["melting point °C"]});
        let ask = |question: &str, python: &str| mismatch(&elements, question, python, number());
        let grams = "How many grams of gold are kept?";
        assert!(ask(grams, "result = len(e[e['sym'] == 'Au'])").unwrap().is_certain);
        assert!(ask(grams, "result = e.loc[3, 'melting point °C']").unwrap().is_certain);
        assert_eq!(ask(grams, "result = e[e['sym'] == 'Au'].iloc[0, 2]"), None);
        assert_eq!(ask("How many elements are there?", "result = len(e['sym'])"), None);
        let celsius = "How high is it, in degrees Celsius?";
        assert_eq!(ask(celsius, "result = e['melting point °C'].max()"), None);
        assert_eq!(ask("On how many days was gold sold?", "result = len(e['sym'])"), None);
        let euros = json!({"form": "number", "numeric": ["net_eur"]});
        let share = "result = 100 * s['net_eur'].max() / s['net_eur'].sum()";
        let question = "Show the sales per region and compute the percent of the largest";
        assert_eq!(mismatch(&["region", "net_eur"], question, share, euros), None);
    }
}
