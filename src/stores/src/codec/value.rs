//! The encoding of values.

use serde_json::{Map, Number, Value as Json};

use antiphon_core::Fault;

use super::corrupt;
use super::reader::{ByteReader, Item};
use super::writer::ByteWriter;

/// Turns the values of one kind of state into bytes, and back. The registry of
/// types is closed: all that is read was written by the same codec, and bytes
/// never cause an import or a call.
pub trait ValueCodec<V>: Send + Sync {
    /// Writes a value.
    ///
    /// # Errors
    /// What it is, if it cannot be stored.
    fn write(&self, value: &V, out: &mut ByteWriter) -> Result<(), String>;

    /// Reads a value.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the bytes are none.
    fn read(&self, from: &mut ByteReader<'_>) -> Result<V, Fault>;
}

/// The codec of states that are JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonCodec;

impl ValueCodec<Json> for JsonCodec {
    fn write(&self, value: &Json, out: &mut ByteWriter) -> Result<(), String> {
        match value {
            Json::Null => out.nil(),
            Json::Bool(value) => out.flag(*value),
            Json::Number(number) => write_number(number, out),
            Json::String(text) => out.text(text),
            Json::Array(items) => {
                out.array(items.len());
                items.iter().try_for_each(|item| self.write(item, out))?;
            }
            Json::Object(fields) => {
                out.map(fields.len());
                for (key, value) in fields {
                    out.text(key);
                    self.write(value, out)?;
                }
            }
        }
        Ok(())
    }

    fn read(&self, from: &mut ByteReader<'_>) -> Result<Json, Fault> {
        Ok(match from.item()? {
            Item::Nil => Json::Null,
            Item::Flag(value) => Json::Bool(value),
            Item::Unsigned(value) => Json::Number(value.into()),
            Item::Signed(value) => Json::Number(value.into()),
            Item::Float(value) => Json::Number(
                Number::from_f64(value).ok_or_else(|| corrupt("a number that is not finite"))?,
            ),
            Item::Text(text) => Json::String(text.to_owned()),
            Item::Array(length) => {
                let mut items = from.room(length);
                from.deeper(|from| {
                    for _ in 0..length {
                        items.push(self.read(from)?);
                    }
                    Ok(())
                })?;
                Json::Array(items)
            }
            Item::Map(length) => {
                let mut fields = Map::new();
                from.deeper(|from| {
                    for _ in 0..length {
                        let key = from.text()?.to_owned();
                        fields.insert(key, self.read(from)?);
                    }
                    Ok(())
                })?;
                Json::Object(fields)
            }
            Item::Bytes(_) | Item::Extension(..) => {
                return Err(corrupt("a value that is not JSON"));
            }
        })
    }
}

fn write_number(number: &Number, out: &mut ByteWriter) {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => out.number(number),
        (None, Some(number)) => out.signed(number),
        (None, None) => out.float(number.as_f64().unwrap_or_default()),
    }
}
