//! Units: their names, products and conversions.

use std::fmt::Write as _;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

use super::error::MathError;
use super::number::{Number, NumberResult};
use super::unit_table::{BINARY, Dimensions, Factor, KINDS, METRIC, Prefixes, UNITS, UnitRow};

/// One unit with its prefix, and the power that it stands in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnitFactor {
    symbol: String,
    dimensions: Dimensions,
    /// How many of the dimension's unit it is.
    size: Number,
    power: i32,
    note: Option<&'static str>,
}

/// A product of powers of units; the empty one is that of plain numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unit {
    factors: Vec<UnitFactor>,
}

/// The largest power of a unit.
const MAX_POWER: i32 = 12;

impl Unit {
    /// The unit with that name or symbol. `°C` and `°F` have a [zero point](Self::zero).
    pub(super) fn find(name: &str) -> Option<Self> {
        let factor = find_symbol(name).or_else(|| find_name(name)).or_else(|| find_folded(name))?;
        Some(Self { factors: vec![factor] })
    }

    /// The unit that angles have if no other is asked for.
    pub(super) fn radian() -> Self {
        Self::find("rad").unwrap_or_default()
    }

    pub(super) fn is_none(&self) -> bool {
        self.factors.is_empty()
    }

    pub(super) fn dimensions(&self) -> Dimensions {
        let mut sum = [0; 7];
        for factor in &self.factors {
            for (total, exponent) in sum.iter_mut().zip(factor.dimensions) {
                *total += exponent * i8::try_from(factor.power).unwrap_or(i8::MAX);
            }
        }
        sum
    }

    /// The symbol, if it is one unit to the first power.
    pub(super) fn single(&self) -> Option<&str> {
        match self.factors.as_slice() {
            [factor] if factor.power == 1 => Some(&factor.symbol),
            _ => None,
        }
    }

    /// Zero of this unit in kelvin, for scales that do not begin at absolute zero.
    pub(super) fn zero(&self) -> Option<Number> {
        match self.single()? {
            "°C" => Some(Number::ratio(27_315, 100)),
            "°F" => Some(Number::ratio(45_967 * 5, 900)),
            _ => None,
        }
    }

    /// Whether it has a scale with a zero point of its own within a product.
    pub(super) fn has_scale_in_product(&self) -> bool {
        self.single().is_none() && self.factors.iter().any(|factor| is_scale(&factor.symbol))
    }

