//! The built-in tools, against real counterparts on this machine.

#![cfg(test)]

mod document;
mod typed;
