//! The models of the SQL agent: one writes queries, one reviews them, one puts rows into words.

use std::borrow::Cow;

use antiphon_core::{Fault, Message, Schema};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::catalogue_query::requested_list;
use super::listing::SchemaRequest;
use super::misplaced_value::MISPLACED_VALUE;
use super::query::{is_doubt, patch};
use super::work::{SqlAttempt, SqlWork};
use crate::builder::RoleNode;
use crate::computation::RejectedWording;
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::agent_result::AgentError;
use crate::data_analyst::grounding::{self, rejected};
use crate::data_analyst::request::AgentName;
use crate::data_analyst::state::State;
use crate::data_analyst::temporal::{needs_time, without_time};
use crate::data_analyst::trace_event::{TraceEventKind, event};
use crate::delimited_input::{DelimitedInput, cut, escape};
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::reply::{RoleReply, answer_text, object, text};

/// The longest error that a model reads, in characters.
const LONGEST_ERROR: usize = 600;
/// A reviewed query with no more characters is none, whatever the original was.
const SHORTEST_REVIEW: usize = 20;

/// First words of statements.
const STATEMENTS: [&str; 14] = [
    "SELECT", "WITH", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE", "MERGE", "CREATE",
    "ALTER", "DROP", "EXPLAIN", "COPY", "DO",
];

#[derive(Deserialize)]
struct QueryReply {
    #[serde(default)]
    missing: Option<String>,
    #[serde(default)]
    sql: String,
    #[serde(default)]
    schema: Option<String>,
    #[serde(default)]
    tables: Vec<String>,
}

#[derive(Deserialize)]
struct ReviewReply {
    sql: String,
}

#[derive(Deserialize)]
struct AnswerReply {
    answer: String,
}

/// Writes a query; sees how earlier ones went wrong.
pub(in crate::data_analyst) fn writer() -> RoleNode<DataAnalyst> {
    let fields = json!({
        "missing": {"type": ["string", "null"]}, "sql": {"type": "string"},
        "schema": {"enum": ["", "tables", "columns", null]},
        "tables": {"type": "array", "items": {"type": "string"}},
    });
    let mut schema = object(&fields);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("required".to_owned(), json!(["sql"]));
    }
    RoleNode {
        role: "sql_writer",
        schema: Schema::new("query", schema),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: writing,
        brief: |cx| {
            let SqlWork { dialect, tables, attempts, .. } = &cx.state.sql;
            Ok(json!({
                "question": cx.input().question, "facts": cx.state.context, "dialect": dialect,
                "tables": tables, "attempts": attempts,
                "clarification": cx.state.sql.clarification,
            }))
        },
        conclude: written,
    }
}

fn writing(cx: &NodeContext<DataAnalyst>) -> Result<Vec<Message>, Fault> {
    let SqlWork { dialect, tables, attempts, .. } = &cx.state.sql;
    let fields = [("dialect", dialect.as_str())];
    let instructions = cx.system().resources.instructions("sql_writer", "sql_writer", &fields)?;
    let mut delimited = DelimitedInput::new();
    delimited.add("tables", tables);
    delimited.add("facts", &json!(facts(cx)).to_string());
    if let Some(clarification) = &cx.state.sql.clarification {
        delimited.add("clarification", clarification);
    }
    delimited.add("question", &cx.input().question);
    for candidate in &cx.state.sql.candidates {
        delimited.add("query", &candidate.query);
    }
    let opening = delimited.then(match &*cx.state.sql.candidates {
        [] => "Write the query that answers the question.",
        _ => "Write a query that answers the question in another way than those that are there.",
    });
    let mut messages = vec![Message::system(instructions), Message::user(opening)];
    // What went wrong before the last result is behind.
    let open = attempts.iter().rposition(|attempt| attempt.success).map_or(0, |at| at + 1);
    for SqlAttempt { query, error, .. } in attempts.iter().skip(open) {
        let Some(error) = error else { continue };
        let earlier = json!({"missing": "", "sql": query}).to_string();
        messages.push(Message::assistant(escape(&earlier).into_owned()));
        let mut wrong = error.message.clone();
        if let Some(hint) = error.details.get("hint").and_then(Json::as_str) {
            wrong.push('\n');
            wrong.push_str(hint);
        }
        let mut delimited = DelimitedInput::new();
        delimited.add("error", &cut(&wrong, LONGEST_ERROR));
        // Nothing may be the right answer.
        let again = if error.kind == MISPLACED_VALUE {
            "If a value stands in the wrong column there, write the whole query again without that \
             mistake. If it does not, write the same query again."
        } else if is_doubt(&error.kind) {
            "If the question does not mean that, write the whole query again without that mistake. \
             If it does, write the same query again."
        } else {
            "Write the whole query again without that mistake, from the tables that are listed."
        };
        messages.push(Message::user(delimited.then(again)));
    }
    Ok(messages)
}

