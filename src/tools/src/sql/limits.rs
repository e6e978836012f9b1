//! Limits of one query.

use std::time::Duration;

/// Limits of one query. A result beyond them is cut and says so; a query beyond the time is
/// cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// The most rows; 1,000.
    pub rows: usize,
    /// The most characters of a text, or bytes of a blob, in one cell; 2,000.
    pub cell: usize,
    /// The most bytes of all cells together; 1,000,000.
    pub bytes: usize,
    /// How many rows are kept as cells, if all are wanted as columns of Arrow. By default all rows
    /// are kept as cells, and there are no columns.
    pub preview: Option<usize>,
    /// The longest that the query may run; 30 seconds.
    pub timeout: Duration,
}

impl QueryLimits {
    /// Those of a result whose rows become columns of Arrow: 100,000 rows, of which the first 1,000
    /// are kept as cells too, and 100,000,000 bytes.
    pub fn columns() -> Self {
        let (rows, bytes, preview) = (100_000, 100_000_000, Some(1_000));
        Self { rows, bytes, preview, ..Self::default() }
    }
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            rows: 1_000,
            cell: 2_000,
            bytes: 1_000_000,
            preview: None,
            timeout: Duration::from_secs(30),
        }
    }
}
