//! The types of Arrow columns, and how cells are read as them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_schema::{DataType, TimeUnit};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use super::arrow::texts;

/// The most digits of a decimal in Arrow.
const MOST_DIGITS: u8 = 38;
/// The most digits that a decimal keeps as a floating-point number.
const EXACT_DIGITS: u8 = 15;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
    Boolean,
    Integer,
    Float,
    Binary,
    Text,
    /// With so many digits after the point.
    Decimal(u8),
    Date,
    Time,
    /// A date with a time, and no time zone.
    DateTime,
    /// A point in time.
    Instant,
}

impl ColumnType {
    /// The type of a column that a database stores as text, or gives as text to stay exact: that of
    /// its name if every cell can be read as such, without loss.
    pub(super) fn of_texts(name: &str, batches: &[ArrayRef]) -> Self {
        let bare = name.split('(').next().unwrap_or_default().trim();
        let wanted = match bare {
            "date" => Self::Date,
            "time" => Self::Time,
            "timestamp" | "datetime" => Self::DateTime,
            "timestamptz" => Self::Instant,
            "numeric" | "decimal" => Self::Decimal(0),
            _ => return Self::Text,
        };
        let mut cells = batches.iter().flat_map(cells).flatten();
        let found = match wanted {
            Self::Decimal(_) => scale(cells).map(Self::Decimal),
            Self::Date => cells.all(|it| date(it).is_some()).then_some(wanted),
            Self::Time => cells.all(|it| time(it).is_some()).then_some(wanted),
            Self::DateTime => cells.all(|it| date_time(it).is_some()).then_some(wanted),
            _ => cells.all(|it| instant(it).is_some()).then_some(wanted),
        };
        let are_texts =
            |batch: &ArrayRef| matches!(batch.data_type(), DataType::Utf8 | DataType::Null);
        found.filter(|_| batches.iter().all(are_texts)).unwrap_or(Self::Text)
    }

    /// Decimals of a column such as `decimal(10, 2)` whose database stores them as floating-point
    /// numbers, if none has more digits after the point.
    pub(super) fn decimal(name: &str, batches: &[ArrayRef]) -> Option<Self> {
        let (bare, sizes) = name.split_once('(')?;
        let (digits, declared) = sizes.strip_suffix(')')?.split_once(',')?;
        let digits: u8 = digits.trim().parse().ok()?;
        let declared: u8 = declared.trim().parse().ok()?;
        if !matches!(bare.trim(), "decimal" | "numeric") || digits > EXACT_DIGITS {
            return None;
        }
        let texts: Vec<ArrayRef> = batches.iter().map(texts).collect();
        let found = scale(texts.iter().flat_map(cells).flatten())?;
        (found <= declared).then_some(Self::Decimal(declared))
    }

    /// Truth values, if all numbers are 0 or 1.
    pub(super) fn truth(batches: &[ArrayRef]) -> Option<Self> {
        let numbers = batches.iter().filter_map(|batch| batch.as_primitive_opt::<Int64Type>());
        let mut all = numbers.flat_map(|batch| batch.iter().flatten());
        all.all(|one| matches!(one, 0 | 1)).then_some(Self::Boolean)
    }

