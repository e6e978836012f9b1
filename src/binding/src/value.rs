//! State values: live Python objects, their JSON, and their bytes.

pub(crate) mod codec;
pub(crate) mod command;
pub(crate) mod isolation;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod object;
pub(crate) mod redact;
pub(crate) mod schema;
pub(crate) mod storable;
pub(crate) mod values;
