//! Numbers: exact rationals as long as an operation allows it, floating point after that.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{FromPrimitive, One, Signed, ToPrimitive, Zero};

use super::error::MathError;
use super::work::spend;

/// The most bits of a numerator or denominator: 19,728 decimal digits.
const MAX_BITS: u64 = 65_536;

/// A finite real number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    /// Without any rounding.
    Exact(BigRational),
    /// Rounded to 53 bits, by this operation or by one before it.
    Approximate(f64),
}

pub(super) type NumberResult = Result<Number, MathError>;

impl Number {
    pub(super) fn integer(value: impl Into<BigInt>) -> Self {
        Self::Exact(BigRational::from_integer(value.into()))
    }

    pub(super) fn ratio(numerator: i64, denominator: i64) -> Self {
        Self::Exact(BigRational::new(numerator.into(), denominator.into()))
    }

    pub(super) fn one() -> Self {
        Self::integer(1)
    }

    /// The exact number, if it is of a size that the calculator takes.
    pub(super) fn exact(value: BigRational) -> NumberResult {
        if value.numer().bits() > MAX_BITS || value.denom().bits() > MAX_BITS {
            return match value.to_f64() {
                Some(rounded) if !value.is_integer() && rounded.is_finite() && rounded != 0.0 => {
                    Ok(Self::Approximate(rounded))
                }
                _ => Err(too_large()),
            };
        }
        Ok(Self::Exact(value))
    }

    /// The number nearest to a result of floating-point arithmetic.
    pub(super) fn approximate(value: f64) -> NumberResult {
        if value.is_nan() {
            return Err(MathError::new("the result is no real number"));
        }
        if value.is_infinite() {
            return Err(too_large());
        }
        Ok(Self::Approximate(value))
    }

    pub(super) fn to_f64(&self) -> f64 {
        match self {
            Self::Exact(value) => value.to_f64().unwrap_or(f64::NAN),
            Self::Approximate(value) => *value,
        }
    }

    /// The number as a fraction; that of a floating-point number is the one that it stands for.
    pub(super) fn to_rational(&self) -> BigRational {
        match self {
            Self::Exact(value) => value.clone(),
            Self::Approximate(value) => {
                BigRational::from_f64(*value).unwrap_or_else(BigRational::zero)
            }
        }
    }

    pub(super) fn as_integer(&self) -> Option<BigInt> {
        match self {
            Self::Exact(value) if value.is_integer() => Some(value.to_integer()),
            _ => None,
        }
    }

    pub(super) fn as_i64(&self) -> Option<i64> {
        self.as_integer()?.to_i64()
    }

