//! Functions that expressions may call: the table's form, and the arithmetic ones.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::error::MathError;
use super::number::{Number, NumberResult, too_large};
use super::trigonometry;
use super::unit::Unit;
use super::value::{Quantity, Value, ValueResult};
use super::{calendar, statistics};

/// What a result says beside its value, each sentence once.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    pub(super) fn add(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    pub(super) fn into_text(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join("; "))
    }
}

type Call = fn(&[Value], &mut Notes) -> ValueResult;

/// A row of the table.
pub(super) struct Function {
    /// Its name and those that others give it.
    pub(super) names: &'static [&'static str],
    /// How it is called, for messages.
    pub(super) usage: &'static str,
    /// The smallest and the largest number of arguments.
    pub(super) arity: (usize, usize),
    pub(super) call: Call,
}

/// A row whose smallest and largest number of arguments are given.
pub(super) const fn function(
    names: &'static [&'static str],
    usage: &'static str,
    arity: (usize, usize),
    call: Call,
) -> Function {
    Function { names, usage, arity, call }
}

/// The most arguments of functions of any number: what a long list holds.
pub(super) const MANY: usize = 10_000;

/// The largest number whose factorial fits the size of numbers.
const MAX_FACTORIAL: u32 = 5_700;

const ARITHMETIC: &[Function] = &[
    function(&["abs"], "abs(x)", (1, 1), |v, _| on_quantity(v, |n| Ok(n.abs()))),
    function(&["floor"], "floor(x)", (1, 1), |v, _| on_quantity(v, Number::floor)),
    function(&["ceil", "ceiling"], "ceil(x)", (1, 1), |v, _| on_quantity(v, Number::ceil)),
    function(&["trunc", "int"], "trunc(x)", (1, 1), |v, _| on_quantity(v, Number::trunc)),
    function(&["round"], "round(x, digits)", (1, 2), round),
    function(&["sign"], "sign(x)", (1, 1), |v, _| sign(v)),
    function(&["sqrt"], "sqrt(x)", (1, 1), |v, _| root(v, 2)),
    function(&["cbrt"], "cbrt(x)", (1, 1), |v, _| root(v, 3)),
    function(&["root", "nthroot"], "root(x, degree)", (2, 2), |v, _| any_root(v)),
    function(&["pow", "power"], "pow(x, exponent)", (2, 2), |v, _| get(v, 0)?.power(get(v, 1)?)),
    function(&["exp"], "exp(x)", (1, 1), |v, _| exp(v)),
    function(&["ln"], "ln(x)", (1, 1), |v, _| logarithm(v, Base::Natural)),
    function(&["log"], "log(x, base)", (1, 2), log),
    function(&["log2"], "log2(x)", (1, 1), |v, _| logarithm(v, Base::Integer(2))),
    function(&["log10", "lg"], "log10(x)", (1, 1), |v, _| logarithm(v, Base::Integer(10))),
    function(&["mod", "fmod"], "mod(x, y)", (2, 2), |v, _| {
        get(v, 0)?.divide_down(get(v, 1)?, true)
    }),
    function(&["gcd"], "gcd(a, b, …)", (1, MANY), |v, _| fold(v, Integer::gcd)),
    function(&["lcm"], "lcm(a, b, …)", (1, MANY), |v, _| lcm(v)),
    function(&["factorial"], "factorial(n)", (1, 1), |v, _| factorial(get(v, 0)?)),
    function(&["comb", "nCr", "binomial", "choose"], "comb(n, k)", (2, 2), |v, _| {
        combinations(v, true)
    }),
    function(&["perm", "nPr"], "perm(n, k)", (2, 2), |v, _| combinations(v, false)),
    function(&["approx", "float"], "approx(x)", (1, 1), |v, _| {
        on_quantity(v, |n| Number::approximate(n.to_f64()))
    }),
    function(&["is_prime", "isprime"], "is_prime(n)", (1, 1), |v, _| is_prime(v)),
];

/// The function of that name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.names.contains(&name))
}

/// All functions.
pub(super) fn all() -> impl Iterator<Item = &'static Function> {
    let tables = [ARITHMETIC, trigonometry::FUNCTIONS, statistics::FUNCTIONS, calendar::FUNCTIONS];
    tables.into_iter().flatten()
}

/// The argument at that place; a call has been checked to have it.
pub(super) fn get(values: &[Value], index: usize) -> Result<&Value, MathError> {
    values.get(index).ok_or_else(|| MathError::new("an argument is missing"))
}

