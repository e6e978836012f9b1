//! Search on the web, against servers on loopback that answer as the engines do.

mod engines;
mod failures;
mod fallback;
mod settings;
mod support;
