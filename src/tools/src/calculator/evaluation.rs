//! Reads an expression and computes it on the way: nothing is kept but the value so far, so that
//! the depth of the stack is that of the brackets.
//!
//! From loose to tight: `;`, `to`, comparisons, `+ -`, `* / % of`, signs, `^`, `! %`, brackets.

use std::collections::BTreeMap;
use std::slice;

use super::error::{CalculationError, Span};
use super::format::Notation;
use super::function::{self, Notes};
use super::number::Number;
use super::token::{Token, TokenKind, tokens};
use super::unit::Unit;
use super::value::{Value, ValueResult};
use super::work;

/// The most characters of an expression.
pub(super) const MAX_LENGTH: usize = 10_000;
/// How deep brackets and signs nest.
const MAX_DEPTH: usize = 32;

pub(super) type Step<T> = Result<T, CalculationError>;

/// How an operand is written, where that decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandKind {
    /// A number and its unit: `5 km`.
    Amount,
    /// A number with `%`.
    Percent,
    /// A unit without a number: `km`.
    Unit,
    Other,
}

/// A value, where it stands and how it is written.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) value: Value,
    pub(super) span: Span,
    pub(super) form: OperandKind,
}

impl Operand {
    pub(super) fn other(value: Value, span: Span) -> Self {
        Self { value, span, form: OperandKind::Other }
    }

    fn has_unit(&self) -> bool {
        self.value.as_quantity().is_ok_and(|quantity| !quantity.unit.is_none())
    }
}

/// The value of an expression and how to write it.
pub(super) struct EvaluationResult {
    pub(super) value: Value,
    pub(super) notation: Notation,
    pub(super) notes: Notes,
}

/// An expression that is being read.
pub(super) struct Evaluation {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    pub(super) variables: BTreeMap<String, Value>,
    pub(super) notes: Notes,
    pub(super) notation: Notation,
    /// Microseconds since the start of 1970.
    pub(super) now: i64,
}

/// Computes an expression. `now` is in microseconds since the start of 1970.
pub(super) fn evaluate(expression: &str, now: i64) -> Step<EvaluationResult> {
    let length = expression.chars().count();
    if length > MAX_LENGTH {
        let span = Span { start: MAX_LENGTH, end: length };
        let message = format!("the expression has more than {MAX_LENGTH} characters");
        return Err(CalculationError::new(span, message));
    }
    work::reset();
    let mut evaluation = Evaluation {
        tokens: tokens(expression)?,
        at: 0,
        depth: 0,
        variables: BTreeMap::new(),
        notes: Notes::default(),
        notation: Notation::default(),
        now,
    };
    let value = evaluation.statements()?;
    if let Value::Quantity(quantity) = &value {
        quantity.unit.notes().for_each(|note| evaluation.notes.add(note));
    }
    Ok(EvaluationResult { value, notation: evaluation.notation, notes: evaluation.notes })
}

impl Evaluation {
    fn statements(&mut self) -> Step<Value> {
        let mut last = None;
        loop {
            while self.take_break() {}
            if self.peek() == &TokenKind::End {
                break;
            }
            last = Some(self.statement()?.value);
            if self.peek() != &TokenKind::End && !self.take_break() {
                return Err(self.unexpected());
            }
        }
        last.ok_or_else(|| {
            CalculationError::new(Span::default(), "the expression is empty")
                .hint("write for instance 2 * (3 + 4)")
        })
    }

    fn statement(&mut self) -> Step<Operand> {
        self.notation = Notation::default();
        let TokenKind::Name(name) = self.peek().clone() else { return self.question() };
        if self.peek_after() != &TokenKind::Symbol("=") {
            return self.question();
        }
        let span = self.span();
        if constant(&name).is_some() || function::find(&name).is_some() {
            let error = CalculationError::new(span, "the name has a meaning already");
            return Err(error.hint("choose another name"));
        }
        self.advance();
        self.advance();
        let operand = self.conversion()?;
        self.variables.insert(name, operand.value.clone());
        Ok(operand)
    }

    /// A value, with the sign that asks for it behind it: `2 + 2 =`.
    fn question(&mut self) -> Step<Operand> {
        let value = self.conversion()?;
        if self.peek() == &TokenKind::Symbol("=")
            && matches!(self.peek_after(), TokenKind::End | TokenKind::Break)
        {
            self.advance();
        }
        Ok(value)
    }

