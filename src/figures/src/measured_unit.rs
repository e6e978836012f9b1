//! Units that columns are measured in, and that questions ask for.

use super::conversion::{factor, is_convertible};
use super::scan::is_letter;
use super::unit::{unit_at, units_of_name};

const TEMPERATURES: [&str; 3] = ["°C", "°F", "K"];
const CURRENCIES: [&str; 6] = ["EUR", "USD", "GBP", "JPY", "CHF", "INR"];

/// A unit that a number can be given in instead of another one.
///
/// ```
/// use antiphon_figures::MeasuredUnit;
/// let held = MeasuredUnit::of_name("scrap_kg").unwrap();
/// let [asked] = &MeasuredUnit::asked_in("How many tonnes of scrap?")[..] else { unreachable!() };
/// assert!(held.is_alike(asked) && held != *asked);
/// assert_eq!(held.factor_to(asked), Some(0.001));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredUnit(&'static str);

impl MeasuredUnit {
    /// The unit that the name of a column states beside other words, if it is a single one:
    /// `scrap_kg`, but neither `hour` nor `speed_km_h`.
    pub fn of_name(name: &str) -> Option<Self> {
        let parts = name.split(|sign: char| !sign.is_alphanumeric());
        if parts.filter(|part| !part.is_empty()).count() < 2 {
            return None;
        }
        let mut units = units_of_name(name).into_iter().map(Self).filter(Self::is_measure);
        units.next().filter(|_| units.next().is_none())
    }

    /// The units that a question asks for an answer in, by all that its words can mean:
    /// `in tonnes`, `how many pounds`, `scrap (kg)`. A unit of a number that it names is none.
    pub fn asked_in(question: &str) -> Vec<Self> {
        const BEFORE: &str =
            "( [ in into as many total viele insgesamt en de cuántos cuántas quanti";
        let mut asked: Vec<Self> = Vec::new();
        let mut before = String::new();
        for (start, word) in pieces(question) {
            let rest = question.get(start..).unwrap_or_default();
            let follows = BEFORE.split(' ').any(|one| one == before);
            before = word.to_lowercase();
            // The second one is no unit of time.
            let found = unit_at(rest).filter(|_| follows && before != "second");
            for unit in found.into_iter().flat_map(|(units, _)| units).map(Self) {
                if unit.is_measure() && !asked.contains(&unit) {
                    asked.push(unit);
                }
            }
        }
        asked
    }

    /// The unit as it is usually written.
    pub const fn name(&self) -> &'static str {
        self.0
    }

    /// Whether it is a temperature: those are not converted by a factor.
    pub fn is_temperature(&self) -> bool {
        TEMPERATURES.contains(&self.0)
    }

    /// Whether both measure the same.
    pub fn is_alike(&self, other: &Self) -> bool {
        let both = |units: &[&str]| units.contains(&self.0) && units.contains(&other.0);
        self.factor_to(other).is_some() || both(&TEMPERATURES) || both(&CURRENCIES)
    }

    /// What a number in this unit is multiplied by to be one in the other; none if there is no
    /// such factor.
    pub fn factor_to(&self, other: &Self) -> Option<f64> {
        factor(self.0, other.0)
    }

    fn is_measure(&self) -> bool {
        is_convertible(self.0) || TEMPERATURES.contains(&self.0) || CURRENCIES.contains(&self.0)
    }
}

/// Words, and every other sign by itself, each with its place.
fn pieces(text: &str) -> Vec<(usize, &str)> {
    let is_part = |sign: char| is_letter(sign) || sign.is_ascii_digit();
    let mut pieces = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, sign)) = rest.next() {
        let mut end = start + sign.len_utf8();
        while is_part(sign)
            && let Some((at, next)) = rest.next_if(|(_, next)| is_part(*next))
        {
            end = at + next.len_utf8();
        }
        if !sign.is_whitespace() {
            pieces.push((start, text.get(start..end).unwrap_or_default()));
        }
    }
    pieces
}
