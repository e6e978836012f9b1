//! The page reader against a real server on loopback, and its pure parts alone.

mod article;
mod browser;
mod pdf;
mod quote;
mod reading;
