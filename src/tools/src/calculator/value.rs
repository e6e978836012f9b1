//! Values of expressions and what operators do with them.

use std::cmp::Ordering;

use num_traits::ToPrimitive;

use super::error::MathError;
use super::moment::Moment;
use super::number::Number;
use super::unit::Unit;

/// A number of a unit. The number counts `unit`s; on a scale with its own zero (`20 °C`) it is
/// the reading, and `is_difference` tells a reading from a difference of two.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) number: Number,
    pub(super) unit: Unit,
}

/// What an expression stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Quantity(Quantity),
    Moment(Moment),
    Truth(bool),
    Text(String),
    List(Vec<Self>),
}

pub(super) type ValueResult = Result<Value, MathError>;

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Quantity(Quantity { number, unit: Unit::default() })
    }
}

impl Value {
    /// What it is, for messages.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Quantity(quantity) => quantity.unit.kind(),
            Self::Moment(Moment::Day(_)) => "a date".to_owned(),
            Self::Moment(_) => "a time".to_owned(),
            Self::Truth(_) => "true or false".to_owned(),
            Self::Text(_) => "a text".to_owned(),
            Self::List(_) => "a list".to_owned(),
        }
    }

    pub(super) fn words(&self) -> u64 {
        match self {
            Self::Quantity(quantity) => quantity.number.words(),
            Self::List(items) => items.iter().map(Self::words).sum(),
            _ => 1,
        }
    }

    pub(super) fn as_quantity(&self) -> Result<&Quantity, MathError> {
        match self {
            Self::Quantity(quantity) => Ok(quantity),
            _ => Err(MathError::new(format!("expected a number, not {}", self.kind()))),
        }
    }

    /// The number of a quantity without a unit.
    pub(super) fn as_number(&self) -> Result<&Number, MathError> {
        let quantity = self.as_quantity()?;
        if quantity.unit.is_none() {
            return Ok(&quantity.number);
        }
        let message = format!("expected a number without a unit, not {}", quantity.unit.kind());
        Err(MathError::new(message).hint("divide by the unit first: (5 km) / (1 m)"))
    }

    pub(super) fn as_moment(&self) -> Result<&Moment, MathError> {
        match self {
            Self::Moment(moment) => Ok(moment),
            _ => Err(MathError::new(format!("expected a date, not {}", self.kind()))
                .hint("write dates as 2024-02-29")),
        }
    }

    pub(super) fn as_integer(&self) -> Result<i64, MathError> {
        let number = self.as_number()?;
        number.as_i64().ok_or_else(|| MathError::new("expected a whole number of ordinary size"))
    }

    pub(super) fn add(&self, other: &Self) -> ValueResult {
        match (self, other) {
            (Self::Moment(moment), Self::Quantity(amount))
            | (Self::Quantity(amount), Self::Moment(moment)) => shift(moment, amount, false),
            (Self::Moment(_), Self::Moment(_)) => {
                let hint = "subtract them for the time between: 2024-03-01 - 2024-02-01";
                Err(MathError::new("a date cannot be added to a date").hint(hint))
            }
            _ => Ok(Self::Quantity(self.as_quantity()?.add(other.as_quantity()?)?)),
        }
    }

    pub(super) fn subtract(&self, other: &Self) -> ValueResult {
        match (self, other) {
            (Self::Moment(moment), Self::Quantity(amount)) => shift(moment, amount, true),
            (Self::Moment(later), Self::Moment(earlier)) => between(later, earlier),
            _ => Ok(Self::Quantity(self.as_quantity()?.subtract(other.as_quantity()?)?)),
        }
    }

    pub(super) fn multiply(&self, other: &Self) -> ValueResult {
        Ok(Self::Quantity(self.as_quantity()?.multiply(other.as_quantity()?)?))
    }

    pub(super) fn divide(&self, other: &Self) -> ValueResult {
        Ok(Self::Quantity(self.as_quantity()?.divide(other.as_quantity()?)?))
    }

    /// The quotient rounded down, and with `remainder` what is left.
    pub(super) fn divide_down(&self, other: &Self, remainder: bool) -> ValueResult {
        let (left, right) = (self.as_quantity()?, other.as_quantity()?);
        left.check_scale()?;
        let divisor = right.convert_same(&left.unit)?;
        if remainder {
            let number = left.number.modulo(&divisor.number)?;
            return Ok(Self::Quantity(Quantity { number, unit: left.unit.clone() }));
        }
        Ok(left.number.divide_down(&divisor.number)?.into())
    }

    pub(super) fn power(&self, other: &Self) -> ValueResult {
        Ok(Self::Quantity(self.as_quantity()?.power(other.as_number()?)?))
    }

    pub(super) fn negate(&self) -> ValueResult {
        let quantity = self.as_quantity()?;
        Ok(Self::Quantity(Quantity {
            number: quantity.number.negate(),
            unit: quantity.unit.clone(),
        }))
    }

    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, MathError> {
        match (self, other) {
            (Self::Moment(a), Self::Moment(b)) => {
                Ok(a.seconds_since(b)?.compare(&Number::integer(0)))
            }
            (Self::Truth(a), Self::Truth(b)) => Ok(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Ok(a.cmp(b)),
            _ => {
                let (left, right) = (self.as_quantity()?, other.as_quantity()?);
                Ok(left.number.compare(&right.convert_same(&left.unit)?.number))
            }
        }
    }
}

