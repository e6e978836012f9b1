//! The operands of expressions: numbers with units, names, calls, lists, dates; and conversions.

use super::error::{CalculationError, MathError, Span};
use super::evaluation::{Evaluation, Operand, OperandKind, Step, constant, is_keyword, one_of};
use super::format::Notation;
use super::function::{self, Function};
use super::moment::Moment;
use super::number::Number;
use super::token::TokenKind;
use super::unit::Unit;
use super::value::{Quantity, Value, ValueResult};
use super::work::spend;

/// The most items of a list.
const MAX_ITEMS: usize = function::MANY;
/// The largest power of a unit that is read with it.
const MAX_POWER: i64 = 12;

impl Evaluation {
    /// A value, converted to a unit, a zone or a notation as often as `to` follows.
    pub(super) fn conversion(&mut self) -> Step<Operand> {
        let mut left = self.comparison()?;
        while self.take_conversion() {
            let start = self.span();
            let value = self.target(&left)?;
            let span = left.span.to(start);
            left = Operand::other(value, span);
        }
        Ok(left)
    }

    fn take_conversion(&mut self) -> bool {
        let found = match self.peek() {
            TokenKind::Symbol("to") => true,
            TokenKind::Name(name) => matches!(name.as_str(), "to" | "in" | "as" | "into"),
            _ => false,
        };
        if found {
            self.advance();
        }
        found
    }

    fn target(&mut self, left: &Operand) -> Step<Value> {
        let span = left.span.to(self.span());
        let fail = |error: MathError| error.at(span);
        match self.peek().clone() {
            TokenKind::Symbol("%") => return self.notate(left, Notation::Percent),
            TokenKind::Zone(zone) => {
                self.advance();
                return in_zone(&left.value, &zone).map_err(fail);
            }
            TokenKind::Number(digits) if self.is_places() => {
                self.advance();
                self.advance();
                let digits = Value::from(Number::Exact(digits));
                return self.call_named("round", &[left.value.clone(), digits]).map_err(fail);
            }
            TokenKind::Name(name) => {
                let zoned = matches!(name.as_str(), "UTC" | "GMT");
                if zoned {
                    self.advance();
                    return in_zone(&left.value, "UTC").map_err(fail);
                }
                if let Some(notation) = notation(&name) {
                    return self.notate(left, notation);
                }
            }
            _ => {}
        }
        let target = self.product()?;
        let span = left.span.to(target.span);
        let converted = target.value.as_quantity().and_then(|unit| {
            if unit.unit.is_none() || unit.number.compare(&Number::one()).is_ne() {
                return Err(MathError::new("no unit to convert to").hint("write 5 km to mi"));
            }
            left.value.as_quantity()?.convert(&unit.unit)
        });
        let converted = converted.map_err(|error| error.at(span))?;
        left.value.as_quantity().map(|from| self.note_units(&from.unit)).ok();
        Ok(Value::Quantity(converted))
    }

    /// Whether `to 2 decimals` follows.
    fn is_places(&self) -> bool {
        matches!(self.peek_after(), TokenKind::Name(name)
            if matches!(name.as_str(), "decimals" | "decimal" | "dp" | "places" | "digits"))
    }

    fn notate(&mut self, left: &Operand, notation: Notation) -> Step<Value> {
        let span = left.span.to(self.span());
        self.advance();
        let number = left.value.as_number().map_err(|error| error.at(span))?;
        if matches!(notation, Notation::Radix(_)) && number.as_integer().is_none() {
            return Err(CalculationError::new(span, "only integers have other bases here"));
        }
        self.notation = notation;
        Ok(left.value.clone())
    }

    fn note_units(&mut self, unit: &Unit) {
        unit.notes().for_each(|note| self.notes.add(note));
    }

