//! Where threads are kept.
//!
//! | module | holds |
//! |---|---|
//! | [`clerk`] | seeing to threads from outside of runs: lists, copies, pruning |
//! | [`codec`] | how commits become bytes |
//! | [`history`] | what a thread held at its checkpoints |
//! | [`keep`] | what of a thread stays |
//! | [`keeper`] | from commits to entries, and back |
//! | [`lease`], [`owner`] | who writes to a thread, and for how long |
//! | [`log`] | one thread in the hands of one run |
//! | [`name`] | what threads may be called |
//! | [`process`] | what no fork of a process may use |
//! | [`room`] | where native runs are kept |
//! | [`seal`] | what protects what is stored |
//! | [`shelf`] | checkpoints that another engine makes |
//! | [`memory`] | a store that lasts as long as its process |
//! | [`postgres`] | a store in a Postgres database |
//! | [`sqlite`] | a store in one file |

pub mod clerk;
pub mod codec;
pub mod history;
pub mod keep;
pub mod keeper;
pub mod lease;
pub mod log;
pub mod memory;
pub mod name;
pub mod owner;
pub mod postgres;
pub mod process;
mod reread;
pub mod room;
pub mod seal;
pub mod shelf;
pub mod sqlite;
mod tidy;
mod withheld;

pub use clerk::ThreadAdmin;
pub use codec::{Codec, JsonCodec, ValueCodec};
pub use history::{CheckpointView, HistoryPage, HistoryReader};
pub use keep::RetentionPolicy;
pub use keeper::{CheckpointWriter, Durability, LoadedThread, RunHeader, is_checkpoint};
pub use lease::{Lease, TERM};
pub use log::{OpenedEntry, SealedStore, ThreadLog};
pub use memory::MemoryStore;
pub use postgres::{PostgresSettings, PostgresStore};
pub use process::ProcessGuard;
pub use reread::retry_torn_read;
pub use room::StoredThread;
pub use seal::{Cipher, EntryPosition};
pub use shelf::LangGraphThread;
pub use sqlite::{SqliteSettings, SqliteStore, Sync};
