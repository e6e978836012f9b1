//! From what a model wrote to a value that fits a schema
//! (`systems/common.md` 3.5, levels 2 to 6 of the cascade, and the words of
//! the question at level 7).
//!
//! ```
//! use antiphon_core::{Schema, Shape};
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
//! let shape = Shape::compile(&schema)?;
//! let reading = shape.read("Gladly:\n```json\n{'verdict': 'APPROVE',}\n```").unwrap();
//! assert_eq!(reading.value, json!({"verdict": "approve"}));
//! assert!(reading.repaired());
//! assert_eq!(reading.coerced, ["/verdict"]);
//!
//! let refused = shape.read(r#"{"verdict": "maybe"}"#).unwrap_err();
//! assert!(refused.feedback().contains("`/verdict`"));
//! # Ok::<(), antiphon_core::Fault>(())
//! ```
//!
//! A reply is hostile until proven otherwise: work is linear in its length,
//! recursion stops at 127 levels, and a schema never makes anything load.

mod cascade;
mod coerce;
mod cycle;
mod defaults;
mod depth;
mod excerpt;
mod fence;
mod mend;
mod passage;
mod reading;
mod repair;
mod rules;
mod shape;
mod strict;
mod token;
mod unescape;
mod unreadable;
mod violation;

pub use reading::{Level, Reading};
pub use shape::Shape;
pub use unreadable::Unreadable;
pub use violation::Violation;