    /// What the reader of a result has to know of the units.
    pub(super) fn notes(&self) -> impl Iterator<Item = &'static str> {
        self.factors.iter().filter_map(|factor| factor.note)
    }

    /// How many units of the dimensions it is.
    pub(super) fn size(&self) -> NumberResult {
        self.factors.iter().try_fold(Number::one(), |product, factor| {
            product.multiply(&factor.size.power(&Number::integer(factor.power))?)
        })
    }

    /// What a number of this unit is multiplied with to be one of `other`.
    pub(super) fn ratio_to(&self, other: &Self) -> NumberResult {
        if self == other {
            return Ok(Number::one());
        }
        self.size()?.divide(&other.size()?)
    }

    pub(super) fn is_compatible(&self, other: &Self) -> bool {
        self.dimensions() == other.dimensions()
    }

    /// The product, and what its number has to be multiplied with: units of one dimension become
    /// those of `self`, so that km · m are km².
    pub(super) fn multiply(&self, other: &Self) -> Result<(Self, Number), MathError> {
        let mut product = self.clone();
        let mut scale = Number::one();
        for factor in &other.factors {
            let same = product.factors.iter_mut().find(|own| own.dimensions == factor.dimensions);
            let Some(own) = same else {
                product.factors.push(factor.clone());
                continue;
            };
            if own.size != factor.size {
                let ratio = factor.size.divide(&own.size)?;
                scale = scale.multiply(&ratio.power(&Number::integer(factor.power))?)?;
            }
            own.power += factor.power;
        }
        product.factors.retain(|factor| factor.power != 0);
        product.check_powers()?;
        // Such as N / (kg·m/s²), or Hz · s.
        if product.dimensions() == [0; 7] && !product.is_none() {
            scale = scale.multiply(&product.size()?)?;
            product = Self::default();
        }
        Ok((product, scale))
    }

    pub(super) fn power(&self, exponent: i32) -> Result<Self, MathError> {
        let mut raised = self.clone();
        for factor in &mut raised.factors {
            factor.power = factor.power.saturating_mul(exponent);
        }
        raised.factors.retain(|factor| factor.power != 0);
        raised.check_powers()?;
        Ok(raised)
    }

    /// The root, if all powers are multiples of `degree`.
    pub(super) fn root(&self, degree: i32) -> Option<Self> {
        let mut root = self.clone();
        for factor in &mut root.factors {
            if degree == 0 || factor.power % degree != 0 {
                return None;
            }
            factor.power /= degree;
        }
        Some(root)
    }

    fn check_powers(&self) -> Result<(), MathError> {
        if self.factors.iter().any(|factor| factor.power.abs() > MAX_POWER) {
            return Err(MathError::new(format!("a power of a unit above {MAX_POWER}")));
        }
        Ok(())
    }

    /// As results write it: `km/h`, `kg·m/s²`.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for factor in self.factors.iter().filter(|factor| factor.power > 0) {
            let dot = if text.is_empty() { "" } else { "·" };
            let _ = write!(text, "{dot}{}{}", factor.symbol, raised(factor.power));
        }
        let below: Vec<_> = self.factors.iter().filter(|factor| factor.power < 0).collect();
        if text.is_empty() && !below.is_empty() {
            text.push('1');
        }
        for factor in below {
            let _ = write!(text, "/{}{}", factor.symbol, raised(-factor.power));
        }
        text
    }

    /// What it measures, for messages: `a speed (km/h)`.
    pub(super) fn kind(&self) -> String {
        let dimensions = self.dimensions();
        let known = KINDS.iter().find(|(_, known)| *known == dimensions);
        match known {
            Some((kind, _)) if self.is_none() => (*kind).to_owned(),
            Some((kind, _)) => format!("{kind} ({})", self.text()),
            None => format!("a quantity in {}", self.text()),
        }
    }
}

fn is_scale(symbol: &str) -> bool {
    matches!(symbol, "°C" | "°F")
}

fn raised(power: i32) -> String {
    if power == 1 {
        return String::new();
    }
    let digits: Vec<char> = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().collect();
    let digit = |c: char| c.to_digit(10).and_then(|d| digits.get(d as usize)).copied();
    power.to_string().chars().filter_map(digit).collect()
}

fn rows() -> impl Iterator<Item = &'static UnitRow> {
    UNITS.iter().copied().flatten()
}

fn find_symbol(name: &str) -> Option<UnitFactor> {
    let has = |row: &UnitRow, symbol: &str| row.symbol == symbol || row.symbols.contains(&symbol);
    if let Some(row) = rows().find(|row| has(row, name)) {
        return plain(row);
    }
    if matches!(name, "KB" | "Kb" | "Kbit" | "Kbps") {
        let note = "K is read as 1000; 1024 is Ki";
        let factor = find_symbol(&name.replacen('K', "k", 1))?;
        return Some(UnitFactor { note: Some(note), ..factor });
    }
    let prefixed = |symbol: &str, prefixes: &[Prefixes]| {
        let rest = name.strip_prefix(symbol)?;
        rows().find(|row| prefixes.contains(&row.prefixes) && has(row, rest))
    };
    for (symbol, _, power) in METRIC {
        let kinds: &[_] =
            if *power >= 3 { &[Prefixes::Metric, Prefixes::Data] } else { &[Prefixes::Metric] };
        if let Some(row) = prefixed(symbol, kinds) {
            return with_prefix(row, symbol, &ten(*power));
        }
    }
    BINARY.iter().find_map(|(symbol, _, power)| {
        with_prefix(prefixed(symbol, &[Prefixes::Data])?, symbol, &two(*power))
    })
}

