//! Numbers, dates and units in sentences, compared by code: whether a sentence states only what
//! is known from a result, whether a short answer still says what a long one does, and whether two
//! sentences state the same quantity.
//!
//! ```
//! use antiphon_figures::FigureEvidence;
//! let mut known = FigureEvidence::new();
//! known.text("How warm was it on average?").name("temp_c").number(35.6172);
//! assert!(known.mismatches("It was 35.6 °C on average.").is_empty());
//! let wrong = known.mismatches("It was 35.6 degrees Fahrenheit on 15 April 2023.");
//! assert_eq!(wrong.len(), 2);
//! assert!(wrong[0].to_string().contains("degrees Fahrenheit"));
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `plain_text`, `scan` | a text as words, numerals and signs |
//! | `word_list` | lists of words with which those of a text are compared |
//! | `decimal` | a number by its digits |
//! | `number`, `spelled`, `sign` | what a numeral can mean, numbers in words, and those below zero |
//! | `list_item` | numbers that count the items of a list |
//! | `date`, `day_half`, `unit` | dates, times and units, by the ways they are written |
//! | `figure` | what a sentence states |
//! | `evidence` | what is known, and the comparison |
//! | [`quantity`], `quantity_reader` | the quantities of a sentence, one by one |
//! | `bound`, `counted` | whether a quantity is about, over or below its number; what is counted |
//! | `measured_unit` | the units of columns, and those that questions ask for |
//! | `conversion`, [`comparison`] | units of one dimension, and the comparison of two quantities |
//! | `computed` | how a number follows from others |
//! | `fraction` | parts of a whole: `two thirds`, `half of` |
//! | `multiple` | `twice as many`, `doubled`: ratios in words |
//!
//! Numbers may be grouped and rounded in any way that is common somewhere, so a numeral that can
//! be read in two ways is right if one of them is; of a [`quantity`] the likeliest counts. Names and claims in words are not compared.

mod bound;
pub mod comparison;
mod computed_number;
mod conversion;
mod counted;
mod date;
mod day_half;
mod decimal;
mod evidence;
mod figure;
mod fraction;
mod list_item;
mod measured_unit;
mod multiple;
mod number;
mod plain_text;
pub mod quantity;
mod quantity_reader;
mod scan;
mod sign;
mod spelled;
mod unit;
mod word_list;

pub use comparison::{QuantityMismatch, QuantityVerdict};
pub use computed_number::ComputedNumber;
pub use date::is_month;
pub use evidence::{FigureEvidence, FigureMismatch};
pub use measured_unit::MeasuredUnit;
pub use plain_text::plain;
pub use quantity::{QuantityBound, QuantityChange, QuantityKind, StatedQuantity, quantities};

/// What `short` states and `long` does not: numbers, dates and units. A short form of an answer
/// without differences may stand in its place. A rounded number is another one.
///
/// ```
/// use antiphon_figures::added;
/// let long = "Adding both gives 42 apples, which were picked on 3 May 2021.";
/// assert!(added("42", long).is_empty());
/// assert_eq!(added("43", long).len(), 1);
/// assert_eq!(added("3", "It is 3.14.").len(), 1);
/// assert_eq!(added("42, on 2021-05-04", long).len(), 1);
/// ```
pub fn added(short: &str, long: &str) -> Vec<FigureMismatch> {
    let mut known = FigureEvidence::exact();
    known.text(long);
    known.mismatches(short)
}