/// Applies a function of numbers to a quantity; its unit stays.
fn on_quantity(values: &[Value], apply: fn(&Number) -> NumberResult) -> ValueResult {
    let quantity = get(values, 0)?.as_quantity()?;
    let number = apply(&quantity.number)?;
    Ok(Value::Quantity(Quantity { number, unit: quantity.unit.clone() }))
}

fn round(values: &[Value], _: &mut Notes) -> ValueResult {
    let digits = values.get(1).map_or(Ok(0), Value::as_integer)?;
    let quantity = get(values, 0)?.as_quantity()?;
    let number = quantity.number.round(digits)?;
    Ok(Value::Quantity(Quantity { number, unit: quantity.unit.clone() }))
}

fn sign(values: &[Value]) -> ValueResult {
    let number = &get(values, 0)?.as_quantity()?.number;
    let sign = i64::from(!number.is_zero()) * if number.is_negative() { -1 } else { 1 };
    Ok(Number::integer(sign).into())
}

fn root(values: &[Value], degree: u32) -> ValueResult {
    let quantity = get(values, 0)?.as_quantity()?;
    if degree == 2 && quantity.number.is_negative() {
        return Err(MathError::new("the square root of a negative number"));
    }
    Ok(Value::Quantity(quantity.root(degree)?))
}

fn any_root(values: &[Value]) -> ValueResult {
    let degree = u32::try_from(get(values, 1)?.as_integer()?);
    let degree =
        degree.map_err(|_| MathError::new("the degree of a root is a positive integer"))?;
    Ok(Value::Quantity(get(values, 0)?.as_quantity()?.root(degree)?))
}

fn exp(values: &[Value]) -> ValueResult {
    let number = get(values, 0)?.as_number()?;
    if number.is_zero() && number.is_exact() {
        return Ok(Number::one().into());
    }
    Ok(Number::approximate(number.to_f64().exp())?.into())
}

#[derive(Clone, Copy)]
enum Base {
    Natural,
    Integer(u32),
}

fn logarithm(values: &[Value], base: Base) -> ValueResult {
    let number = get(values, 0)?.as_number()?;
    if number.is_negative() || number.is_zero() {
        return Err(MathError::new("the logarithm of a number that is not above zero"));
    }
    if *number == Number::one() {
        return Ok(Number::integer(0).into());
    }
    Ok(match base {
        Base::Natural => Number::approximate(natural_logarithm(number))?,
        Base::Integer(base) => match exact_logarithm(number, base) {
            Some(exponent) => Number::integer(exponent),
            None => Number::approximate(match base {
                10 if number.to_f64().is_normal() => number.to_f64().log10(),
                2 if number.to_f64().is_normal() => number.to_f64().log2(),
                _ => natural_logarithm(number) / f64::from(base).ln(),
            })?,
        },
    }
    .into())
}

/// The natural logarithm, of numbers beyond the range of floating point too.
fn natural_logarithm(number: &Number) -> f64 {
    let direct = number.to_f64();
    if direct.is_normal() {
        return direct.ln();
    }
    let value = number.to_rational();
    let of = |part: &BigInt| {
        let bits = part.bits();
        let shift = bits.saturating_sub(900);
        let top = (part >> shift).to_f64().unwrap_or(f64::NAN);
        top.ln() + shift.to_f64().unwrap_or(f64::NAN) * std::f64::consts::LN_2
    };
    of(value.numer()) - of(value.denom())
}

/// The logarithm if it is an integer.
fn exact_logarithm(number: &Number, base: u32) -> Option<i64> {
    let Number::Exact(value) = number else { return None };
    let (part, sign) = match (value.is_integer(), value.numer().is_one()) {
        (true, _) => (value.numer(), 1),
        (false, true) => (value.denom(), -1),
        _ => return None,
    };
    let estimate = natural_logarithm(&Number::integer(part.clone())) / f64::from(base).ln();
    let exponent = estimate.round().to_u32()?;
    (BigInt::from(base).pow(exponent) == *part).then(|| sign * i64::from(exponent))
}

fn log(values: &[Value], notes: &mut Notes) -> ValueResult {
    let Some(base) = values.get(1) else {
        notes.add("log is the natural logarithm; log10 and log2 have other bases");
        return logarithm(values, Base::Natural);
    };
    let base = base.as_number()?;
    if let Some(integer) = base.as_i64().and_then(|base| u32::try_from(base).ok())
        && integer > 1
    {
        return logarithm(values, Base::Integer(integer));
    }
    if base.is_negative() || base.is_zero() || *base == Number::one() {
        return Err(MathError::new("the base of a logarithm is a positive number other than 1"));
    }
    let number = logarithm(values, Base::Natural)?;
    number.divide(&Number::approximate(natural_logarithm(base))?.into())
}

