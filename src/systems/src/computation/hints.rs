//! What to do about common mistakes in code, for a model that has made one.

use antiphon_figures::is_month;
use antiphon_runtime::sandbox::GuestFault;

use super::code_text::{CodeText, has_word};
use super::input_table::TableColumn;
use super::outcome::ComputationAttempt;
use super::question_form::QuestionForm;
use super::state::State;
use super::task::Task;

/// What may mend code that failed with this fault, or came to something else than was asked for.
pub(super) fn hints(task: &Task, state: &State, attempt: &ComputationAttempt) -> Vec<String> {
    let of_fault = attempt.fault.as_ref().and_then(|fault| mistake(&task.question, state, fault));
    let code = CodeText::of(&attempt.python);
    let is_worded = code.texts.iter().any(|text| is_date_in_words(text));
    let is_duration = QuestionForm::of(&task.question).asks_for_duration() && !code.subtracts();
    let of_dates = if is_worded { Some(WRITTEN) } else { is_duration.then_some(SUBTRACTED) };
    let of_dates = of_dates.filter(|_| has_dates(state)).map(str::to_owned);
    let of_column = asked_column(task, state).map(|(table, column)| {
        format!(
            "The answer is a value of `{column}`: find the row, and take it from there, as in \
             result = {table}.loc[row, '{column}']."
        )
    });
    of_fault.into_iter().chain(of_dates).chain(of_column).collect()
}

/// How dates as text are written.
const WRITTEN: &str = "Dates are written like 2024-05-17: those of May 2024 begin with 2024-05.";

/// How the time between two dates is computed.
const SUBTRACTED: &str = "Compute the days from one date to another first, as in the examples: \
                          days = (...).dt.days. The row is then that of days.idxmax().";

/// Whether a column holds dates as text.
pub(super) fn has_dates(state: &State) -> bool {
    state.inputs.contains("dates as text")
}

/// Whether a text has the name of a month: cells such as `2024-04-30` hold none.
pub(super) fn is_date_in_words(text: &str) -> bool {
    text.split(|sign: char| !sign.is_alphabetic()).any(is_month)
}

/// The only column that the answer can be a value of, and its input.
pub(super) fn asked_column<'s>(task: &Task, state: &'s State) -> Option<(&'s str, &'s str)> {
    let columns: Vec<&TableColumn> =
        state.sources.iter().flat_map(|source| &source.columns).collect();
    let asked = QuestionForm::of(&task.question).asked_columns(&columns);
    let [name] = &*asked else { return None };
    let has = |columns: &[TableColumn]| columns.iter().any(|column| column.name == *name);
    let source = state.sources.iter().find(|source| has(&source.columns))?;
    Some((&source.name, name))
}

fn mistake(question: &str, state: &State, fault: &GuestFault) -> Option<String> {
    const OF_DATES: [&str; 6] =
        [".dt accessor", "'dt'", "'strftime'", "'month'", "'year'", "for -: 'str' and 'str'"];
    let has = |signs: &[&str]| signs.iter().any(|sign| fault.message.contains(sign));
    let source = state.sources.first()?;
    let (table, key) = (&source.name, &source.columns.first()?.name);
    if has(&OF_DATES) && has_dates(state) {
        return Some(
            "Dates as text become dates with pd.to_datetime, as in the examples. As they are, the \
             earliest is the smallest."
                .to_owned(),
        );
    }
    if has(&["Location based indexing can only have"]) {
        return Some(format!("`iloc` takes numbers only: write .iloc[0]['{key}']."));
    }
    if has(&[
        "'rand_'",
        "truth value of a Series is ambiguous",
        "unsupported operand type(s) for &",
    ]) {
        return Some("Put each comparison in brackets: (a == 1) & (b > 2).".to_owned());
    }
    let missing = fault.message.trim_matches(['\'', '"']);
    // A key that the question does not name is an invented column.
    let is_asked = has_word(&question.to_lowercase(), &missing.to_lowercase());
    let is_key = fault.exception.as_deref() == Some("KeyError") && is_asked;
    let is_column = || state.sources.iter().flat_map(|it| &it.columns).any(|it| it.name == missing);
    (is_key && !is_column()).then(|| {
        format!(
            "There is no column and no label `{missing}`. Select rows by a value of a column: \
             {table}[{table}['{key}'] == '{missing}']."
        )
    })
}
