//! HTTP APIs behind a catalogue, against servers on loopback that lie.

mod calls;
mod catalogue;
mod exchange;
mod openapi;
mod requests;
mod server;
mod time_zones;
mod token_requests;
mod tools;
