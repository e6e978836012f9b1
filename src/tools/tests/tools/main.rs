//! The built-in tools, against real counterparts on this machine.

#![cfg(test)]

mod calculator;
mod document;
mod document_search;
mod files;
mod http_api;
mod sql;
mod typed;
