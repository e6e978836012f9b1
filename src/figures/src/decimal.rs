//! A number by its digits, so that large ones are compared without loss.

/// A number as it is written in decimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// The power of ten of the last digit.
    exponent: i32,
}

impl Decimal {
    /// The number with these digits, the last of which counts `10^exponent`.
    pub(super) fn of_digits(digits: &str, exponent: i32) -> Self {
        let kept = digits.trim_end_matches('0');
        let zeros = i32::try_from(digits.len() - kept.len()).unwrap_or(i32::MAX);
        let kept = kept.trim_start_matches('0').to_owned();
        let exponent = if kept.is_empty() { 0 } else { exponent.saturating_add(zeros) };
        Self { is_negative: false, digits: kept, exponent }
    }

    /// The number of a text such as `-12.5` or `6.022e23`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
            None => (text, 0_i32),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let places = i32::try_from(fraction.len()).ok()?;
        let number = Self::of_digits(&digits, exponent.saturating_sub(places));
        Some(if is_negative { number.negated() } else { number })
    }

    /// Its digits with a point, or with an exponent if it is very large or small.
    pub(super) fn written(&self) -> String {
        let sign = if self.is_negative { "-" } else { "" };
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        match usize::try_from(self.exponent.unsigned_abs()) {
            Ok(zeros) if self.exponent >= 0 && zeros <= 24 => {
                format!("{sign}{digits}{}", "0".repeat(zeros))
            }
            Ok(places) if self.exponent < 0 && places <= 24 => {
                let padded = format!("{digits:0>width$}", width = places + 1);
                let (whole, fraction) = padded.split_at(padded.len() - places);
                format!("{sign}{whole}.{fraction}")
            }
            _ => format!("{sign}{digits}e{}", self.exponent),
        }
    }

    /// The nearest number that a machine computes with.
    pub(super) fn value(&self) -> f64 {
        let sign = if self.is_negative { "-" } else { "" };
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        format!("{sign}{digits}e{}", self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// How far two numbers are apart, without loss if their digits fit a machine's integer.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        let least = self.exponent.min(other.exponent);
        match (self.scaled_to(least), other.scaled_to(least)) {
            (Some(left), Some(right)) => {
                let digits = Self::of_digits(&left.abs_diff(right).to_string(), least);
                digits.value()
            }
            _ => (self.value() - other.value()).abs(),
        }
    }

    /// Its digits as an integer that counts `10^exponent`.
    fn scaled_to(&self, exponent: i32) -> Option<i128> {
        let zeros = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        let digits: i128 = if self.digits.is_empty() { 0 } else { self.digits.parse().ok()? };
        let digits = digits.checked_mul(10_i128.checked_pow(zeros)?)?;
        Some(if self.is_negative { -digits } else { digits })
    }

    /// Below zero.
    pub(super) const fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// The number without its sign.
    #[must_use]
    pub(super) fn magnitude(mut self) -> Self {
        self.is_negative = false;
        self
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    /// Above zero.
    pub(super) const fn is_positive(&self) -> bool {
        !self.is_negative && !self.digits.is_empty()
    }

    /// The power of ten of the last digit that is not zero.
    pub(super) const fn exponent(&self) -> i32 {
        self.exponent
    }

    #[must_use]
    pub(super) fn negated(mut self) -> Self {
        self.is_negative = !self.is_negative && !self.digits.is_empty();
        self
    }

    /// The number with the point moved to the right.
    #[must_use]
    pub(super) fn shifted(mut self, places: i32) -> Self {
        if !self.digits.is_empty() {
            self.exponent = self.exponent.saturating_add(places);
        }
        self
    }

    /// The product with a small number such as a dozen or a million.
    #[must_use]
    pub(super) fn times(self, scale: f64) -> Self {
        let Some(scale) = Self::parse(&scale.to_string()) else { return self };
        if scale.digits == "1" {
            return self.shifted(scale.exponent);
        }
        let factors = (self.digits.parse::<u128>(), scale.digits.parse::<u128>());
        let (Ok(left), Ok(right)) = factors else { return self };
        let Some(product) = left.checked_mul(right) else { return self };
        let exponent = self.exponent.saturating_add(scale.exponent);
        let number = Self::of_digits(&product.to_string(), exponent);
        if self.is_negative { number.negated() } else { number }
    }
}
