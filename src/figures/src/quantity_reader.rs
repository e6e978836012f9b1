//! Reads the quantities of a sentence from its figures and the words around them.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::bound::{bound, change};
use super::counted::noun;
use super::date::short_month;
use super::decimal::Decimal;
use super::figure::{FigureValue, StatedFigure, figures_of};
use super::fraction::{FractionFigure, fractions, mixed_part, sign_part, slashed_part};
use super::number::{NumeralReading, readings};
use super::quantity::{QuantityBound, QuantityKind, StatedQuantity};
use super::scan::{TextToken, TokenKind};
use super::sign::{is_minus, is_money, is_negative};
use super::spelled::{scales, spelled};
use super::unit::{PERCENT, unit_at};
use super::word_list::set;

/// Units of money.
const MONEY: [&str; 6] = ["EUR", "USD", "GBP", "JPY", "CHF", "INR"];
/// Words before a number that names something: `version 3`, `section 4`.
static NAMING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    set("version v no nr number section sec chapter page figure fig table article art step \
                      phase stage rfc iso type model part volume vol edition release paragraph § line \
                      item level grade kapitel seite abschnitt tabelle artikel")
});

/// The last digit of a part of a whole in percent.
const FRACTION_STEP: f64 = 1e-4;

/// The tokens of a text, with the figures among them.
pub(super) struct QuantityReader<'r, 't> {
    text: &'t str,
    tokens: &'r [TextToken<'t>],
}

/// A quantity and where it ends.
struct PlacedQuantity {
    quantity: StatedQuantity,
    first: usize,
    end: usize,
}