    pub(super) const fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Exact(value) => value.is_zero(),
            Self::Approximate(value) => *value == 0.0,
        }
    }

    pub(super) fn is_negative(&self) -> bool {
        match self {
            Self::Exact(value) => value.is_negative(),
            Self::Approximate(value) => *value < 0.0,
        }
    }

    /// The words of memory that it needs, to estimate the work of an operation.
    pub(super) fn words(&self) -> u64 {
        match self {
            Self::Exact(value) => (value.numer().bits() + value.denom().bits()) / 64 + 1,
            Self::Approximate(_) => 1,
        }
    }

    /// Counts the work of an operation; fractions are reduced, which takes a step for each bit.
    fn spend(&self, other: &Self, reduced: bool) -> Result<(), MathError> {
        let (own, others) = (self.words(), other.words());
        let sum = own.saturating_add(others);
        spend(if !reduced || sum <= 4 {
            own.saturating_mul(others).saturating_add(sum)
        } else {
            sum.saturating_mul(sum).saturating_mul(90)
        })
    }

    pub(super) fn add(&self, other: &Self) -> NumberResult {
        self.combine(other, |a, b| a + b, |a, b| a + b, |a, b| a + b)
    }

    pub(super) fn subtract(&self, other: &Self) -> NumberResult {
        self.combine(other, |a, b| a - b, |a, b| a - b, |a, b| a - b)
    }

    pub(super) fn multiply(&self, other: &Self) -> NumberResult {
        self.combine(other, |a, b| a * b, |a, b| a * b, |a, b| a * b)
    }

    pub(super) fn divide(&self, other: &Self) -> NumberResult {
        if other.is_zero() {
            return Err(MathError::new("division by zero"));
        }
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => {
                self.spend(other, true)?;
                Self::exact(a / b)
            }
            _ => Self::approximate(self.to_f64() / other.to_f64()),
        }
    }

    /// The quotient, rounded down.
    pub(super) fn divide_down(&self, other: &Self) -> NumberResult {
        self.divide(other)?.floor()
    }

    /// What is left after [`divide_down`](Self::divide_down); it has the sign of the divisor.
    pub(super) fn modulo(&self, other: &Self) -> NumberResult {
        let quotient = self.divide_down(other)?;
        self.subtract(&quotient.multiply(other)?)
    }

    /// Applies an operation that keeps integers. These are spared the reduction of a fraction,
    /// which takes far longer than the operation.
    fn combine(
        &self,
        other: &Self,
        integer: fn(&BigInt, &BigInt) -> BigInt,
        exact: fn(&BigRational, &BigRational) -> BigRational,
        approximate: fn(f64, f64) -> f64,
    ) -> NumberResult {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) if a.is_integer() && b.is_integer() => {
                self.spend(other, false)?;
                Self::exact(BigRational::from_integer(integer(a.numer(), b.numer())))
            }
            (Self::Exact(a), Self::Exact(b)) => {
                self.spend(other, true)?;
                Self::exact(exact(a, b))
            }
            _ => Self::approximate(approximate(self.to_f64(), other.to_f64())),
        }
    }

    #[must_use]
    pub(super) fn negate(&self) -> Self {
        match self {
            Self::Exact(value) => Self::Exact(-value),
            Self::Approximate(value) => Self::Approximate(-value),
        }
    }

    #[must_use]
    pub(super) fn abs(&self) -> Self {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    pub(super) fn floor(&self) -> NumberResult {
        self.round_with(BigRational::floor, f64::floor)
    }

    pub(super) fn ceil(&self) -> NumberResult {
        self.round_with(BigRational::ceil, f64::ceil)
    }

    pub(super) fn trunc(&self) -> NumberResult {
        self.round_with(BigRational::trunc, f64::trunc)
    }

    /// Rounded to `digits` decimals, halves away from zero; before the point if negative.
    pub(super) fn round(&self, digits: i64) -> NumberResult {
        let Ok(power) = u32::try_from(digits.unsigned_abs()) else { return Err(too_large()) };
        if power > 1000 {
            return Err(MathError::new("more than 1000 digits to round to"));
        }
        let scale = BigRational::from_integer(BigInt::from(10).pow(power));
        let value = self.to_rational();
        let rounded = if digits < 0 {
            (value / &scale).round() * scale
        } else {
            (value * &scale).round() / scale
        };
        match self {
            Self::Exact(_) => Self::exact(rounded),
            Self::Approximate(_) => Self::approximate(rounded.to_f64().unwrap_or(f64::NAN)),
        }
    }

    fn round_with(
        &self,
        exact: fn(&BigRational) -> BigRational,
        approximate: fn(f64) -> f64,
    ) -> NumberResult {
        match self {
            Self::Exact(value) => Self::exact(exact(value)),
            Self::Approximate(value) => Self::approximate(approximate(*value)),
        }
    }

    /// The power; exact if the exponent is an integer, or the root that it asks for is rational.
    pub(super) fn power(&self, exponent: &Self) -> NumberResult {
        if self.is_zero() && exponent.is_negative() {
            return Err(MathError::new("division by zero: zero to a negative power"));
        }
        if let (Self::Exact(base), Self::Exact(power)) = (self, exponent) {
            spend(self.words().saturating_mul(self.words()).saturating_mul(16))?;
            if let Some(result) = exact_power(base, power)? {
                spend(result.words().saturating_mul(result.words()).saturating_mul(2))?;
                return Ok(result);
            }
            if let (true, Some(power)) = (power.is_integer(), power.numer().to_i64()) {
                return Self::approximate(rounded_power(base, power));
            }
        }
        if self.is_negative() && exponent.as_integer().is_none() {
            let hint = "write root(x, 3) or cbrt(x) for odd roots of negative numbers";
            return Err(MathError::new("a negative number to a fractional power").hint(hint));
        }
        Self::approximate(self.to_f64().powf(exponent.to_f64()))
    }

    /// The root of degree `degree`; exact if it is rational.
    pub(super) fn root(&self, degree: u32) -> NumberResult {
        if degree == 0 {
            return Err(MathError::new("a root of degree zero"));
        }
        if self.is_negative() {
            if degree.is_multiple_of(2) {
                return Err(MathError::new("an even root of a negative number"));
            }
            return Ok(self.negate().root(degree)?.negate());
        }
        if let Self::Exact(value) = self {
            spend(self.words().saturating_mul(self.words()).saturating_mul(16))?;
            if let Some(root) = exact_root(value, degree) {
                return Ok(Self::Exact(root));
            }
        }
        Self::approximate(match degree {
            2 => self.to_f64().sqrt(),
            3 => self.to_f64().cbrt(),
            _ => self.to_f64().powf(1.0 / f64::from(degree)),
        })
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => a.cmp(b),
            _ => self.to_f64().total_cmp(&other.to_f64()),
        }
    }
}