    /// The same in Arrow.
    pub(super) fn arrow(self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Binary => DataType::Binary,
            Self::Text => DataType::Utf8,
            Self::Decimal(scale) => {
                DataType::Decimal128(MOST_DIGITS, i8::try_from(scale).unwrap_or_default())
            }
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::DateTime => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    /// A batch with this type.
    pub(super) fn read(self, batch: &ArrayRef) -> ArrayRef {
        if *batch.data_type() == self.arrow() {
            return Arc::clone(batch);
        }
        if *batch.data_type() == DataType::Null {
            return new_null_array(&self.arrow(), batch.len());
        }
        let cells = || cells(batch);
        match self {
            Self::Boolean | Self::Float => self.of_numbers(batch),
            Self::Decimal(scale) => {
                let is_text = *batch.data_type() == DataType::Utf8;
                let digits = if is_text { Arc::clone(batch) } else { texts(batch) };
                let numbers = self::cells(&digits).map(|it| decimal(it?, scale));
                let numbers = numbers.collect::<Decimal128Array>().with_data_type(self.arrow());
                Arc::new(numbers)
            }
            Self::Date => Arc::new(cells().map(|it| date(it?)).collect::<Date32Array>()),
            Self::Time => Arc::new(cells().map(|it| time(it?)).collect::<Time64MicrosecondArray>()),
            Self::DateTime => {
                let times = cells().map(|it| date_time(it?));
                Arc::new(times.collect::<TimestampMicrosecondArray>())
            }
            Self::Instant => {
                let times = cells().map(|it| instant(it?));
                Arc::new(times.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
            }
            Self::Text | Self::Integer | Self::Binary => texts(batch),
        }
    }

    fn of_numbers(self, batch: &ArrayRef) -> ArrayRef {
        let Some(numbers) = batch.as_primitive_opt::<Int64Type>() else {
            return new_null_array(&self.arrow(), batch.len());
        };
        if self == Self::Boolean {
            let truth = numbers.iter().map(|one| one.map(|it| it != 0));
            return Arc::new(truth.collect::<BooleanArray>());
        }
        #[expect(clippy::cast_precision_loss, reason = "larger ones are texts")]
        let floats = numbers.iter().map(|one| one.map(|it| it as f64));
        Arc::new(floats.collect::<Float64Array>())
    }
}

/// The texts of a batch; nothing of one that has none.
fn cells(batch: &ArrayRef) -> impl Iterator<Item = Option<&str>> {
    let texts: Option<&StringArray> = batch.as_string_opt();
    texts.into_iter().flat_map(|texts| texts.iter())
}

/// The digits after the point that all of these decimals have at most; none if one is no decimal or
/// they do not fit together.
fn scale<'t>(cells: impl Iterator<Item = &'t str>) -> Option<u8> {
    let (mut whole, mut fraction) = (0, 0);
    for cell in cells {
        let digits = cell.strip_prefix('-').unwrap_or(cell);
        let (head, tail) = digits.split_once('.').unwrap_or((digits, ""));
        if head.is_empty() || !head.bytes().chain(tail.bytes()).all(|it| it.is_ascii_digit()) {
            return None;
        }
        (whole, fraction) = (whole.max(head.len()), fraction.max(tail.len()));
    }
    let fits = whole + fraction <= usize::from(MOST_DIGITS);
    u8::try_from(fraction).ok().filter(|_| fits)
}

fn decimal(text: &str, scale: u8) -> Option<i128> {
    let (head, tail) = text.split_once('.').unwrap_or((text, ""));
    format!("{head}{tail:0<width$}", width = usize::from(scale)).parse().ok()
}

/// Days since 1970.
fn date(text: &str) -> Option<i32> {
    const EPOCH: Date = Date::constant(1970, 1, 1);
    let date: Date = text.parse().ok().filter(|_| text.len() == 10)?;
    date.since(EPOCH).ok().map(|span| span.get_days())
}

/// Microseconds since midnight.
fn time(text: &str) -> Option<i64> {
    let time: Time =
        text.parse().ok().filter(|_| text.starts_with(|it: char| it.is_ascii_digit()))?;
    let of_date = Date::constant(1970, 1, 1).to_datetime(time);
    micros(Offset::UTC.to_timestamp(of_date).ok()?)
}

/// Microseconds since 1970 of a date with a time.
fn date_time(text: &str) -> Option<i64> {
    let has_zone = text.get(10..).is_none_or(|rest| rest.contains(['+', '-', 'Z', '[']));
    let found: DateTime = text.parse().ok().filter(|_| text.len() > 10 && !has_zone)?;
    micros(Offset::UTC.to_timestamp(found).ok()?)
}

/// Microseconds since 1970 of a point in time.
fn instant(text: &str) -> Option<i64> {
    micros(text.parse().ok()?)
}

fn micros(time: Timestamp) -> Option<i64> {
    (time.subsec_nanosecond() % 1_000 == 0).then(|| time.as_microsecond())
}
