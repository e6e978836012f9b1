//! Read-only SQL: what may be asked, and what cannot happen whatever is asked.

mod arrow;
mod check;
mod connection;
mod corpus;
mod mutation;
mod postgres;
mod remote;
mod sqlite;
#[cfg(target_os = "linux")]
mod sqlite_locks;
mod tls;
mod tools;