impl Quantity {
    /// Refuses `20 °C` where only a difference of temperatures makes sense.
    pub(super) fn check_scale(&self) -> Result<(), MathError> {
        let Some(symbol) = self.unit.single().filter(|_| self.unit.zero().is_some()) else {
            return Ok(());
        };
        let hint = "convert to K first, and write differences of temperatures in K: 20 degC + 5 K";
        Err(MathError::new(format!("{symbol} is a scale with its own zero")).hint(hint))
    }

    fn add(&self, other: &Self) -> Result<Self, MathError> {
        if self.unit.zero().is_some() && other.unit.zero().is_none() {
            return self.shift_scale(&other.number, &other.unit);
        }
        if other.unit.zero().is_some() && self.unit.zero().is_none() {
            return other.shift_scale(&self.number, &self.unit);
        }
        self.check_scale()?;
        let number = self.number.add(&other.convert_same(&self.unit)?.number)?;
        Ok(Self { number, unit: self.unit.clone() })
    }

    fn subtract(&self, other: &Self) -> Result<Self, MathError> {
        let zeros = (self.unit.zero().is_some(), other.unit.zero().is_some());
        match zeros {
            (true, false) => self.shift_scale(&other.number.negate(), &other.unit),
            (false, false) => {
                let number = self.number.subtract(&other.convert_same(&self.unit)?.number)?;
                Ok(Self { number, unit: self.unit.clone() })
            }
            (_, true) => {
                let kelvin = Unit::find("K").unwrap_or_default();
                let (left, right) = (self.convert(&kelvin)?, other.convert(&kelvin)?);
                Ok(Self { number: left.number.subtract(&right.number)?, unit: kelvin })
            }
        }
    }

    /// A reading of a scale and a difference.
    fn shift_scale(&self, difference: &Number, unit: &Unit) -> Result<Self, MathError> {
        if !unit.is_compatible(&self.unit) {
            return Err(incompatible(unit, &self.unit));
        }
        let steps = difference.multiply(&unit.ratio_to(&self.unit)?)?;
        Ok(Self { number: self.number.add(&steps)?, unit: self.unit.clone() })
    }

    fn multiply(&self, other: &Self) -> Result<Self, MathError> {
        self.check_product(other)?;
        let (unit, scale) = self.unit.multiply(&other.unit)?;
        let number = self.number.multiply(&other.number)?.multiply(&scale)?;
        Self { number, unit }.check_unit()
    }

    fn divide(&self, other: &Self) -> Result<Self, MathError> {
        self.check_product(other)?;
        let (unit, scale) = self.unit.multiply(&other.unit.power(-1)?)?;
        let number = self.number.divide(&other.number)?.multiply(&scale)?;
        Self { number, unit }.check_unit()
    }

