//! Digests of rows, by which results are compared.

use twox_hash::XxHash3_64;

use super::table::CellValue;

/// The digits by which numbers count: sums in another order differ in their last ones.
const DIGITS: i32 = 9;
/// From this number on, `DIGITS` leave no room behind the point.
const FIRST_WHOLE: f64 = 1e9;
/// Whole numbers below this one fit into 64 bits.
const FIRST_TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// The digest of a row: equal for the same values, whichever type of number holds them. The buffer
/// spares each row an allocation.
pub(super) fn row_digest(row: &[CellValue], buffer: &mut Vec<u8>) -> u64 {
    buffer.clear();
    let mut encoder = RowEncoder(buffer);
    for cell in row {
        encoder.add(cell);
    }
    XxHash3_64::oneshot(buffer)
}

struct RowEncoder<'b>(&'b mut Vec<u8>);

impl RowEncoder<'_> {
    fn add(&mut self, cell: &CellValue) {
        match cell {
            CellValue::Null => self.tagged(b'n', &[]),
            CellValue::Boolean(value) => self.tagged(b'b', &[u8::from(*value)]),
            CellValue::Integer(value) => self.whole(*value),
            CellValue::Float(value) => self.number(*value),
            CellValue::Decimal(digits) => match (digits.parse(), digits.parse()) {
                (Ok(value), _) => self.whole(value),
                (_, Ok(value)) => self.number(value),
                _ => self.sized(b't', digits.as_bytes()),
            },
            CellValue::Text(text) => self.sized(b't', text.as_bytes()),
            CellValue::Json(value) => self.sized(b'j', value.to_string().as_bytes()),
            CellValue::Blob(bytes, length) => {
                self.sized(b'x', bytes);
                self.0.extend_from_slice(&length.to_le_bytes());
            }
        }
    }

    fn number(&mut self, value: f64) {
        let value = if value.abs() < FIRST_WHOLE { rounded(value) } else { value.round() };
        if value.fract() == 0.0 && value.abs() < FIRST_TOO_LARGE {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and fits")]
            self.whole(value as i64);
        } else {
            self.tagged(b'f', &value.to_bits().to_le_bytes());
        }
    }

    fn whole(&mut self, value: i64) {
        self.tagged(b'i', &value.to_le_bytes());
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.0.extend_from_slice(bytes);
    }

    /// With the length, so that cells cannot run into each other.
    fn sized(&mut self, tag: u8, bytes: &[u8]) {
        self.tagged(tag, &bytes.len().to_le_bytes());
        self.0.extend_from_slice(bytes);
    }
}

/// A number with so many digits; one too small for that is returned as it is.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return value + 0.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "exponents are small")]
    let exponent = value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(DIGITS - 1 - exponent);
    if scale.is_normal() { (value * scale).round() / scale } else { value }
}
