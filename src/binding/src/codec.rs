//! State values as bytes: live Python objects by their exact types, and nothing
//! that bytes could name is imported or called.

use antiphon_core::Fault;
use antiphon_stores::codec::{Reader, ValueCodec, Writer};
use pyo3::prelude::*;

use crate::object::Object;

mod kind;
mod problem;
mod read;
mod write;

use read::Reading;
use write::Writing;

/// Turns Python objects into bytes, and back.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectCodec {}

impl ValueCodec<Object> for ObjectCodec {
    fn write(&self, value: &Object, out: &mut Writer) -> Result<(), String> {
        Python::attach(|py| {
            Writing::to(out).value(value.0.bind(py)).map_err(|problem| problem.to_string())
        })
    }

    fn read(&self, from: &mut Reader<'_>) -> Result<Object, Fault> {
        Python::attach(|py| Ok(Object(Reading::new(py).value(from)?.unbind())))
    }
}
