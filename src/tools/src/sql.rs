//! Read-only access to databases for model-written SQL.
//!
//! Two layers keep a query from changing anything, and each holds alone: the statement is parsed
//! and must consist of allowed parts only ([`check`](mod@check)), and the connection cannot write
//! ([`sqlite`], [`postgres`]).
//!
//! | module | holds |
//! |---|---|
//! | [`database`] | the trait of databases, and what they tell about their tables |
//! | [`check`](mod@check), [`policy`], [`dialect`] | what a statement may consist of |
//! | [`parameters`], [`limits`], [`table`] | bound values, limits, and results with typed columns |
//! | `arrow`, `arrow_type`, `row_digest` | results as columns of Arrow, and what tells two of them apart |
//! | [`sqlite`], [`postgres`] | the databases |
//! | [`remote`], [`remote_settings`] | a database behind tools of somebody else |
//! | [`settings`], [`family`] | the tools |

mod arrow;
mod arrow_type;
pub mod check;
pub mod database;
pub mod dialect;
pub mod family;
mod fault;
mod foreign_functions;
mod functions;
pub mod limits;
pub mod parameters;
pub mod policy;
pub mod postgres;
pub mod remote;
mod remote_reply;
pub mod remote_settings;
mod row_digest;
pub mod settings;
pub mod sqlite;
pub mod table;

pub use check::{CheckedQuery, check};
pub use database::{ColumnSchema, Database, ForeignKey, TableKind, TableSchema, TableSummary};
pub use dialect::SqlDialect;
pub use family::SqlTools;
pub use limits::QueryLimits;
pub use parameters::{ParameterKey, QueryParameters};
pub use policy::{QueryPolicy, TableName};
pub use postgres::{PostgresDatabase, PostgresOptions};
pub use remote::RemoteSqlTools;
pub use remote_settings::RemoteSqlSettings;
pub use settings::{SqlSettings, open_database};
pub use sqlite::SqliteDatabase;
pub use table::{CellValue, QueryColumn, QueryTable};
