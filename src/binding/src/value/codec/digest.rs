//! What a call is given, as a digest: of its stored form, as far as it has one.

use antiphon_core::checkpoint::digest;
use antiphon_stores::codec::ByteWriter;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::ObjectCodec;
use super::value_fault::type_name;
use super::write::ObjectEncoder;

/// Containers in containers, until what is inside them counts by its type alone.
const DEPTH: usize = 16;

impl ObjectCodec {
    /// The same for equal values of the same types. Of what has no stored form,
    /// a client or a lock, only the type counts.
    pub(crate) fn digest(&self, given: &Bound<'_, PyAny>) -> u64 {
        let mut out = ByteWriter::new();
        self.digest_into(&mut out, given, DEPTH);
        digest(&out.into_bytes())
    }

    fn digest_into(&self, out: &mut ByteWriter, given: &Bound<'_, PyAny>, depth: usize) {
        let mut stored = ByteWriter::new();
        if ObjectEncoder::to(&mut stored, self.0.bind(given.py())).value(given).is_ok() {
            return out.bytes(&stored.into_bytes());
        }
        out.text(&type_name(given));
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Ok(dict) = given.cast_exact::<PyDict>() {
            for (key, value) in dict {
                self.digest_into(out, &key, depth);
                self.digest_into(out, &value, depth);
            }
        } else if given.is_exact_instance_of::<PyList>() || given.is_exact_instance_of::<PyTuple>()
        {
            let items = given.try_iter().into_iter().flatten().flatten();
            items.for_each(|item| self.digest_into(out, &item, depth));
        }
    }
}
