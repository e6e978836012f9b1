//! The SQL agent: finds the tables that a question is about, has a query written, checked, reviewed
//! and run, and its rows put into words.
//!
//! | module | holds |
//! |---|---|
//! | [`work`] | what is known while it works |
//! | [`schema_linking`] | the tables that a question is about, by words |
//! | `schema`, `value_lookup` | the node that reads the schema, and the values that a question names |
//! | `described_names` | what `descriptions` describe, compared with the database |
//! | `identifier` | names in queries |
//! | [`known_names`] | the names of the schema, in queries that spell them in another way |
//! | [`column_owner`], `query_token`, `named_column` | columns that a query takes from the wrong one of its tables |
//! | [`outer_column`] | columns that a query within another one does not have |
//! | [`counted_flag`] | flags that a query counts, whatever they say |
//! | [`multiplied_rows`] | sums over rows that a join repeats |
//! | [`misplaced_value`] | values that a query looks for in another column than their own |
//! | [`date_difference`] | dates that a query subtracts as texts |
//! | `unit_check` | whether a query answers in the unit that is asked for |
//! | `query`, `agreement` | the nodes that check and run a query; whether several came to the same |
//! | [`listing`] | the node that lists tables and columns for questions about the schema itself |
//! | `catalogue_query` | queries that are after such a list |
//! | `clarification` | the node that asks a person |
//! | `roles` | the models that write, review and answer |

mod agreement;
mod catalogue_query;
pub(super) mod clarification;
pub mod column_owner;
pub mod counted_flag;
pub mod date_difference;
mod described_names;
mod identifier;
pub mod known_names;
pub mod listing;
pub mod misplaced_value;
pub mod multiplied_rows;
mod named_column;
pub mod outer_column;
pub(super) mod query;
mod query_token;
pub(super) mod roles;
pub(super) mod schema;
pub mod schema_linking;
mod unit_check;
pub(super) mod value_lookup;
pub mod whole_division;
pub mod work;

pub use known_names::{KnownReference, KnownTable};
pub use listing::{SchemaRequest, SchemaScope};
pub use misplaced_value::NamedValue;
pub use work::{CandidateResult, QueryNote, SqlAttempt, SqlWork};
