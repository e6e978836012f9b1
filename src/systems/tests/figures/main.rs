//! Numbers, dates and units in sentences.

mod cases;
mod properties;
