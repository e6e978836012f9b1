//! The built-in tools, against real counterparts on this machine.

#![cfg(test)]

mod calculator;
mod document;
mod document_search;
mod download;
mod files;
mod http_api;
mod page_reader;
mod pdf_writer;
#[expect(dead_code, reason = "tests of the client count connections, these do not")]
#[path = "../../../net/tests/net/server.rs"]
mod server;
mod sql;
mod typed;
mod web_search;
mod web_server;
