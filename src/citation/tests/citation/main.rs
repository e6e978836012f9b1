//! The citation pipeline: texts, stages, positions, hostile models.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod arbitration;
mod audits;
mod composing;
mod corruption;
mod designations;
mod documented_events;
mod events;
mod hostile;
mod numbers;
mod passages;
mod positions;
mod revision;
mod scene;
mod stages;
mod structure;
mod texts;
