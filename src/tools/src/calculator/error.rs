//! Failures of a calculation: what is wrong, where, and what would work.

use antiphon_core::{Fault, FaultCode};

/// A part of the expression, in characters from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    /// The part from the start of this one to the end of `other`.
    pub(super) const fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}

/// A failure of an operation that does not know where in the expression it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MathError {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl MathError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure at its place in the expression.
    pub(super) fn at(self, span: Span) -> CalculationError {
        CalculationError { span, message: self.message, hint: self.hint }
    }
}

/// A failure at a place in the expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CalculationError {
    span: Span,
    message: String,
    hint: Option<String>,
}

/// The most characters of the expression that a message repeats.
const EXCERPT: usize = 60;

impl CalculationError {
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        MathError::new(message).at(span)
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The fault that the model reads, with the part of the expression that it is about.
    pub(super) fn into_fault(self, expression: &str) -> Fault {
        let Span { start, end } = self.span;
        let length = end.saturating_sub(start);
        let mut part: String = expression.chars().skip(start).take(length.min(EXCERPT)).collect();
        if length > EXCERPT {
            part.push('…');
        }
        let message = if part.trim().is_empty() {
            format!("{}, at the end of the expression", self.message)
        } else {
            format!("{}, at character {}: {part}", self.message, start + 1)
        };
        let fault = Fault::new(FaultCode::CalculationFailed, message).with("position", start + 1);
        match self.hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}
