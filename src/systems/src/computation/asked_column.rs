//! Asks a small model which column holds what the question asks for. When such a model writes
//! code, it takes a similar column if there is none; asked for the column alone, it mostly says so.

use antiphon_core::{Fault, Message, Schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Computation;
use super::code_text::has_word;
use super::column_name::stands_for;
use super::graph::{is_small, refuse};
use super::input_table::{self, TableColumn};
use super::question_form::QuestionForm;
use super::state::State;
use super::task::Task;
use crate::builder::RoleNode;
use crate::delimited_input::DelimitedInput;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{object, text};

/// Columns beyond which a small model does not find the one that is meant.
const MOST_COLUMNS: usize = 40;

/// What a model says if no column holds what is asked for.
const NONE: &str = "none";

#[derive(Deserialize)]
struct ColumnReply {
    asked_for: String,
    column: String,
}

/// Whether the planner is a small model whose code may read the wrong column: the question has
/// words that match no input, and the code reads no column or one that the question does not name.
pub(super) fn needs_check(cx: &NodeContext<Computation>, python: &str) -> bool {
    let (task, State { sources, has_checked_column, .. }) = (cx.input(), &*cx.state);
    let columns = columns(&cx.state);
    let can_be_asked =
        columns.len() <= MOST_COLUMNS && !columns.iter().any(|column| is_none(&column.name));
    if sources.is_empty() || !is_small(cx) || *has_checked_column || !can_be_asked {
        return false;
    }
    if input_table::reads_beside(task, sources, python) {
        return false;
    }
    if !input_table::asks_for_more(&task.question, &json!(task.facts).to_string(), &cx.state) {
        return false;
    }
    let used = input_table::used(python, sources);
    used.is_empty() || !input_table::unnamed(&task.question, &cx.state, &used).is_empty()
}

/// Asks for the column. The question ends if the model says that there is none, or if no column is
/// called like what is asked for.
pub(super) fn role() -> RoleNode<Computation> {
    RoleNode {
        role: "planner",
        schema: Schema::new("column", object(&json!({"asked_for": text(), "column": text()}))),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| conversation(cx.system(), cx.input(), &cx.state),
        brief: |_| Ok(Json::Null),
        conclude: |cx, mut reply| {
            let mut patch = Patch::default();
            patch.set(State::has_checked_column, true).set(State::needs_column_check, false);
            let Ok(ColumnReply { asked_for, column }) = reply.read() else { return Ok(patch) };
            patch.note("column_named", json!({"asked_for": asked_for, "column": column}));
            if is_none(&column) {
                refuse(&mut patch, format!("no column holds what is asked for: {asked_for}"));
            } else if let Some(name) = unnamed(cx) {
                refuse(&mut patch, format!("no column is called like what is asked for: {name}"));
            }
            Ok(patch)
        },
    }
}

/// What the question asks for by a name that no column has, as in `the author`, of a table of
/// members: which column the model takes for it then says nothing.
fn unnamed(cx: &NodeContext<Computation>) -> Option<String> {
    let form = QuestionForm::of(&cx.input().question);
    let name = form.asked_name()?;
    let columns = columns(&cx.state);
    let described = format!("{}\n{}", cx.state.inputs, json!(cx.input().facts)).to_lowercase();
    let is_known = |word: &str| {
        has_word(&described, word) || columns.iter().any(|it| stands_for(word, &it.name))
    };
    (!name.iter().any(|word| is_known(word))).then(|| name.join(" "))
}

fn is_none(column: &str) -> bool {
    column.trim().trim_matches(['`', '\'', '"']).eq_ignore_ascii_case(NONE)
}

fn conversation(system: &Computation, task: &Task, state: &State) -> Result<Vec<Message>, Fault> {
    let instructions = system.resources.instructions("planner", "column", &[])?;
    let names: Vec<&str> = columns(state).iter().map(|column| &*column.name).collect();
    let mut delimited = DelimitedInput::new();
    delimited.add("columns", &names.join("\n")).add("question", &task.question);
    Ok(vec![Message::system(instructions), Message::user(delimited.text())])
}

fn columns(state: &State) -> Vec<&TableColumn> {
    state.sources.iter().flat_map(|source| &source.columns).collect()
}