    pub(super) fn comparison(&mut self) -> Step<Operand> {
        let left = self.sum()?;
        let TokenKind::Symbol(symbol @ ("<" | ">" | "<=" | ">=" | "==" | "!=")) = *self.peek()
        else {
            return Ok(left);
        };
        self.advance();
        let right = self.sum()?;
        let span = left.span.to(right.span);
        let order = left.value.compare(&right.value).map_err(|error| error.at(span))?;
        let truth = match symbol {
            "<" => order.is_lt(),
            ">" => order.is_gt(),
            "<=" => order.is_le(),
            ">=" => order.is_ge(),
            "==" => order.is_eq(),
            _ => order.is_ne(),
        };
        Ok(Operand::other(Value::Truth(truth), span))
    }

    fn sum(&mut self) -> Step<Operand> {
        let mut left = self.product()?;
        while let TokenKind::Symbol(symbol @ ("+" | "-")) = *self.peek() {
            self.advance();
            let right = self.product()?;
            left = self.add(&left, &right, symbol == "-")?;
        }
        Ok(left)
    }

    fn add(&mut self, left: &Operand, right: &Operand, minus: bool) -> Step<Operand> {
        if right.form == OperandKind::Percent && left.form != OperandKind::Percent {
            let one = Value::from(Number::one());
            self.notes.add("x + 10% is read as x and 10% of x");
            return binary(left, right, |a, share| {
                let factor = if minus { one.subtract(share)? } else { one.add(share)? };
                a.multiply(&factor)
            });
        }
        let form = if left.form == right.form && left.form == OperandKind::Percent {
            OperandKind::Percent
        } else {
            OperandKind::Other
        };
        let sum = binary(left, right, if minus { Value::subtract } else { Value::add })?;
        Ok(Operand { form, ..sum })
    }

    /// Products and quotients, from left to right; without an operator between, a product.
    pub(super) fn product(&mut self) -> Step<Operand> {
        let mut left = self.unary()?;
        let mut divided = false;
        loop {
            let operator = match self.peek() {
                TokenKind::Symbol(symbol @ ("*" | "/" | "//" | "%")) => *symbol,
                TokenKind::Name(name) if name == "per" => "/",
                TokenKind::Name(name) if name == "mod" => "%",
                TokenKind::Name(name) if name == "of" => "*",
                _ if self.operand_follows() => "",
                _ => return Ok(left),
            };
            if operator.is_empty() {
                left = self.implicit(&left, divided)?;
                divided = false;
                continue;
            }
            self.advance();
            let right = self.unary()?;
            if operator == "/" && right.form == OperandKind::Amount && !left.has_unit() {
                return Err(ambiguous(left.span.to(right.span))
                    .hint("write (1/2) h for half an hour, 1/(2 h) for one in two hours"));
            }
            divided = operator == "/";
            left = binary(&left, &right, |a, b| match operator {
                "*" => a.multiply(b),
                "/" => a.divide(b),
                "//" => a.divide_down(b, false),
                _ => a.divide_down(b, true),
            })?;
        }
    }

    /// A product without an operator: `2 pi`, `3(4 + 5)`, `5 N m`.
    fn implicit(&mut self, left: &Operand, divided: bool) -> Step<Operand> {
        if matches!(self.peek(), TokenKind::Number(_) | TokenKind::Moment(_)) {
            let error = CalculationError::new(self.span(), "an operator is missing before this");
            return Err(error.hint("write 2 * 3, and [1, 2, 3] for a list"));
        }
        let right = self.power()?;
        let span = left.span.to(right.span);
        if divided {
            return Err(ambiguous(span).hint("write a/(b*c) or a/b*c"));
        }
        if right.form == OperandKind::Unit && !left.has_unit() {
            return binary(left, &right, |number, unit| {
                let quantity = unit.as_quantity()?.clone();
                let number = number.as_number()?.multiply(&quantity.number)?;
                Ok(Value::Quantity(super::value::Quantity { number, ..quantity }))
            });
        }
        binary(left, &right, Value::multiply)
    }

