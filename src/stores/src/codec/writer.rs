//! A `MessagePack` writer.

use rmp::Marker;
use rmp::encode as put;

/// Bytes under construction.
#[derive(Debug, Default)]
pub struct ByteWriter(Vec<u8>);

impl ByteWriter {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Nothing yet, and room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Nothing, as a value.
    pub fn nil(&mut self) {
        done(put::write_nil(&mut self.0));
    }

    /// True or false.
    pub fn flag(&mut self, value: bool) {
        done(put::write_bool(&mut self.0, value));
    }

    /// A whole number that is not negative.
    pub fn number(&mut self, value: u64) {
        done(put::write_uint(&mut self.0, value));
    }

    /// A whole number.
    pub fn signed(&mut self, value: i64) {
        done(put::write_sint(&mut self.0, value));
    }

    /// A number.
    pub fn float(&mut self, value: f64) {
        done(put::write_f64(&mut self.0, value));
    }

    /// A text.
    pub fn text(&mut self, value: &str) {
        done(put::write_str(&mut self.0, value));
    }

    /// Bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        done(put::write_bin(&mut self.0, value));
    }

    /// What was written elsewhere.
    pub fn raw(&mut self, written: &[u8]) {
        self.0.extend_from_slice(written);
    }

    /// What there is, or nothing.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.nil(),
        }
    }

    /// So many items follow.
    pub fn array(&mut self, length: usize) {
        done(put::write_array_len(&mut self.0, size(length)));
    }

    /// An array, item by item.
    pub fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.array(items.len());
        for item in items {
            write(self, item);
        }
    }

    /// So many keys and values follow, in turn.
    pub fn map(&mut self, length: usize) {
        done(put::write_map_len(&mut self.0, size(length)));
    }

    /// Writes an extension value.
    pub fn extension(&mut self, kind: i8, value: &[u8]) {
        done(put::write_ext_meta(&mut self.0, size(value.len()), kind));
        self.0.extend_from_slice(value);
    }

    /// Begins an extension value of unknown length; [`ByteWriter::close`] ends it.
    pub fn open(&mut self, kind: i8) -> OpenBlock {
        let start = self.0.len();
        self.0.extend_from_slice(&[Marker::Ext8.to_u8(), 0, kind.to_be_bytes()[0]]);
        OpenBlock(start)
    }

    /// Ends what [`ByteWriter::open`] began.
    pub fn close(&mut self, OpenBlock(start): OpenBlock) {
        let length = self.0.len() - start - HEAD;
        if let Ok(length) = u8::try_from(length) {
            self.0.splice(start + 1..start + 2, [length]);
        } else {
            let [a, b, c, d] = size(length).to_be_bytes();
            self.0.splice(start..start + 2, [Marker::Ext32.to_u8(), a, b, c, d]);
        }
    }

    /// How many bytes there are so far.
    pub const fn size(&self) -> usize {
        self.0.len()
    }
}

/// Where bytes that are still open begin.
#[derive(Debug)]
#[must_use = "what is opened must be closed"]
pub struct OpenBlock(usize);

/// Bytes of a marker, a short length, and a kind.
const HEAD: usize = 3;

/// Writing to memory does not fail.
fn done<T, E>(_written: Result<T, E>) {}

fn size(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
