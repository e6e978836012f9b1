//! Where threads are kept.
//!
//! | module | holds |
//! |---|---|
//! | [`admin`] | seeing to threads from outside of runs: lists, copies, pruning |
//! | [`codec`] | how commits become bytes |
//! | [`history`] | what a thread held at its checkpoints |
//! | [`retention`] | what of a thread stays |
//! | [`checkpoint_writer`] | from commits to entries, and back |
//! | [`lease`], [`owner`] | who writes to a thread, and for how long |
//! | [`log`] | one thread in the hands of one run |
//! | [`name`] | what threads may be called |
//! | [`process`] | what no fork of a process may use |
//! | [`stored_thread`] | where native runs are kept |
//! | [`cipher`] | what protects what is stored |
//! | [`langgraph_thread`] | checkpoints that another engine makes |
//! | [`memory`] | a store that lasts as long as its process |
//! | [`postgres`] | a store in a Postgres database |
//! | [`sqlite`] | a store in one file |

pub mod admin;
pub mod checkpoint_writer;
pub mod cipher;
pub mod codec;
mod exit_buffer;
pub mod history;
pub mod langgraph_thread;
pub mod lease;
pub mod log;
pub mod memory;
pub mod name;
pub mod owner;
pub mod postgres;
pub mod process;
mod pruner;
mod reread;
pub mod retention;
pub mod sqlite;
pub mod stored_thread;

pub use admin::ThreadAdmin;
pub use checkpoint_writer::{CheckpointWriter, Durability, LoadedThread, RunHeader, is_checkpoint};
pub use cipher::{Cipher, EntryPosition};
pub use codec::{Codec, JsonCodec, ValueCodec};
pub use history::{CheckpointView, HistoryPage, HistoryReader};
pub use langgraph_thread::LangGraphThread;
pub use lease::{Lease, TERM};
pub use log::{OpenedEntry, SealedStore, ThreadLog};
pub use memory::MemoryStore;
pub use postgres::{PostgresSettings, PostgresStore};
pub use process::ProcessGuard;
pub use reread::retry_torn_read;
pub use retention::RetentionPolicy;
pub use sqlite::{SqliteSettings, SqliteStore, Sync};
pub use stored_thread::StoredThread;
