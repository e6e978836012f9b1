//! Stores, and what is built on them: over memory, files, and Postgres as a real server
//! (`make test-rust` starts one).

#![cfg(test)]

mod admin;
mod checkpoint_writer;
mod codec;
mod conformance;
mod database;
mod failures;
mod fixtures;
mod flush_mode;
mod formats;
mod hooked_store;
mod hostile;
mod langgraph_thread;
mod lease;
mod list;
mod log;
mod past_questions;
mod postgres;
mod proxy;
mod reducers;
mod retention;
mod rewritten_thread;
mod sqlite;
mod stored_thread;
mod text_cache;
mod thread_cache;
mod thread_cache_races;
mod tls;
mod turn;
mod waiting;
