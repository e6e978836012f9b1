//! The built-in tools, against real counterparts on this machine.

mod typed;
