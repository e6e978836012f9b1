//! Whether any column holds what is asked for: a small model that writes code takes another
//! column in its place, and says so at once if it is asked for the column alone.

use antiphon_core::{Fault, Message, Schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Computation;
use super::graph::refuse;
use super::input_table::{self, TableColumn};
use super::state::State;
use super::task::Task;
use crate::builder::RoleNode;
use crate::delimited_input::DelimitedInput;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::prompts::ModelTier;
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

/// Whether a small model has written code that reads no column, or one that the question does not
/// name, where the question asks for more than the columns say, and it was not asked yet which one
/// is meant.
pub(super) fn is_doubtful(cx: &NodeContext<Computation>, python: &str) -> bool {
    let State { sources, is_column_known, .. } = &*cx.state;
    let is_small = cx.system().resources.roles.tier("planner") == ModelTier::Small;
    let columns = columns(&cx.state);
    let can_be_asked =
        columns.len() <= MOST_COLUMNS && columns.iter().all(|column| column.name != NONE);
    if sources.is_empty() || !is_small || *is_column_known || !can_be_asked {
        return false;
    }
    let (question, used) = (&cx.input().question, input_table::used(python, sources));
    if used.is_empty() {
        return input_table::asks_for_more(question, &cx.state);
    }
    !input_table::unnamed(question, &cx.state, &used).is_empty()
}

/// Has the column named that is asked for.
pub(super) fn role() -> RoleNode<Computation> {
    RoleNode {
        role: "planner",
        schema: Schema::new("column", object(&json!({"asked_for": text(), "column": text()}))),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| conversation(cx.system(), cx.input(), &cx.state),
        brief: |_| Ok(Json::Null),
        conclude: |_, mut reply| {
            let ColumnReply { asked_for, column } = reply.read()?;
            let mut patch = Patch::default();
            if column.trim().eq_ignore_ascii_case(NONE) {
                refuse(&mut patch, format!("no column holds what is asked for: {asked_for}"));
            }
            patch.set(State::is_column_known, true).set(State::is_doubtful, false);
            Ok(patch)
        },
    }
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