    /// A unit with a scale times a plain number makes the reading; anything else is refused.
    fn check_product(&self, other: &Self) -> Result<(), MathError> {
        if other.unit.is_none() && self.unit.is_none() {
            return Ok(());
        }
        self.check_scale()?;
        other.check_scale()
    }

    fn check_unit(self) -> Result<Self, MathError> {
        if self.unit.has_scale_in_product() {
            let hint = "write K in products of units: J/(kg K)";
            return Err(MathError::new("a scale with its own zero in a product").hint(hint));
        }
        Ok(self)
    }

    fn power(&self, exponent: &Number) -> Result<Self, MathError> {
        if self.unit.is_none() {
            return Ok(Self { number: self.number.power(exponent)?, unit: Unit::default() });
        }
        self.check_scale()?;
        let ratio = exponent.to_rational();
        let (power, degree) = (ratio.numer().to_i32(), ratio.denom().to_i32());
        let unit = match (power, degree) {
            (Some(power), Some(degree)) => self.unit.power(power)?.root(degree),
            _ => None,
        };
        let unit =
            unit.ok_or_else(|| MathError::new(format!("no such power of {}", self.unit.kind())))?;
        Ok(Self { number: self.number.power(exponent)?, unit })
    }

    /// The root, with that of the unit.
    pub(super) fn root(&self, degree: u32) -> Result<Self, MathError> {
        let root = i32::try_from(degree).ok().and_then(|degree| self.unit.root(degree));
        let unit =
            root.ok_or_else(|| MathError::new(format!("no such root of {}", self.unit.kind())))?;
        Ok(Self { number: self.number.root(degree)?, unit })
    }

    /// The same quantity in another unit; readings of scales are shifted.
    pub(super) fn convert(&self, unit: &Unit) -> Result<Self, MathError> {
        if !self.unit.is_compatible(unit) {
            return Err(incompatible(&self.unit, unit));
        }
        let (from, to) = (self.unit.zero(), unit.zero());
        if from.is_none() && to.is_none() {
            let number = self.number.multiply(&self.unit.ratio_to(unit)?)?;
            return Ok(Self { number, unit: unit.clone() });
        }
        let zero = Number::integer(0);
        let kelvin =
            self.number.multiply(&self.unit.size()?)?.add(from.as_ref().unwrap_or(&zero))?;
        let number = kelvin.subtract(to.as_ref().unwrap_or(&zero))?.divide(&unit.size()?)?;
        Ok(Self { number, unit: unit.clone() })
    }

    /// For operators that need both sides in one unit.
    fn convert_same(&self, unit: &Unit) -> Result<Self, MathError> {
        self.convert(unit)
    }
}

fn incompatible(from: &Unit, to: &Unit) -> MathError {
    let message = format!("{} is not {}", from.kind(), to.kind());
    MathError::new(message).hint("only quantities of one kind can be converted, added and compared")
}

fn shift(moment: &Moment, amount: &Quantity, back: bool) -> ValueResult {
    let second = Unit::find("s").unwrap_or_default();
    let unit = match amount.unit.single() {
        Some(unit) if amount.unit.is_compatible(&second) => unit,
        _ => {
            let hint = "name the unit: 2024-02-29 + 30 days";
            let message = format!("a date and {}", amount.unit.kind());
            return Err(MathError::new(message).hint(hint));
        }
    };
    let number = if back { amount.number.negate() } else { amount.number.clone() };
    let seconds = number.multiply(&amount.unit.ratio_to(&second)?)?;
    Ok(Value::Moment(moment.plus(&number, unit, &seconds)?))
}

/// The time between two moments: in days if both are dates, in hours otherwise.
fn between(later: &Moment, earlier: &Moment) -> ValueResult {
    let seconds = later.seconds_since(earlier)?;
    let timed = later.has_time() || earlier.has_time();
    let (unit, size) = if timed { ("h", 3600) } else { ("day", 86_400) };
    let number = seconds.divide(&Number::integer(size))?;
    Ok(Value::Quantity(Quantity { number, unit: Unit::find(unit).unwrap_or_default() }))
}
