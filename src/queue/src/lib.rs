//! Queues: work that is handed to whoever is free.
//!
//! | module | holds |
//! |---|---|
//! | [`memory`] | a queue within one process |

pub mod memory;

pub use memory::MemoryQueue;