/// What the writer knows beside the tables. A small model that reads the present time puts a
/// condition on it into every query, so it reads the time only where the question needs it.
fn facts(cx: &NodeContext<DataAnalyst>) -> Cow<'_, Map<String, Json>> {
    let context = &cx.state.context;
    let is_small = cx.system().resources.roles.tier("sql_writer") == ModelTier::Small;
    if is_small && !needs_time(&cx.input().question) {
        Cow::Owned(without_time(context, &cx.input().context))
    } else {
        Cow::Borrowed(context)
    }
}

fn written(cx: &NodeContext<DataAnalyst>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let QueryReply { missing, sql, schema, tables } = reply.read()?;
    let mut work = cx.state.sql.clone();
    let missing = missing.as_deref().and_then(crate::computation::said);
    if let Some(missing) = missing {
        let message = format!("the database does not hold what is asked for: {missing}");
        if cx.system().config.clarify && work.clarification.is_none() {
            work.question = Some(message);
            return Ok(patch(cx, work));
        }
        let data = json!({"missing": missing});
        work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Decision, "not in data", data));
        work.error = Some(AgentError::new("NotInData", message));
    } else if let Some(listing) = asked_listing(&sql, schema.as_deref(), tables)
        .or_else(|| requested_list(&extract(&sql), &work.known_tables))
    {
        listing.note(cx, &mut work, &sql);
    } else {
        work.query = extract(&sql);
        work.is_reviewed = false;
        let data = json!({"query": work.query, "attempt": work.attempts.len() + 1});
        work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Decision, "query", data));
    }
    Ok(patch(cx, work))
}

/// The list that a reply asks for; none if it has a query.
fn asked_listing(sql: &str, scope: Option<&str>, tables: Vec<String>) -> Option<SchemaRequest> {
    SchemaRequest::read(scope, tables).filter(|_| sql.trim().is_empty())
}

