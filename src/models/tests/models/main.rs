//! Models against a real server on loopback that does what servers do, the
//! wrong things too; layers and scripts in virtual time.

#![cfg(test)]

mod answers;
mod anthropic;
mod anthropic_streams;
mod fallback;
mod faults;
mod images;
mod openai_chat;
mod opening;
mod recording;
mod retrying;
mod schema;
mod scripted;
mod secrets;
#[path = "../../../net/tests/net/server.rs"]
mod server;
mod streams;
mod times;