    pub(super) fn primary(&mut self) -> Step<Operand> {
        let span = self.span();
        match self.peek().clone() {
            TokenKind::Number(value) => {
                self.advance();
                self.amount(Number::Exact(value), span)
            }
            TokenKind::Moment(moment) => {
                self.advance();
                self.moment(moment, span)
            }
            TokenKind::Symbol("(") => {
                self.advance();
                let inner = self.nested(Self::conversion)?;
                let span = self.close(span, ")")?;
                Ok(Operand::other(inner.value, span))
            }
            TokenKind::Symbol("[") => {
                self.advance();
                let (items, span) = self.items(span, "]")?;
                Ok(Operand::other(Value::List(items), span))
            }
            TokenKind::Name(name) if !is_keyword(&name) || self.is_call(&name) => {
                self.name(&name, span)
            }
            TokenKind::Zone(_) => Err(CalculationError::new(span, "a time zone without a time")
                .hint("write 2024-06-01 15:00 Europe/Berlin to Asia/Tokyo")),
            _ => Err(self.unexpected()),
        }
    }

    /// Whether a function of that name is called here: `mod` joins operands otherwise.
    fn is_call(&self, name: &str) -> bool {
        self.peek_after() == &TokenKind::Symbol("(") && function::find(name).is_some()
    }

    fn close(&mut self, open: Span, bracket: &str) -> Step<Span> {
        let span = open.to(self.span());
        if self.take(bracket) {
            return Ok(span);
        }
        if matches!(self.peek(), TokenKind::End | TokenKind::Break) {
            let message = format!("the closing {bracket} is missing for this");
            return Err(CalculationError::new(open, message));
        }
        Err(self.unexpected())
    }

    /// Values between brackets; the opening one has been read.
    fn items(&mut self, open: Span, bracket: &str) -> Step<(Vec<Value>, Span)> {
        let mut items = Vec::new();
        while !matches!(self.peek(), TokenKind::Symbol(symbol) if *symbol == bracket) {
            let item = self.nested(Self::conversion)?;
            items.push(item.value);
            if items.len() > MAX_ITEMS {
                let message = format!("a list of more than {MAX_ITEMS} items");
                return Err(CalculationError::new(item.span, message));
            }
            if !self.take(",") {
                break;
            }
        }
        let span = self.close(open, bracket)?;
        Ok((items, span))
    }

    /// A number and the unit behind it, if one is: `5`, `5 km`, `5 ft 6 in`, `2 m²`.
    fn amount(&mut self, number: Number, span: Span) -> Step<Operand> {
        let Some(unit) = self.unit_after_number()? else {
            return Ok(Operand::other(number.into(), span));
        };
        let mut total = Quantity { number, unit };
        while let TokenKind::Number(next) = self.peek().clone() {
            let joined = match self.peek_after() {
                TokenKind::Name(name) => Unit::find(name),
                _ => None,
            };
            if joined.is_none_or(|unit| !unit.is_compatible(&total.unit)) {
                break;
            }
            self.advance();
            let part = self.span();
            let unit = self.unit_after_number()?.unwrap_or_default();
            let sum = Value::Quantity(total.clone())
                .add(&Value::Quantity(Quantity { number: Number::Exact(next), unit }));
            let sum = sum.map_err(|error| error.at(span.to(part)))?;
            total = sum.as_quantity().map_err(|error| error.at(span.to(part)))?.clone();
        }
        let end = self.span().start;
        let span = Span { start: span.start, end };
        Ok(Operand { value: Value::Quantity(total), span, form: OperandKind::Amount })
    }

    /// The unit that follows a number, with its power.
    fn unit_after_number(&mut self) -> Step<Option<Unit>> {
        let TokenKind::Name(name) = self.peek().clone() else { return Ok(None) };
        if is_keyword(&name) && name != "in" {
            return Ok(None);
        }
        let taken = self.variables.contains_key(&name) || constant(&name).is_some();
        let called =
            self.peek_after() == &TokenKind::Symbol("(") && function::find(&name).is_some();
        if taken || called {
            return Ok(None);
        }
        if name == "in" {
            return self.inch();
        }
        self.unit(&name)
    }

