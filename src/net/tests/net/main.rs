//! The network layer against a real server on loopback, and its pure parts alone.

#![cfg(test)]

mod address;
mod address_policy;
mod client;
mod guarded_client;
mod redact;
mod redirect;
mod retry_after;
mod server;
mod sse;