impl<'r, 't> QuantityReader<'r, 't> {
    pub(super) const fn new(text: &'t str, tokens: &'r [TextToken<'t>]) -> Self {
        Self { text, tokens }
    }

    /// All quantities, in order.
    pub(super) fn read(&self) -> Vec<StatedQuantity> {
        let mut found: Vec<PlacedQuantity> = Vec::new();
        let fractions = self.fractions();
        for figure in figures_of(self.text, self.tokens) {
            let (first, end) = (figure.place, figure.place + figure.used);
            if fractions.iter().any(|it| it.first < end && first < it.end) {
                continue;
            }
            // The scale of `two and a half million` is a part of it.
            if found.last().is_some_and(|last| first < last.end) {
                continue;
            }
            let Some(next) = self.quantity(&figure) else { continue };
            match found.last_mut() {
                Some(last) if self.is_range(last, &next) => join(last, next),
                _ => found.push(next),
            }
        }
        found.extend(fractions);
        found.sort_by_key(|placed| placed.first);
        found.into_iter().map(|placed| placed.quantity).collect()
    }

    /// Parts of a whole, as percentages of it, or of a unit: `half a mile`.
    fn fractions(&self) -> Vec<PlacedQuantity> {
        let signs = (0..self.tokens.len()).filter_map(|place| self.sign_part(place));
        let words = fractions(self.tokens).into_iter().filter_map(|it| self.part(it));
        words.chain(signs).collect()
    }

    /// `½ of the`, `2½ miles`.
    fn sign_part(&self, place: usize) -> Option<PlacedQuantity> {
        let (head, value) = sign_part(self.tokens.get(place)?)?;
        if head.is_empty() && self.unit_after(place + 1).is_none() && !self.has_money_before(place)
        {
            return self.part(FractionFigure { value, first: place, end: place + 1 });
        }
        let whole: f64 = if head.is_empty() { 0.0 } else { head.parse().ok()? };
        Some(self.dressed(place, mixed(whole + value)?, place + 1))
    }

    fn part(&self, fraction: FractionFigure) -> Option<PlacedQuantity> {
        let FractionFigure { value, first, end } = fraction;
        // `A quarter of an hour` is a time.
        let of = usize::from(self.word(end) == Some("of"));
        let is_article = matches!(self.word(end + of), Some("a" | "an"));
        let unit = self.unit_after(end + of + 1).filter(|_| is_article);
        let (kind, units, value) = match unit {
            Some((units, _)) => (QuantityKind::Measure, units, value),
            // `Half a loaf` is no share of anything.
            None if of == 0 && is_article => return None,
            None => (QuantityKind::Percent, Vec::new(), value * 100.0),
        };
        let quantity = StatedQuantity {
            text: self.between(first, end),
            kind,
            units,
            bound: bound(self.tokens, first, end),
            change: change(self.tokens, first, end),
            number: NumeralReading { decimal: decimal_of(value)?, step: FRACTION_STEP },
            upper: None,
            is_fraction: true,
        };
        Some(PlacedQuantity { quantity, first, end })
    }

    fn quantity(&self, figure: &StatedFigure) -> Option<PlacedQuantity> {
        match &figure.meaning {
            FigureValue::Date(dates) => {
                let year = dates.first()?.year?;
                let end = figure.place + figure.used;
                let decimal = Decimal::parse(&year.to_string())?;
                Some(self.placed(figure.place, end, QuantityKind::Year, decimal))
            }
            FigureValue::Number(_) => self.number(figure.place),
            _ => None,
        }
    }

    fn placed(
        &self,
        first: usize,
        end: usize,
        kind: QuantityKind,
        decimal: Decimal,
    ) -> PlacedQuantity {
        let quantity = StatedQuantity {
            text: self.between(first, end),
            kind,
            units: Vec::new(),
            bound: QuantityBound::Exact,
            change: None,
            number: NumeralReading { decimal, step: 1.0 },
            upper: None,
            is_fraction: false,
        };
        PlacedQuantity { quantity, first, end }
    }

    fn number(&self, place: usize) -> Option<PlacedQuantity> {
        let (reading, end) = self.reading(place)?;
        if self.is_ordinal(end) || self.is_name(place) {
            return None;
        }
        if let Some((part, used)) = mixed_part(self.tokens, end) {
            let reading = mixed(reading.decimal.value() + part)?;
            return Some(self.dressed(place, reading, end + used));
        }
        // `1/2 inch`, `2 1/2 cups`.
        for (whole, at) in [(0.0, place), (reading.decimal.value(), end)] {
            if let Some((part, end)) = slashed_part(self.tokens, at)
                && self.unit_after(end).is_some()
            {
                return Some(self.dressed(place, mixed(whole + part)?, end));
            }
        }
        if let Some(year) = self.year(place) {
            return Some(self.placed(place, end, QuantityKind::Year, year));
        }
        Some(self.dressed(place, reading, end))
    }

    /// A number with its scale, unit, sign and bound.
    fn dressed(&self, place: usize, mut reading: NumeralReading, mut end: usize) -> PlacedQuantity {
        while let Some((scale, used)) = self.scale(place, end) {
            reading = reading.times(scale);
            end += used;
        }
        if is_negative(self.tokens, self.text, place) {
            reading = reading.negated();
        }
        let (kind, units, after, scale) = self.unit(place, end);
        let number = reading.times(scale);
        let first = self.first(place);
        let text = self.between(place, end);
        let is_change = matches!(kind, QuantityKind::Percent | QuantityKind::PercentPoint)
            || self.word(first.wrapping_sub(1)).is_some_and(|word| word == "by" || word == "um");
        let change = if is_change { change(self.tokens, first, after) } else { None };
        let bound = bound(self.tokens, first, after);
        let (upper, is_fraction) = (None, false);
        let quantity =
            StatedQuantity { text, kind, units, bound, change, number, upper, is_fraction };
        PlacedQuantity { quantity, first: place, end: after }
    }

    /// The number at a token and where it ends. Of the ways to read a numeral the likeliest
    /// counts; a single comma before three digits separates thousands.
    fn reading(&self, place: usize) -> Option<(NumeralReading, usize)> {
        let token = self.tokens.get(place)?;
        let Some(numeral) = token.numeral() else {
            let (value, used) = spelled(self.tokens.get(place..)?)?;
            let value = value * self.part_before(place);
            let decimal = Decimal::parse(&value.to_string())?;
            return Some((NumeralReading { decimal, step: 1.0 }, place + used));
        };
        let all = readings(numeral);
        let is_grouped =
            numeral.split_once(',').is_some_and(|(_, rest)| rest.len() == 3 && !rest.contains('.'));
        let whole = all.iter().find(|it| matches!(&***it, [one] if one.step >= 1.0));
        let chosen = whole.filter(|_| is_grouped).or_else(|| all.first());
        let [reading] = chosen?.as_slice() else { return None };
        Some((reading.clone(), place + 1))
    }

    /// What the number that ends before a token is multiplied by, and with how many tokens.
    fn scale(&self, place: usize, end: usize) -> Option<(f64, usize)> {
        let hyphen = usize::from(self.tokens.get(end).is_some_and(|it| it.is('-')));
        let token = self.tokens.get(end + hyphen)?;
        let word = token.word()?;
        let touches = self.tokens.get(end.checked_sub(1)?)?.end == token.start;
        let factor = match word {
            "K" | "k" if touches => 1e3,
            "M" if touches => 1e6,
            "B" if touches => 1e9,
            "T" if touches => 1e12,
            "m" | "b" | "t" if touches && self.has_money_before(place) => match word {
                "m" => 1e6,
                "b" => 1e9,
                _ => 1e12,
            },
            _ if word.chars().nth(1).is_none() => return None,
            _ => *scales(word).first()?,
        };
        Some((factor, 1 + hyphen))
    }

    /// The kind and unit of the number whose tokens are `place..end`, where the unit ends, and
    /// what the number is multiplied by.
    fn unit(&self, place: usize, end: usize) -> (QuantityKind, Vec<&'static str>, usize, f64) {
        if let Some((used, scale)) = self.points(end) {
            return (QuantityKind::PercentPoint, Vec::new(), end + used, scale);
        }
        let hyphen = usize::from(self.tokens.get(end).is_some_and(|it| it.is('-')));
        let next = self.word(end + hyphen).unwrap_or_default().to_lowercase();
        let is_sign = self.tokens.get(end).is_some_and(|it| it.is('×'));
        if is_sign || matches!(&*next, "x" | "times" | "fold" | "mal") {
            return (QuantityKind::Factor, Vec::new(), end + hyphen + 1, 1.0);
        }
        let money = self.money_before(place);
        let after = self.unit_after(end).filter(|_| money.is_none());
        let Some((units, until)) = after.or_else(|| Some((money?, end))) else {
            let noun = noun(self.tokens, end + hyphen).into_iter().collect();
            return (QuantityKind::Count, noun, end, 1.0);
        };
        let kind = match () {
            () if units.contains(&PERCENT) => QuantityKind::Percent,
            () if units.iter().any(|unit| MONEY.contains(unit)) => QuantityKind::Money,
            () => QuantityKind::Measure,
        };
        let units = if kind == QuantityKind::Percent { Vec::new() } else { units };
        (kind, units, until, 1.0)
    }

    /// Percentage points or basis points after a number: their tokens and size.
    fn points(&self, end: usize) -> Option<(usize, f64)> {
        let first = self.word(end).map(str::to_lowercase);
        let second = self.word(end + 1).map(str::to_lowercase).unwrap_or_default();
        let are_points = matches!(&*second, "point" | "points" | "punkte");
        match first.as_deref() {
            Some("percentage" | "percent" | "prozent") if are_points => Some((2, 1.0)),
            Some("basis") if are_points => Some((2, 0.01)),
            Some("pp" | "ppt" | "ppts" | "pps" | "prozentpunkte" | "prozentpunkten") => {
                Some((1, 1.0))
            }
            Some("bps" | "bp" | "basispunkte") => Some((1, 0.01)),
            None if self.tokens.get(end)?.is('%') && self.word(end + 1) == Some("points") => {
                Some((2, 1.0))
            }
            _ => None,
        }
    }

    /// The units that a unit after a number can be, and the token after it.
    fn unit_after(&self, end: usize) -> Option<(Vec<&'static str>, usize)> {
        let last = self.tokens.get(end.checked_sub(1)?)?.end;
        let rest = self.text.get(last..)?;
        let spaced = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}', '\u{2009}', '-']);
        let (units, length) = unit_at(spaced)?;
        let stop = self.text.len() - spaced.len() + length;
        Some((units, self.tokens.partition_point(|token| token.start < stop)))
    }

