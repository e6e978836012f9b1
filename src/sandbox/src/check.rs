//! Checks of what a worker sends along: tables and figures. Libraries of the
//! user read them next, written in languages where a wrong offset is a hole, so
//! only what an honest worker would send gets past.

mod arrow;
mod column;
mod flat;
mod png;
mod schema;

use std::fmt;

pub use arrow::table;
pub use png::figure;

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub &'static str);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refusal {}

/// The sizes of a table that was found to be sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableExtent {
    /// How many rows it has.
    pub rows: u64,
    /// How many columns it has.
    pub columns: u64,
}

type Checked<T = ()> = Result<T, Refusal>;

fn ensure(holds: bool, otherwise: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(Refusal(otherwise)) }
}