/// The exact power, or `None` if only floating point has one.
fn exact_power(base: &BigRational, exponent: &BigRational) -> Result<Option<Number>, MathError> {
    if base.is_one() || exponent.is_zero() {
        return Ok(Some(Number::one()));
    }
    if base.is_zero() {
        return Ok(Some(Number::integer(0)));
    }
    if !exponent.is_integer() {
        let (Some(degree), Some(_)) = (exponent.denom().to_u32(), exponent.numer().to_i32()) else {
            return Ok(None);
        };
        if base.is_negative() {
            return Ok(None);
        }
        let Some(root) = exact_root(base, degree) else { return Ok(None) };
        return exact_power(&root, &BigRational::from_integer(exponent.numer().clone()));
    }
    let minus_one = BigRational::from_integer(BigInt::from(-1));
    if *base == minus_one {
        let odd = exponent.numer().is_odd();
        return Ok(Some(Number::integer(if odd { -1 } else { 1 })));
    }
    // A base of n bits is at least 2^(n-1), so this never refuses what would fit.
    let base_bits = base.numer().bits().max(base.denom().bits()) - 1;
    let size = exponent.numer().abs().to_u64().unwrap_or(u64::MAX);
    let fits = base_bits.saturating_mul(size) <= MAX_BITS && size <= MAX_BITS;
    let Some(exponent) = exponent.numer().to_i32().filter(|_| fits) else {
        // A fraction to a large power may still be an ordinary number: 1.0001^100000.
        return if base.is_integer() { Err(too_large()) } else { Ok(None) };
    };
    Number::exact(base.pow(exponent)).map(Some)
}

/// The power, with enough bits on the way that no digit of the result is lost.
fn rounded_power(base: &BigRational, exponent: i64) -> f64 {
    let inverse = exponent < 0;
    let mut rest = exponent.unsigned_abs();
    let mut square = ScaledInteger::new(base);
    let mut product = ScaledInteger { digits: BigInt::one(), shift: 0 };
    while rest > 0 {
        if rest % 2 == 1 {
            product = product.multiply(&square);
        }
        square = square.multiply(&square);
        rest /= 2;
    }
    let power = product.to_f64();
    if inverse { power.recip() } else { power }
}

/// `digits` times two to the power of `shift`, cut to [`ScaledInteger::BITS`].
struct ScaledInteger {
    digits: BigInt,
    shift: i64,
}

impl ScaledInteger {
    const BITS: u64 = 256;

    fn new(value: &BigRational) -> Self {
        let more = Self::BITS + value.denom().bits();
        Self { digits: (value.numer() << more) / value.denom(), shift: -to_i64(more) }.cut()
    }

    fn multiply(&self, other: &Self) -> Self {
        let shift = self.shift.saturating_add(other.shift);
        Self { digits: &self.digits * &other.digits, shift }.cut()
    }

    fn cut(self) -> Self {
        let excess = self.digits.bits().saturating_sub(Self::BITS);
        Self { digits: self.digits >> excess, shift: self.shift.saturating_add(to_i64(excess)) }
    }

    fn to_f64(&self) -> f64 {
        let excess = self.digits.bits().saturating_sub(64);
        let top = (&self.digits >> excess).to_f64().unwrap_or(f64::NAN);
        let shift = self.shift.saturating_add(to_i64(excess));
        // In two steps, because the power alone may lie beyond the range of the result.
        let half = i32::try_from(shift / 2).unwrap_or(if shift > 0 { 2000 } else { -2000 });
        let other = i32::try_from(shift - shift / 2).unwrap_or(half);
        top * 2_f64.powi(half) * 2_f64.powi(other)
    }
}

fn to_i64(bits: u64) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}

/// The root of a number that is not negative, if it is rational.
fn exact_root(value: &BigRational, degree: u32) -> Option<BigRational> {
    let root = BigRational::new(value.numer().nth_root(degree), value.denom().nth_root(degree));
    let (numerator, denominator) = (root.numer().pow(degree), root.denom().pow(degree));
    (&numerator == value.numer() && &denominator == value.denom()).then_some(root)
}

pub(super) fn too_large() -> MathError {
    MathError::new("the result is too large or too small")
        .hint("exact numbers have up to 19728 digits, approximate ones lie below 1.8e308")
}
