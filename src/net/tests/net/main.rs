//! The network layer against a real server on loopback, and its pure parts alone.

#![cfg(test)]

mod client;
mod redact;
mod retry_after;
mod server;
mod sse;