/// An integer of any size.
fn integer(value: &Value) -> Result<BigInt, MathError> {
    value.as_number()?.as_integer().ok_or_else(|| MathError::new("expected an integer"))
}

/// The items of a list, or the arguments if there is no list.
pub(super) fn items(values: &[Value]) -> &[Value] {
    match values {
        [Value::List(items)] => items,
        _ => values,
    }
}

fn fold(values: &[Value], combine: fn(&BigInt, &BigInt) -> BigInt) -> ValueResult {
    let mut total: Option<BigInt> = None;
    for value in items(values) {
        let value = integer(value)?;
        total = Some(match total {
            None => value.abs(),
            Some(total) => combine(&total, &value),
        });
        if total.as_ref().is_some_and(|total| total.bits() > 10_000) {
            return Err(too_large());
        }
    }
    let total = total.ok_or_else(|| MathError::new("an empty list"))?;
    Ok(Number::integer(total).into())
}

fn lcm(values: &[Value]) -> ValueResult {
    fold(values, |a, b| if a.is_zero() || b.is_zero() { BigInt::zero() } else { a.lcm(b) })
}

pub(super) fn factorial(value: &Value) -> ValueResult {
    let number = value.as_number()?;
    let count = number.as_integer().and_then(|n| n.to_i64());
    match count.map(u32::try_from) {
        Some(Ok(count)) if count <= MAX_FACTORIAL => {
            let product = (2..=count).fold(BigInt::one(), |product, n| product * n);
            Ok(Number::integer(product).into())
        }
        Some(Ok(_)) => {
            let hint = format!("factorials go up to {MAX_FACTORIAL}");
            Err(MathError::new("the result is too large").hint(hint))
        }
        _ if number.as_integer().is_some_and(|n| n.is_positive()) => Err(too_large()),
        _ => Err(MathError::new("the factorial is of an integer from zero on")),
    }
}

/// The ways to choose `k` of `n`: without order, or with it.
fn combinations(values: &[Value], unordered: bool) -> ValueResult {
    let (n, k) = (integer(get(values, 0)?)?, integer(get(values, 1)?)?);
    if n.is_negative() || k.is_negative() {
        return Err(MathError::new("n and k are integers from zero on"));
    }
    if k > n {
        return Ok(Number::integer(0).into());
    }
    let short = if unordered { (&n - &k).min(k) } else { k };
    let count = short.to_u32().filter(|count| *count <= MAX_FACTORIAL).ok_or_else(too_large)?;
    let mut product = BigInt::one();
    for step in 0..count {
        product *= &n - step;
        if unordered {
            product /= step + 1;
        }
        if product.bits() > 65_536 {
            return Err(too_large());
        }
    }
    Ok(Number::integer(product).into())
}

fn is_prime(values: &[Value]) -> ValueResult {
    let number = integer(get(values, 0)?)?;
    let Some(number) = number.to_u64() else {
        if number.is_negative() {
            return Ok(Value::Truth(false));
        }
        return Err(MathError::new("is_prime takes integers below 2^64"));
    };
    Ok(Value::Truth(is_prime_u64(number)))
}

/// Miller and Rabin's test with bases that decide all numbers of 64 bits.
fn is_prime_u64(number: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if number < 2 {
        return false;
    }
    if let Some(prime) = BASES.iter().find(|prime| number.is_multiple_of(**prime)) {
        return number == *prime;
    }
    let modulus = u128::from(number);
    let twos = (number - 1).trailing_zeros();
    let passes = |base: &u64| {
        let mut power = power_modulo(u128::from(*base), (number - 1) >> twos, modulus);
        if power == 1 || power == modulus - 1 {
            return true;
        }
        (1..twos).any(|_| {
            power = power * power % modulus;
            power == modulus - 1
        })
    };
    BASES.iter().all(passes)
}

fn power_modulo(mut base: u128, mut exponent: u64, modulus: u128) -> u128 {
    let mut result = 1;
    base %= modulus;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent /= 2;
    }
    result
}

/// A plain number with the unit of angles that results have.
pub(super) fn radians(value: f64) -> ValueResult {
    let number = Number::approximate(value)?;
    Ok(Value::Quantity(Quantity { number, unit: Unit::radian() }))
}
