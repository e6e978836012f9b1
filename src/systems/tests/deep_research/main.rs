//! The deep research: its settings and its decisions.

mod decisions;
mod gains;
mod links;