    /// `in` after a number: the inch, unless something to convert to follows.
    fn inch(&mut self) -> Step<Option<Unit>> {
        let converts = match self.peek_after() {
            TokenKind::Name(name) => notation(name).is_some(),
            _ => false,
        };
        if converts {
            return Ok(None);
        }
        let span = self.span();
        let unit = self.unit("in")?;
        if matches!(self.peek(), TokenKind::Name(name) if Unit::find(name).is_some() && !is_keyword(name))
        {
            let error = CalculationError::new(span, "this can be read in two ways");
            return Err(error.hint("write 5 in to cm, or 5 km to mi"));
        }
        Ok(unit)
    }

    /// The unit of that name, if it is one, with words before it and the power behind it:
    /// `m^2`, `m²`, `square metres`, `cubic ft`.
    fn unit(&mut self, name: &str) -> Step<Option<Unit>> {
        let worded = match name.to_lowercase().as_str() {
            "square" | "sq" => Some(2),
            "cubic" | "cu" => Some(3),
            _ => None,
        };
        if let (Some(power), TokenKind::Name(next)) = (worded, self.peek_after().clone())
            && let Some(unit) = Unit::find(&next)
        {
            self.advance();
            self.advance();
            return unit.power(power).map(Some).map_err(|error| error.at(self.span()));
        }
        let (unit, words) = match self.peek_after() {
            TokenKind::Name(next) => {
                let joined = Unit::find(&format!("{name}_{next}").to_lowercase());
                joined.map_or_else(|| (Unit::find(name), 1), |unit| (Some(unit), 2))
            }
            _ => (Unit::find(name), 1),
        };
        let Some(unit) = unit else { return Ok(None) };
        (0..words).for_each(|_| self.advance());
        let span = self.span();
        match self.unit_power()? {
            None => Ok(Some(unit)),
            Some(power) => unit.power(power).map(Some).map_err(|error| error.at(span)),
        }
    }

    fn unit_power(&mut self) -> Step<Option<i32>> {
        if let TokenKind::Superscript(power) = *self.peek() {
            self.advance();
            return Ok(Some(power));
        }
        if !self.take("^") {
            return Ok(None);
        }
        let exponent = self.nested(Self::unary)?;
        let power = exponent.value.as_integer().map_err(|error| error.at(exponent.span))?;
        if power.abs() > MAX_POWER {
            let message = format!("a power of a unit above {MAX_POWER}");
            return Err(CalculationError::new(exponent.span, message));
        }
        Ok(i32::try_from(power).ok())
    }

    fn moment(&mut self, moment: Moment, span: Span) -> Step<Operand> {
        let zone = match self.peek() {
            TokenKind::Zone(zone) => zone.clone(),
            TokenKind::Name(name) if matches!(name.as_str(), "UTC" | "GMT") => "UTC".to_owned(),
            _ => return Ok(Operand::other(Value::Moment(moment), span)),
        };
        let span = span.to(self.span());
        self.advance();
        let moment = moment.in_zone(&zone).map_err(|error| error.at(span))?;
        Ok(Operand::other(Value::Moment(moment), span))
    }

    fn name(&mut self, name: &str, span: Span) -> Step<Operand> {
        if self.peek_after() == &TokenKind::Symbol("(")
            && let Some(function) = function::find(name)
        {
            return self.call(function, span);
        }
        if let Some(value) = self.variables.get(name).cloned().or_else(|| constant(name)) {
            self.advance();
            return Ok(Operand::other(value, span));
        }
        if matches!(name, "today" | "now") {
            self.advance();
            let now = Moment::now(self.now).map_err(|error| error.at(span))?;
            self.notes.add("the time is UTC");
            let moment = if name == "now" { now } else { Moment::Day(now.date()) };
            return Ok(Operand::other(Value::Moment(moment), span));
        }
        match self.unit(name)? {
            Some(unit) => Ok(Operand { value: one_of(unit), span, form: OperandKind::Unit }),
            None => Err(unknown(name, span, self.peek_after() == &TokenKind::Symbol("("))),
        }
    }

