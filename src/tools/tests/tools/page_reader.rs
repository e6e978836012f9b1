//! The page reader against a real server on loopback, and its pure parts alone.

mod article;
mod browser;
pub(crate) mod pdf;
mod quote;
mod reading;
