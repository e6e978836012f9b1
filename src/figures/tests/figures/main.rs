//! Numbers, dates and units in sentences.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy does not see that these helpers are only called by tests"
)]

mod cases;
mod computed;
mod day_halves;
mod fractions;
mod multiples;
mod properties;
mod quantities;