    fn call(&mut self, function: &'static Function, name: Span) -> Step<Operand> {
        self.advance();
        let open = self.span();
        self.advance();
        let (values, end) = self.items(open, ")")?;
        let span = name.to(end);
        let (least, most) = function.arity;
        if values.len() < least || values.len() > most {
            let message = format!("wrong number of arguments ({})", values.len());
            let error = CalculationError::new(span, message);
            return Err(error.hint(format!("write {}", function.usage)));
        }
        let value = self.apply(function, &values, span)?;
        Ok(Operand::other(value, span))
    }

    fn apply(&mut self, function: &Function, values: &[Value], span: Span) -> Step<Value> {
        self.invoke(function, values).map_err(|error| {
            let hinted = error.hint.is_some();
            let error = error.at(span);
            if hinted { error } else { error.hint(format!("write {}", function.usage)) }
        })
    }

    /// Calls a function and counts its work.
    fn invoke(&mut self, function: &Function, values: &[Value]) -> ValueResult {
        let items = function::items(values);
        let largest = items.iter().map(Value::words).max().unwrap_or(0);
        let work = largest.saturating_mul(largest).saturating_mul(16);
        spend(work.saturating_mul(items.len() as u64))?;
        let value = (function.call)(values, &mut self.notes)?;
        spend(value.words().saturating_mul(value.words()).saturating_mul(4))?;
        Ok(value)
    }

    /// Calls a function that an operator stands for.
    pub(super) fn call_named(&mut self, name: &str, values: &[Value]) -> ValueResult {
        let function = function::find(name).ok_or_else(|| MathError::new("no such function"))?;
        self.invoke(function, values)
    }
}

fn in_zone(value: &Value, zone: &str) -> ValueResult {
    Ok(Value::Moment(value.as_moment()?.clone().in_zone(zone)?))
}

fn notation(name: &str) -> Option<Notation> {
    Some(match name {
        "fraction" => Notation::Fraction,
        "decimal" => Notation::Decimal,
        "percent" | "percentage" => Notation::Percent,
        "hex" | "hexadecimal" => Notation::Radix(16),
        "octal" => Notation::Radix(8),
        "binary" => Notation::Radix(2),
        _ => return None,
    })
}

/// The error for a name that means nothing, with the one that it resembles.
fn unknown(name: &str, span: Span, called: bool) -> CalculationError {
    let what = if called { "unknown function" } else { "unknown name" };
    let error = CalculationError::new(span, what);
    let similar = function::all()
        .flat_map(|function| function.names.iter().map(|known| (*known, function.usage)))
        .find(|(known, _)| is_similar(known, name));
    match similar {
        Some((_, usage)) => error.hint(format!("did you mean {usage}?")),
        None if called => error.hint(
            "functions are sqrt, log, sin, round, factorial, mean, stdev, percentile, date_diff and others",
        ),
        None => error.hint("name values as in x = 3; 2*x, and units as in 5 km to mi"),
    }
}

/// Whether two names differ in case only, or in one letter.
fn is_similar(known: &str, name: &str) -> bool {
    let (known, name) = (known.to_lowercase(), name.to_lowercase());
    if known == name {
        return true;
    }
    let (known, name): (Vec<char>, Vec<char>) = (known.chars().collect(), name.chars().collect());
    if name.len() < 4 || known.len().abs_diff(name.len()) > 1 {
        return false;
    }
    let same_start = known.iter().zip(&name).take_while(|(a, b)| a == b).count();
    let ends = known.iter().rev().zip(name.iter().rev());
    let same_end = ends.take_while(|(a, b)| a == b).count();
    same_start + same_end + 1 >= known.len().max(name.len())
}
