//! Where threads are kept.
//!
//! | module | holds |
//! |---|---|
//! | [`codec`] | how commits become bytes |
//! | [`memory`] | a store that lasts as long as its process |
//! | [`sqlite`] | a store in one file |

pub mod codec;
pub mod memory;
pub mod sqlite;

pub use codec::{Codec, JsonCodec, ValueCodec};
pub use memory::MemoryStore;
pub use sqlite::{Settings, SqliteStore, Sync};