    /// The money whose sign or code stands before a number.
    fn money_before(&self, place: usize) -> Option<Vec<&'static str>> {
        let mut token = self.tokens.get(place.checked_sub(1)?)?;
        if is_minus(token) {
            token = self.tokens.get(place.checked_sub(2)?)?;
        }
        if !is_money(token) {
            return None;
        }
        let (units, length) = unit_at(token.text)?;
        (length == token.text.len()).then_some(units)
    }

    /// What a scale is multiplied by: `half a million`, `half million`, `one and a half million`.
    fn part_before(&self, place: usize) -> f64 {
        let before = |back: usize| place.checked_sub(back).and_then(|at| self.word(at));
        let is_half = before(1).is_some_and(|word| word.eq_ignore_ascii_case("half"));
        let is_joined = before(2) == Some("a") && before(3) == Some("and");
        match (is_half, is_joined) {
            (true, true) if before(4).is_some_and(|it| it.eq_ignore_ascii_case("one")) => 1.5,
            (true, false) => 0.5,
            _ if self.is_halved(place) => 0.5,
            _ => 1.0,
        }
    }

    /// `half a million`.
    fn is_halved(&self, place: usize) -> bool {
        place >= 2
            && self.word(place - 1) == Some("a")
            && self.word(place - 2).is_some_and(|word| word.eq_ignore_ascii_case("half"))
    }

    fn has_money_before(&self, place: usize) -> bool {
        self.money_before(place).is_some()
    }

    /// The first token of a number with what is written before it: a sign, a currency.
    fn first(&self, place: usize) -> usize {
        let is_prefix = |token: &TextToken<'_>| is_minus(token) || is_money(token);
        let place = if self.is_halved(place) { place - 2 } else { place };
        let before = self.tokens.get(..place).unwrap_or_default();
        place - before.iter().rev().take_while(|token| is_prefix(token)).count()
    }

    /// A year: four digits, no unit, and nothing counted by them.
    fn year(&self, place: usize) -> Option<Decimal> {
        let numeral = self.tokens.get(place)?.numeral()?;
        let year: u32 = numeral.parse().ok().filter(|_| numeral.len() == 4)?;
        let is_year = (1500..=2100).contains(&year)
            && !self.has_money_before(place)
            && self.unit_after(place + 1).is_none()
            && self.scale(place, place + 1).is_none()
            && self.points(place + 1).is_none()
            && noun(self.tokens, place + 1).is_none();
        if is_year { Decimal::parse(numeral) } else { None }
    }

    fn is_ordinal(&self, end: usize) -> bool {
        let Some(token) = self.tokens.get(end) else { return false };
        let touches = end
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
            .is_some_and(|last| last.end == token.start);
        touches && matches!(token.word(), Some("st" | "nd" | "rd" | "th"))
    }

    /// Whether a numeral is a part of a name: `version 3`, `#7`, `GPT-4`.
    fn is_name(&self, place: usize) -> bool {
        let Some(before) = place.checked_sub(1).and_then(|it| self.tokens.get(it)) else {
            return false;
        };
        if before.is('#') {
            return true;
        }
        let has_dot = before.is('.') && place >= 2;
        let word = if has_dot { self.word(place - 2) } else { before.word() };
        let named = word
            .map(str::to_lowercase)
            .is_some_and(|word| NAMING.contains(&*word) && short_month(&word).is_none());
        named || self.is_hyphenated(place, before)
    }

    /// Whether a hyphen joins a numeral to the word before it.
    fn is_hyphenated(&self, place: usize, before: &TextToken<'_>) -> bool {
        let Some(earlier) = place.checked_sub(2).and_then(|it| self.tokens.get(it)) else {
            return false;
        };
        let joins = is_minus(before)
            && earlier.end == before.start
            && self.tokens.get(place).is_some_and(|it| it.start == before.end);
        joins
            && matches!(earlier.kind, TokenKind::Word(_) | TokenKind::Label(_))
            && !is_money(earlier)
    }

    /// Whether two quantities are the ends of a range: `3–5`, `between 3 and 5`, `3 to 5`.
    fn is_range(&self, low: &PlacedQuantity, high: &PlacedQuantity) -> bool {
        let is_open = low.quantity.upper.is_none() && high.quantity.upper.is_none();
        let is_year = low.quantity.kind == QuantityKind::Year;
        let are_alike = low.quantity.kind == high.quantity.kind
            || is_plain(&low.quantity)
            || is_plain(&high.quantity) && low.quantity.kind == QuantityKind::Money;
        let first = self.first(high.first);
        if !is_open || is_year || !are_alike || first != low.end + 1 && high.first != low.end + 1 {
            return false;
        }
        let Some(link) = self.tokens.get(low.end) else { return false };
        let before = self.first(low.first).checked_sub(1).and_then(|place| self.word(place));
        let rises = low.quantity.value() <= high.quantity.value()
            || low.quantity.kind != high.quantity.kind;
        rises
            && match link.word() {
                Some("to" | "bis") => !matches!(before, Some("from" | "von")),
                Some("and" | "und") => matches!(before, Some("between" | "zwischen")),
                Some(_) => false,
                None => is_minus(link) || link.is('—'),
            }
    }

    fn between(&self, first: usize, end: usize) -> String {
        let start = self.tokens.get(first).map_or(0, |token| token.start);
        let stop = end.checked_sub(1).and_then(|last| self.tokens.get(last));
        self.text.get(start..stop.map_or(start, |token| token.end)).unwrap_or_default().to_owned()
    }

    fn word(&self, place: usize) -> Option<&'t str> {
        self.tokens.get(place).and_then(TextToken::word)
    }
}

