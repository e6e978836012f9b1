//! What is known while the SQL agent works.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::column_owner::{give_owners, owner_notes};
use super::known_names::{KnownTable, quote_names, unknown_column};
use super::listing::SchemaRequest;
use super::misplaced_value::{NamedValue, query_by_key};
use crate::computation::RejectedWording;
use crate::data_analyst::agent_result::AgentError;
use crate::data_analyst::tabular::{MOST_LISTED, TabularResult};
use crate::data_analyst::trace_event::TraceEvent;

/// One query, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SqlAttempt {
    /// Counts from 1.
    pub attempt: usize,
    /// The query; empty if there was none.
    pub query: String,
    /// How many rows it returned.
    pub row_count: Option<usize>,
    /// Whether it returned any result.
    pub success: bool,
    /// Why not.
    pub error: Option<AgentError>,
    /// How long the database took, in milliseconds.
    pub latency_ms: f64,
}

/// The rows of a query that others have to agree with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateResult {
    /// The query.
    pub query: String,
    /// Its rows.
    pub table: TabularResult,
    /// What is the same for the same rows in any order, if the database says so.
    #[serde(default)]
    pub digest: Option<String>,
}

/// What a reader has to know of a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryNote {
    /// The query.
    pub query: String,
    /// A sentence.
    pub note: String,
}

/// A query with its names as the schema has them, and what a reader has to know of the change.
pub(crate) struct CorrectedQuery {
    pub(crate) query: String,
    pub(crate) notes: Vec<String>,
}

/// What is known while the agent works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SqlWork {
    /// When it began, in microseconds since the epoch.
    pub started: u64,
    /// How long it may still work, in milliseconds.
    pub time_left_ms: usize,
    /// The dialect of the database.
    pub dialect: String,
    /// The tables that the question is about, described for a model.
    pub tables: String,
    /// All tables that may be read.
    pub known_tables: Vec<KnownTable>,
    /// The columns whose values were compared with the question.
    pub value_columns: Vec<String>,
    /// Their values that the question names.
    pub named_values: Vec<NamedValue>,
    /// The query that is to run next.
    pub query: String,
    /// What of the schema itself is listed in place of a query.
    pub listing: Option<SchemaRequest>,
    /// Whether it was reviewed.
    pub is_reviewed: bool,
    /// The queries that were tried.
    pub attempts: Vec<SqlAttempt>,
    /// The results that are compared.
    pub candidates: Vec<CandidateResult>,
    /// Columns that queries have counted, with their table, and whether they are flags.
    pub counted: BTreeMap<String, bool>,
    /// What a reader has to know of queries.
    pub notes: Vec<QueryNote>,
    /// The same of the query whose rows are the result.
    pub warnings: Vec<String>,
    /// What a person is asked.
    pub question: Option<String>,
    /// What the person has answered.
    pub clarification: Option<String>,
    /// The rows of the last one.
    pub table: Option<TabularResult>,
    /// The rows in words.
    pub answer: Option<String>,
    /// Words that differed from the rows, and were not delivered.
    pub rejected: Vec<RejectedWording>,
    /// Why there is no answer.
    pub error: Option<AgentError>,
    /// What happened.
    pub trace: Vec<TraceEvent>,
}

impl SqlWork {
    /// Whether a query is to be written: there is neither a result nor a failure that another
    /// query does not mend.
    pub(crate) const fn is_open(&self) -> bool {
        self.table.is_none() && self.error.is_none()
    }

    /// Whether there is a result, be it in words or not.
    pub(crate) const fn has_result(&self) -> bool {
        !self.is_open() || !self.candidates.is_empty()
    }

    /// The rows of the table that models read: more of a list, whose rows are short.
    pub(crate) fn shown_rows(&self, usual: usize) -> usize {
        if self.listing.is_some() { usual.max(MOST_LISTED) } else { usual }
    }

    /// The query with its names as the schema has them; none if it has them already. A column is
    /// taken from another table only once the model was told of an unknown one.
    pub(crate) fn corrected_query(&self) -> Option<CorrectedQuery> {
        let quoted = quote_names(&self.query, &self.known_tables, &self.dialect);
        let errors = self.attempts.iter().filter_map(|attempt| attempt.error.as_ref());
        let was_told = errors.into_iter().any(|error| unknown_column(&error.message).is_some());
        let (query, notes) = if was_told {
            let notes = owner_notes(&quoted, &self.known_tables);
            (give_owners(&quoted, &self.known_tables), notes)
        } else {
            (quoted, Vec::new())
        };
        (query != self.query).then_some(CorrectedQuery { query, notes })
    }

    /// Keeps what a reader has to know of a query.
    pub(crate) fn note(&mut self, query: &str, note: String) {
        let note = QueryNote { query: query.to_owned(), note };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The query with a value looked up by the key of the table that has it; none if it compares
    /// no such value.
    pub(crate) fn query_by_key(&self) -> Option<String> {
        let values = (&*self.value_columns, &*self.named_values);
        query_by_key(&self.query, values, &self.known_tables, &self.dialect)
    }

    /// Counts a query that failed.
    pub(crate) fn fail(&mut self, error: AgentError, latency_ms: f64) {
        let (attempt, query) = (self.attempts.len() + 1, std::mem::take(&mut self.query));
        let row_count = None;
        let error = Some(error);
        self.attempts.push(SqlAttempt {
            attempt,
            query,
            row_count,
            success: false,
            error,
            latency_ms,
        });
        self.is_reviewed = false;
        self.listing = None;
    }
}