    pub(super) fn unary(&mut self) -> Step<Operand> {
        let start = self.span();
        let TokenKind::Symbol(symbol @ ("-" | "+" | "√")) = *self.peek() else {
            return self.power();
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        let value = match symbol {
            "-" => operand.value.negate(),
            "√" => self.call_named("sqrt", slice::from_ref(&operand.value)),
            _ => Ok(operand.value.clone()),
        };
        let value = value.map_err(|error| error.at(span))?;
        let form = if symbol == "√" { OperandKind::Other } else { operand.form };
        Ok(Operand { value, span, form })
    }

    fn power(&mut self) -> Step<Operand> {
        let base = self.postfix()?;
        if !self.take("^") {
            return Ok(base);
        }
        let exponent = self.nested(Self::unary)?;
        binary(&base, &exponent, Value::power)
    }

    fn postfix(&mut self) -> Step<Operand> {
        let mut operand = self.primary()?;
        loop {
            let span = operand.span.to(self.span());
            match *self.peek() {
                TokenKind::Symbol("!") => {
                    self.advance();
                    let value = self.call_named("factorial", &[operand.value]);
                    operand = Operand::other(value.map_err(|error| error.at(span))?, span);
                }
                TokenKind::Symbol("%") if !self.is_modulo() => {
                    self.advance();
                    let value = operand.value.divide(&Number::integer(100).into());
                    let value = value.map_err(|error| error.at(span))?;
                    operand = Operand { value, span, form: OperandKind::Percent };
                }
                TokenKind::Superscript(power) => {
                    self.advance();
                    let exponent = Operand::other(Number::integer(power).into(), span);
                    operand = binary(&operand, &exponent, Value::power)?;
                }
                _ => return Ok(operand),
            }
        }
    }

    /// Whether the `%` that follows stands between two operands: `10 % 3`, not `10% + 3`.
    fn is_modulo(&self) -> bool {
        match self.peek_after() {
            TokenKind::Number(_) => true,
            TokenKind::Symbol(symbol) => matches!(*symbol, "(" | "["),
            TokenKind::Name(name) => !is_keyword(name),
            _ => false,
        }
    }

    fn operand_follows(&self) -> bool {
        match self.peek() {
            TokenKind::Number(_) | TokenKind::Moment(_) => true,
            TokenKind::Symbol(symbol) => matches!(*symbol, "(" | "√"),
            TokenKind::Name(name) => !is_keyword(name),
            _ => false,
        }
    }

    /// Reads something that may contain itself.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("brackets and signs nest deeper than {MAX_DEPTH}");
            return Err(CalculationError::new(self.span(), message));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn peek(&self) -> &TokenKind {
        self.tokens.get(self.at).map_or(&TokenKind::End, |token| &token.kind)
    }

    pub(super) fn peek_after(&self) -> &TokenKind {
        self.tokens.get(self.at + 1).map_or(&TokenKind::End, |token| &token.kind)
    }

    pub(super) fn span(&self) -> Span {
        self.tokens
            .get(self.at)
            .or_else(|| self.tokens.last())
            .map_or_else(Span::default, |t| t.span)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    pub(super) fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), TokenKind::Symbol(other) if *other == symbol);
        self.at += usize::from(found);
        found
    }

    fn take_break(&mut self) -> bool {
        let found = self.peek() == &TokenKind::Break;
        self.at += usize::from(found);
        found
    }

    /// The error for a token that nothing can begin or continue with.
    pub(super) fn unexpected(&self) -> CalculationError {
        let (message, hint) = match self.peek() {
            TokenKind::End | TokenKind::Break => ("something is missing", None),
            TokenKind::Symbol(",") => {
                ("unexpected comma", Some("write 1000 instead of 1,000, and lists as [1, 2, 3]"))
            }
            TokenKind::Symbol("=") => {
                ("unexpected =", Some("compare with ==, and name values as in x = 3; 2*x"))
            }
            TokenKind::Symbol("]" | ")") => ("a bracket that nothing opens", None),
            _ => ("unexpected here", None),
        };
        let error = CalculationError::new(self.span(), message);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// Applies an operator of two operands.
fn binary(
    left: &Operand,
    right: &Operand,
    apply: impl FnOnce(&Value, &Value) -> ValueResult,
) -> Step<Operand> {
    let span = left.span.to(right.span);
    let value = apply(&left.value, &right.value).map_err(|error| error.at(span))?;
    Ok(Operand::other(value, span))
}

fn ambiguous(span: Span) -> CalculationError {
    CalculationError::new(span, "this can be read in two ways")
}

/// Names that join operands.
pub(super) fn is_keyword(name: &str) -> bool {
    matches!(name, "to" | "in" | "as" | "into" | "per" | "of" | "mod" | "and" | "or" | "then")
}

/// The constant of that name.
pub(super) fn constant(name: &str) -> Option<Value> {
    use std::f64::consts::{E, PI, TAU};
    let golden = f64::midpoint(1.0, 5_f64.sqrt());
    Some(match name {
        "pi" | "PI" | "π" | "Pi" => Value::from(Number::Approximate(PI)),
        "e" | "E" => Value::from(Number::Approximate(E)),
        "tau" | "τ" => Value::from(Number::Approximate(TAU)),
        "phi" | "φ" => Value::from(Number::Approximate(golden)),
        "true" | "True" => Value::Truth(true),
        "false" | "False" => Value::Truth(false),
        "linear" | "nearest" | "exclusive" => Value::Text(name.to_owned()),
        _ => return None,
    })
}

/// One of a unit.
pub(super) fn one_of(unit: Unit) -> Value {
    Value::Quantity(super::value::Quantity { number: Number::one(), unit })
}
