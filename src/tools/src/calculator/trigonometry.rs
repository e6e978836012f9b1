//! Functions of angles. An angle with a unit is what it says; a plain number counts radians.

use super::error::MathError;
use super::function::{Function, Notes, function, get, radians};
use super::number::Number;
use super::unit::Unit;
use super::value::{Quantity, Value, ValueResult};

pub(super) const FUNCTIONS: &[Function] = &[
    function(&["sin"], "sin(30 deg)", (1, 1), |v, n| ratio(v, n, Ratio::Sine)),
    function(&["cos"], "cos(60 deg)", (1, 1), |v, n| ratio(v, n, Ratio::Cosine)),
    function(&["tan"], "tan(45 deg)", (1, 1), |v, n| ratio(v, n, Ratio::Tangent)),
    function(&["asin", "arcsin"], "asin(x)", (1, 1), |v, _| inverse(v, f64::asin, 1.0)),
    function(&["acos", "arccos"], "acos(x)", (1, 1), |v, _| inverse(v, f64::acos, 1.0)),
    function(&["atan", "arctan"], "atan(x)", (1, 1), |v, _| inverse(v, f64::atan, f64::MAX)),
    function(&["atan2"], "atan2(y, x)", (2, 2), |v, _| atan2(v)),
    function(&["hypot"], "hypot(x, y)", (2, 2), |v, _| hypot(v)),
    function(&["sinh"], "sinh(x)", (1, 1), |v, _| plain(v, f64::sinh)),
    function(&["cosh"], "cosh(x)", (1, 1), |v, _| plain(v, f64::cosh)),
    function(&["tanh"], "tanh(x)", (1, 1), |v, _| plain(v, f64::tanh)),
    function(&["asinh"], "asinh(x)", (1, 1), |v, _| plain(v, f64::asinh)),
    function(&["acosh"], "acosh(x)", (1, 1), |v, _| plain(v, f64::acosh)),
    function(&["atanh"], "atanh(x)", (1, 1), |v, _| plain(v, f64::atanh)),
    function(&["radians"], "radians(x)", (1, 1), |v, _| convert(v, "deg", "rad")),
    function(&["degrees"], "degrees(x)", (1, 1), |v, _| convert(v, "rad", "deg")),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ratio {
    Sine,
    Cosine,
    Tangent,
}

fn unit(name: &str) -> Unit {
    Unit::find(name).unwrap_or_default()
}

fn ratio(values: &[Value], notes: &mut Notes, ratio: Ratio) -> ValueResult {
    let quantity = get(values, 0)?.as_quantity()?;
    if quantity.unit.is_none() {
        if quantity.number.is_exact() && !quantity.number.is_zero() {
            notes.add("plain numbers are angles in radians; write 30 deg for degrees");
        }
        return Ok(of_radians(quantity.number.to_f64(), ratio)?.into());
    }
    let degrees = quantity.convert(&unit("deg"))?.number;
    if let Some(exact) = of_degrees(&degrees, ratio)? {
        return Ok(exact.into());
    }
    // Reduced before the rounding of a conversion would grow with the angle.
    let turn = degrees.modulo(&Number::integer(360))?;
    Ok(of_radians(turn.to_f64().to_radians(), ratio)?.into())
}

fn of_radians(angle: f64, ratio: Ratio) -> Result<Number, MathError> {
    let value = match ratio {
        Ratio::Sine => angle.sin(),
        Ratio::Cosine => angle.cos(),
        Ratio::Tangent => angle.tan(),
    };
    // What the rounding of a multiple of pi leaves of a zero.
    let noise = 1e-15 * angle.abs().max(1.0);
    if value.abs() < noise && angle.abs() > 1e-3 {
        return Number::approximate(0.0);
    }
    if ratio == Ratio::Tangent && value.abs() > 1.0 / noise {
        return Err(undefined_tangent());
    }
    Number::approximate(value)
}

/// The value if the angle is one of those whose value is rational.
fn of_degrees(degrees: &Number, ratio: Ratio) -> Result<Option<Number>, MathError> {
    let Some(angle) = degrees.modulo(&Number::integer(360))?.as_i64() else { return Ok(None) };
    let sine = |angle: i64| match angle.rem_euclid(360) {
        0 | 180 => Some((0, 1)),
        30 | 150 => Some((1, 2)),
        90 => Some((1, 1)),
        210 | 330 => Some((-1, 2)),
        270 => Some((-1, 1)),
        _ => None,
    };
    let found = match ratio {
        Ratio::Sine => sine(angle),
        Ratio::Cosine => sine(angle + 90),
        Ratio::Tangent => match angle % 180 {
            0 => Some((0, 1)),
            45 => Some((1, 1)),
            135 => Some((-1, 1)),
            90 => return Err(undefined_tangent()),
            _ => None,
        },
    };
    Ok(found.map(|(numerator, denominator)| Number::ratio(numerator, denominator)))
}

fn undefined_tangent() -> MathError {
    MathError::new("the tangent of a right angle is not defined")
}

fn inverse(values: &[Value], apply: fn(f64) -> f64, limit: f64) -> ValueResult {
    let number = get(values, 0)?.as_number()?.to_f64();
    if number.abs() > limit {
        return Err(MathError::new("the argument lies between -1 and 1"));
    }
    radians(apply(number))
}

fn atan2(values: &[Value]) -> ValueResult {
    let (y, x) = same_unit(values)?;
    radians(y.number.to_f64().atan2(x.number.to_f64()))
}

fn hypot(values: &[Value]) -> ValueResult {
    let (x, y) = same_unit(values)?;
    let square = |n: &Number| n.multiply(n);
    let number = square(&x.number)?.add(&square(&y.number)?)?.root(2)?;
    Ok(Value::Quantity(Quantity { number, unit: x.unit }))
}

fn same_unit(values: &[Value]) -> Result<(Quantity, Quantity), MathError> {
    let first = get(values, 0)?.as_quantity()?;
    first.check_scale()?;
    Ok((first.clone(), get(values, 1)?.as_quantity()?.convert(&first.unit)?))
}

fn plain(values: &[Value], apply: fn(f64) -> f64) -> ValueResult {
    Ok(Number::approximate(apply(get(values, 0)?.as_number()?.to_f64()))?.into())
}

/// An angle in another unit, as a plain number: what these functions return in Python.
fn convert(values: &[Value], from: &str, to: &str) -> ValueResult {
    let angle = get(values, 0)?.as_quantity()?;
    let angle = if angle.unit.is_none() {
        Quantity { number: angle.number.clone(), unit: unit(from) }
    } else {
        angle.clone()
    };
    Ok(angle.convert(&unit(to))?.number.into())
}