/// Makes a range of two quantities; what only the upper one says holds for both.
fn join(low: &mut PlacedQuantity, high: PlacedQuantity) {
    let scale = scale_between(&low.quantity, &high.quantity);
    let first = &mut low.quantity;
    first.number = first.number.times(scale);
    first.text = format!("{}–{}", first.text, high.quantity.text);
    if !is_plain(&high.quantity) || is_plain(first) {
        first.kind = high.quantity.kind;
        first.units = high.quantity.units;
    }
    first.change = first.change.or(high.quantity.change);
    first.upper = Some(high.quantity.number);
    low.end = high.end;
}

/// Whether it has no unit and counts nothing in particular.
fn is_plain(quantity: &StatedQuantity) -> bool {
    quantity.kind == QuantityKind::Count && quantity.units.is_empty()
}

/// The multiplier that `3–5 million` has for both numbers.
fn scale_between(low: &StatedQuantity, high: &StatedQuantity) -> f64 {
    let has_own = low.text.chars().any(char::is_alphabetic);
    let digits: String =
        high.text.chars().take_while(|sign| !sign.is_alphabetic() && *sign != ' ').collect();
    let plain = readings(&digits).first().and_then(|ones| ones.first().cloned());
    match plain {
        Some(plain) if !has_own && plain.decimal.value() > 0.0 => {
            (high.number.decimal.value().abs() / plain.decimal.value()).round()
        }
        _ => 1.0,
    }
}

/// A number by its first four decimals.
fn decimal_of(value: f64) -> Option<Decimal> {
    Decimal::parse(&format!("{value:.4}"))
}

/// A number with a part: `2½` has one decimal, `2¼` two.
fn mixed(value: f64) -> Option<NumeralReading> {
    let is_half = (value * 2.0).fract() == 0.0;
    Some(NumeralReading { decimal: decimal_of(value)?, step: if is_half { 0.1 } else { 0.01 } })
}
