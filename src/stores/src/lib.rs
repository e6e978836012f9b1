//! Stores for threads: where runs write their commits and read them back.
//!
//! | module | holds |
//! |---|---|
//! | [`admin`] | access to threads from outside of runs: lists, copies, pruning |
//! | [`codec`] | the encoding of commits and snapshots |
//! | [`history`] | the past checkpoints of a thread |
//! | [`retention`] | which checkpoints of a thread stay |
//! | [`checkpoint_writer`] | commits to entries, and back |
//! | [`lease`], [`owner`] | the exclusive right to write to a thread |
//! | [`sealed_store`] | a store whose entries are sealed |
//! | [`thread_log`] | the log of one thread that is being written |
//! | [`name`] | valid names of threads |
//! | [`process`] | guards against use in a forked process |
//! | [`stored_thread`] | threads of native runs |
//! | [`cipher`] | encryption and authentication of entries |
//! | [`langgraph_thread`] | checkpoints of LangGraph's saver interface |
//! | [`memory`] | a store in memory |
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
pub mod memory;
pub mod name;
pub mod owner;
pub mod postgres;
pub mod process;
mod pruner;
mod reread;
pub mod retention;
mod run_header;
pub mod sealed_store;
pub mod sqlite;
pub mod stored_thread;
pub mod thread_log;

pub use admin::ThreadAdmin;
pub use checkpoint_writer::{CheckpointWriter, Durability, LoadedThread, is_checkpoint};
pub use cipher::{Cipher, EntryPosition};
pub use codec::{Codec, JsonCodec, ValueCodec};
pub use history::{CheckpointView, HistoryPage, HistoryReader, TaskView};
pub use langgraph_thread::LangGraphThread;
pub use lease::{Lease, TERM};
pub use memory::MemoryStore;
pub use postgres::{PostgresSettings, PostgresStore};
pub use process::ProcessGuard;
pub use reread::retry_torn_read;
pub use retention::RetentionPolicy;
pub use run_header::RunHeader;
pub use sealed_store::{OpenedEntry, SealedStore};
pub use sqlite::{SqliteSettings, SqliteStore, SyncLevel};
pub use stored_thread::StoredThread;
pub use thread_log::ThreadLog;
