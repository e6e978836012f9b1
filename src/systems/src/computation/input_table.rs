//! The inputs that have columns: which of them code reads, and whether the question names them.
//! It only compares texts; a model or a person has to judge what a column means.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::code_text::{CodeText, has_word, is_part};
use super::column_name::stands_for;
use super::state::State;
use super::task::Task;

/// An input with columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputTable {
    /// The variable.
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
    /// The columns.
    pub columns: Vec<TableColumn>,
}

/// A column of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// How many of its rows have no value; the usual functions skip them.
    pub missing: u64,
}

/// The columns that code reads, by the texts and attributes in it.
pub(super) fn used(python: &str, sources: &[InputTable]) -> Vec<InputTable> {
    let CodeText { texts, code } = CodeText::of(python);
    let names: BTreeSet<&str> = code.split(|sign| !is_part(sign)).collect();
    let is_only = sources.len() == 1;
    let reads = |column: &TableColumn| {
        let name = &*column.name;
        let quoted = texts.iter().any(|text| text == name || has_word(text, name));
        quoted || code.contains(&format!(".{name}")) && names.contains(name)
    };
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| is_only || names.contains(&*source.name)) {
        let columns: Vec<TableColumn> =
            source.columns.iter().filter(|it| reads(it)).cloned().collect();
        if !columns.is_empty() {
            found.push(InputTable { columns, ..source.clone() });
        }
    }
    found
}

/// The texts in code that may be values of cells: no names of columns, no formats.
pub(super) fn compared(python: &str, sources: &[InputTable]) -> Vec<String> {
    let columns = || sources.iter().flat_map(|source| &source.columns);
    let mut texts = CodeText::of(python).texts;
    texts.retain(|text| {
        let letters = text.chars().filter(|sign| sign.is_alphanumeric()).count();
        letters > 1 && !text.contains('%') && !columns().any(|column| column.name == *text)
    });
    texts
}

/// Whether code uses a function, or an input without columns: its result may come from there.
pub(super) fn reads_beside(task: &Task, sources: &[InputTable], python: &str) -> bool {
    let functions = task.functions.iter().map(|function| &*function.name);
    let plain = task.names().filter(|name| sources.iter().all(|source| source.name != *name));
    functions.chain(plain).any(|name| has_word(python, name))
}

/// What speaks against an answer, in a sentence each.
pub(super) fn doubts(question: &str, state: &State, used: &[InputTable]) -> Vec<String> {
    let mut found = Vec::new();
    for InputTable { name, rows, columns } in used {
        for TableColumn { name: column, missing } in columns.iter().filter(|it| it.missing > 0) {
            found.push(format!("`{column}` of `{name}` has no value in {missing} of {rows} rows"));
        }
    }
    if let names @ [_, ..] = &*unnamed(question, state, used) {
        let columns = names.join("`, `");
        found.push(format!("the code reads columns that the question does not name: `{columns}`"));
    }
    found
}

/// The columns read by the code that match no word of the question, if the question has words
/// that match neither an input nor a column.
pub(super) fn unnamed(question: &str, state: &State, used: &[InputTable]) -> Vec<String> {
    if !asks_for_more(question, "", state) {
        return Vec::new();
    }
    let words = words(question);
    let read = used.iter().flat_map(|source| &source.columns);
    let is_unnamed =
        |column: &&TableColumn| !words.iter().any(|word| stands_for(word, &column.name));
    read.filter(is_unnamed).map(|column| column.name.clone()).collect()
}

/// Whether the question has words that match neither an input, nor a column, nor what is known
/// beside them.
pub(super) fn asks_for_more(question: &str, known: &str, state: &State) -> bool {
    let described = format!("{}\n{known}", state.inputs).to_lowercase();
    let columns = || state.sources.iter().flat_map(|source| &source.columns);
    words(question).iter().any(|word| {
        !has_word(&described, word) && !columns().any(|column| stands_for(word, &column.name))
    })
}

/// A name in the question, in backticks or with an underscore, that no input has.
pub(super) fn unknown_name(task: &Task, inputs: &str, sources: &[InputTable]) -> Option<String> {
    if sources.is_empty() {
        return None;
    }
    let quoted = task.question.split('`').skip(1).step_by(2).map(str::trim);
    let is_name = |word: &&str| {
        let inner = word.trim_matches('_');
        inner.contains('_') && inner.starts_with(|first: char| first.is_alphabetic())
    };
    let written = task.question.split(|sign| !is_part(sign)).filter(is_name);
    let functions =
        task.functions.iter().map(|function| format!("{} {}", function.name, function.doc));
    let facts = serde_json::Value::from(task.facts.clone()).to_string();
    let columns = sources.iter().flat_map(|source| &source.columns);
    let columns: Vec<&str> = columns.map(|column| &*column.name).collect();
    let known =
        format!("{inputs}\n{}\n{}\n{facts}", columns.join("\n"), functions.collect::<String>());
    let known = known.to_lowercase();
    let mut asked = quoted.chain(written).filter(|name| !name.is_empty());
    asked.find(|name| !has_word(&known, &name.to_lowercase())).map(str::to_owned)
}

/// Words of a question that may stand for a column: no question words, no functions.
fn words(question: &str) -> Vec<String> {
    const FILLERS: &str = "what which who whom whose where when why how many much is are was were be \
        been does did do have has had the and or not for with from that this these those than then \
        there their its his her they them all any each every per into over under between about of \
        average mean median sum total number count share percentage percent maximum minimum max min \
        most least largest smallest highest lowest greatest biggest longest shortest best worst more \
        less fewer first last top rows row column columns table data value values different distinct \
        given give show list find compute calculate tell please can could would should will";
    let lower = question.to_lowercase();
    let parts = lower.split(|sign: char| !sign.is_alphabetic());
    let is_content = |word: &&str| {
        word.chars().count() > 2 && !FILLERS.split_whitespace().any(|filler| filler == *word)
    };
    parts.filter(is_content).map(str::to_owned).collect()
}
