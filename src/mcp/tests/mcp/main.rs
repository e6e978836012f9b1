//! The client against servers that behave, and such that do not; and our server.

#![cfg(test)]

mod calls;
mod connecting;
mod listening;
mod listing;
mod serving;
mod support;