fn find_name(name: &str) -> Option<UnitFactor> {
    let lower = name.to_lowercase();
    let has = |row: &UnitRow, rest: &str| {
        let singular = rest.strip_suffix('s').filter(|short| short.len() > 2);
        row.names.iter().any(|known| *known == rest || Some(*known) == singular)
    };
    if let Some(row) = rows().find(|row| has(row, &lower)) {
        return plain(row);
    }
    for (symbol, prefix, power) in METRIC {
        let found = lower.strip_prefix(prefix).and_then(|rest| {
            rows().find(|row| match row.prefixes {
                Prefixes::None => false,
                Prefixes::Metric => has(row, rest),
                Prefixes::Data => *power >= 3 && has(row, rest),
            })
        });
        if let Some(row) = found {
            return with_prefix(row, symbol, &ten(*power));
        }
    }
    BINARY.iter().find_map(|(symbol, prefix, power)| {
        let rest = lower.strip_prefix(prefix)?;
        let row = rows().find(|row| row.prefixes == Prefixes::Data && has(row, rest))?;
        with_prefix(row, symbol, &two(*power))
    })
}

/// Symbols that mean one unit only, in whatever case.
const FOLDED: &[&str] = &["km", "cm", "mm", "kg", "ml", "kwh", "ghz", "mhz", "khz", "kcal"];

/// A symbol in the wrong case, such as `KM` and `Kg`, if that cannot be another unit; and one with
/// its power at its end, such as `m2`.
fn find_folded(name: &str) -> Option<UnitFactor> {
    if let Some(short) = name.strip_suffix(['2', '3']) {
        let power = if name.ends_with('2') { 2 } else { 3 };
        let factor = find_symbol(short).or_else(|| find_name(short))?;
        return (factor.power == 1).then_some(UnitFactor { power, ..factor });
    }
    let lower = name.to_lowercase();
    if !FOLDED.contains(&lower.as_str()) {
        return None;
    }
    match lower.as_str() {
        "ml" => find_symbol("mL"),
        "kwh" => find_symbol("kWh"),
        "ghz" => find_symbol("GHz"),
        "mhz" => find_symbol("MHz"),
        "khz" => find_symbol("kHz"),
        _ => find_symbol(&lower),
    }
}

fn plain(row: &'static UnitRow) -> Option<UnitFactor> {
    with_prefix(row, "", &Number::one())
}

fn with_prefix(row: &'static UnitRow, prefix: &str, scale: &Number) -> Option<UnitFactor> {
    let size = match row.factor {
        Factor::Exact(text) => Number::Exact(fraction(text)?),
        Factor::Rounded(value) => Number::Approximate(value),
    };
    Some(UnitFactor {
        symbol: format!("{prefix}{}", row.symbol),
        dimensions: row.dimensions,
        size: size.multiply(scale).ok()?,
        power: 1,
        note: row.note.filter(|_| prefix.is_empty()),
    })
}

/// A factor of the table: decimals, or a fraction of two.
fn fraction(text: &str) -> Option<BigRational> {
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    Some(decimal(numerator)? / decimal(denominator)?)
}

fn decimal(text: &str) -> Option<BigRational> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits: BigInt = format!("{whole}{decimals}").parse().ok()?;
    let power = u32::try_from(decimals.len()).ok()?;
    Some(BigRational::new(digits, BigInt::from(10).pow(power)))
}

fn ten(power: i8) -> Number {
    let scale = BigInt::from(10).pow(u32::from(power.unsigned_abs()));
    Number::Exact(if power < 0 {
        BigRational::new(BigInt::one(), scale)
    } else {
        BigRational::from_integer(scale)
    })
}

fn two(power: u8) -> Number {
    Number::integer(BigInt::one() << usize::from(power))
}