/// The query in a text: within a fence, else from the first word of a query on.
///
/// Models put a query into prose although they are asked for the query alone.
fn extract(given: &str) -> String {
    let fenced = given.split("```").nth(1).map(|code| {
        let code = code.trim_start();
        code.strip_prefix("sql").or_else(|| code.strip_prefix("SQL")).unwrap_or(code)
    });
    let code = fenced.unwrap_or(given).trim();
    let upper = code.to_ascii_uppercase();
    let is_query = |word: &str| upper.starts_with(word);
    // A statement of another kind stays as it is too, although it may have a query in it.
    let first = upper.split(|sign: char| !sign.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_code = STATEMENTS.contains(&first) || ["/*", "--", "("].iter().any(|it| is_query(it));
    let start = if is_code || fenced.is_some() {
        Some(0)
    } else {
        let found = ["SELECT ", "WITH "].iter().filter_map(|word| upper.find(word)).min();
        // Anything else stays as it is: the check says what is wrong with it.
        found.or_else(|| (!code.is_empty()).then_some(0))
    };
    let code = start.and_then(|start| code.get(start..)).unwrap_or_default();
    code.trim().trim_end_matches(';').trim_end().to_owned()
}

/// Reviews a query before it is run.
pub(in crate::data_analyst) fn reviewer() -> RoleNode<DataAnalyst> {
    RoleNode {
        role: "sql_reviewer",
        schema: Schema::new("review", object(&json!({"sql": text()}))),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| {
            let SqlWork { dialect, tables, query, .. } = &cx.state.sql;
            let fields = [("dialect", dialect.as_str())];
            let resources = &cx.system().resources;
            let instructions = resources.instructions("sql_reviewer", "sql_reviewer", &fields)?;
            let mut delimited = DelimitedInput::new();
            delimited.add("tables", tables);
            delimited.add("question", &cx.input().question).add("query", query);
            let opening = delimited.then("Review the query.");
            Ok(vec![Message::system(instructions), Message::user(opening)])
        },
        brief: |cx| {
            let SqlWork { dialect, tables, query, .. } = &cx.state.sql;
            let question = &cx.input().question;
            Ok(json!({"question": question, "dialect": dialect, "tables": tables, "query": query}))
        },
        conclude: |cx, mut reply| {
            let ReviewReply { sql } = reply.read()?;
            let mut work = cx.state.sql.clone();
            let reviewed = extract(&sql);
            let is_kept = is_degraded(&reviewed, &work.query);
            let data = json!({"query": reviewed, "kept_original": is_kept});
            work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Message, "review", data));
            if !is_kept {
                work.query = reviewed;
            }
            work.is_reviewed = true;
            Ok(patch(cx, work))
        },
    }
}

/// Whether a reviewer has thrown the query away instead of correcting it.
fn is_degraded(reviewed: &str, original: &str) -> bool {
    let length = reviewed.chars().count();
    let is_trivial = reviewed.to_lowercase().starts_with("select 1") && length <= SHORTEST_REVIEW;
    // A short query may be right if the original is as short.
    let half = original.chars().count() / 2;
    is_trivial || length < half.max(SHORTEST_REVIEW).min(original.chars().count())
}

/// Puts the rows into words.
pub(in crate::data_analyst) fn answerer() -> RoleNode<DataAnalyst> {
    RoleNode {
        role: "sql_answerer",
        schema: Schema::new("answer", object(&json!({"answer": answer_text()}))),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| {
            let work = &cx.state.sql;
            let SqlWork { query, table, rejected, .. } = work;
            let rows = work.shown_rows(cx.system().config.preview_rows);
            let resources = &cx.system().resources;
            let instructions = resources.instructions("sql_answerer", "sql_answerer", &[])?;
            let preview = table.as_ref().map(|table| table.preview(rows));
            let mut delimited = DelimitedInput::new();
            delimited.add("question", &cx.input().question);
            if !query.is_empty() {
                delimited.add("query", query);
            }
            delimited.add("result", &preview.unwrap_or_default());
            let opening = delimited.then("Answer the question from the result.");
            let mut messages = vec![Message::system(instructions), Message::user(opening)];
            messages.extend(grounding::again(rejected));
            Ok(messages)
        },
        brief: |cx| {
            let work = &cx.state.sql;
            let SqlWork { query, table, rejected, .. } = work;
            let rows = work.shown_rows(cx.system().config.preview_rows);
            let table = table.as_ref().map(|table| table.preview(rows));
            let question = &cx.input().question;
            Ok(json!({"question": question, "query": query, "result": table, "rejected": rejected}))
        },
        conclude: |cx, mut reply| {
            let AnswerReply { answer } = reply.read()?;
            let mut work = cx.state.sql.clone();
            let Some(table) = &work.table else { return Ok(patch(cx, work)) };
            let mut known = grounding::asked(cx);
            table.add_evidence(&mut known, work.shown_rows(cx.system().config.preview_rows));
            if work.listing.is_some() {
                known.text(&table.distinct("table").to_string());
            }
            let differences = grounding::differences(&known, &answer, Some(table));
            if differences.is_empty() {
                work.answer = Some(answer);
            } else {
                let wording = RejectedWording { answer, differences };
                work.trace.push(rejected(cx, AgentName::Sql, &wording));
                work.rejected.push(wording);
            }
            Ok(patch(cx, work))
        },
    }
}
