//! Structured output, as the engine needs it: a parser for each schema, what it
//! parsed, and what it could not parse. The crate `antiphon-reply` implements the
//! parser, because JSON Schema needs three times as many packages as the engine.

mod parsed_reply;
mod parser;
mod unreadable;
mod violation;

pub use parsed_reply::{ParseLevel, ParsedReply};
pub use parser::{ReplyParser, SchemaCompiler};
pub use unreadable::UnreadableReply;
pub use violation::Violation;
