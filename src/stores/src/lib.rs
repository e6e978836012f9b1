//! Where threads are kept.
//!
//! | module | holds |
//! |---|---|
//! | [`memory`] | a store that lasts as long as its process |
//! | [`sqlite`] | a store in one file |

pub mod memory;
pub mod sqlite;

pub use memory::MemoryStore;
pub use sqlite::{Settings, SqliteStore, Sync};
