//! Checks of the tables and figures that a worker sends. Libraries in the host read them next,
//! and in languages where a wrong offset is a vulnerability, so only what an honest worker would
//! send is accepted.

mod arrow;
mod column;
mod flat;
mod png;
mod schema;

use std::fmt;

pub use arrow::table;
pub use png::figure;

/// Why a table or figure was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub &'static str);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refusal {}

/// The size of a valid table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableExtent {
    /// The number of rows.
    pub rows: u64,
    /// The number of columns.
    pub columns: u64,
}

type CheckResult<T = ()> = Result<T, Refusal>;

fn ensure(holds: bool, otherwise: &'static str) -> CheckResult {
    if holds { Ok(()) } else { Err(Refusal(otherwise)) }
}
