//! Structured output: parses the text of a model into a value that fits a JSON
//! schema (levels 2 to 6 of the cascade, see [`antiphon_core::reply::ParseLevel`]), and validates
//! the arguments of tools and the answers to approvals.
//!
//! ```
//! use antiphon_core::Schema;
//! use antiphon_core::reply::ReplyParser;
//! use antiphon_reply::CompiledSchema;
//! use serde_json::json;
//!
//! let schema = Schema::new(
//!     "verdict",
//!     json!({
//!         "type": "object",
//!         "properties": {"verdict": {"enum": ["approve", "reject"]}},
//!         "required": ["verdict"],
//!     }),
//! );
//! let compiled = CompiledSchema::compile(&schema)?;
//! let parsed = compiled.parse("Gladly:\n```json\n{'verdict': 'APPROVE',}\n```").unwrap();
//! assert_eq!(parsed.value, json!({"verdict": "approve"}));
//! assert!(parsed.repaired());
//! assert_eq!(parsed.coerced, ["/verdict"]);
//!
//! let refused = compiled.parse(r#"{"verdict": "maybe"}"#).unwrap_err();
//! assert!(refused.feedback().contains("`/verdict`"));
//! # Ok::<(), antiphon_core::Fault>(())
//! ```
//!
//! A reply is untrusted input: work is linear in its length, recursion stops at
//! 127 levels, and a schema never loads anything from a file or the network.

mod cascade;
mod coerce;
mod compiled_schema;
mod cycle;
mod defaults;
mod depth;
mod explain;
mod fence;
mod mend;
mod passage;
mod repair;
mod rules;
mod strict;
mod suggest;
mod token;
mod unescape;

pub use compiled_schema::{CompiledSchema, JsonSchemas};
