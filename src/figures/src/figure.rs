//! What a sentence states: numbers with their units, and dates.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::date::{PartialDate, is_ambiguous, month, short_month, weekday};
use super::day_half::day_half;
use super::decimal::Decimal;
use super::list_item::list_items;
use super::number::{NumeralReading, NumeralReadings, readings, sequence};
use super::plain_text::plain;
use super::scan::{TextToken, TokenKind, scan};
use super::sign::{is_minus, is_negative};
use super::spelled::{scales, spelled};
use super::unit::{PERCENT, unit_at};
use super::word_list::set;

/// Something that is stated, as it is written and as it is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StatedFigure {
    pub(super) text: String,
    pub(super) meaning: FigureValue,
    /// Its first token, and how many it has.
    pub(super) place: usize,
    pub(super) used: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum FigureValue {
    Number(Quantity),
    /// One of these.
    Date(Vec<PartialDate>),
    Weekday(u32),
    Time(u32, u32),
    /// A word with digits in it.
    Label,
}

/// A number with what stands around it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) readings: NumeralReadings,
    /// The numbers between its commas, if they are groups of digits and several.
    pub(super) sequence: Vec<Decimal>,
    /// The names of the unit that it can have; none for a plain number.
    pub(super) units: Vec<&'static str>,
    /// The unit as it is written.
    pub(super) unit: String,
    pub(super) is_percent: bool,
    /// After a word such as `about`.
    pub(super) is_about: bool,
}

/// Everything that a text states, in order.
pub(super) fn figures(text: &str) -> Vec<StatedFigure> {
    let text = &plain(text);
    figures_of(text, &scan(text))
}

/// The same of a plain text and its tokens.
pub(super) fn figures_of(text: &str, tokens: &[TextToken<'_>]) -> Vec<StatedFigure> {
    let items = list_items(text, tokens);
    let mut reader = Reader { text, tokens, items, found: Vec::new() };
    let mut place = 0;
    while place < tokens.len() {
        place += reader.read(place).max(1);
    }
    reader.found
}

struct Reader<'r, 't> {
    text: &'t str,
    tokens: &'r [TextToken<'t>],
    /// The places of the tokens that count items.
    items: Vec<usize>,
    found: Vec<StatedFigure>,
}

impl<'t> Reader<'_, 't> {
    /// Reads the figure that begins at a token; returns its number of tokens.
    fn read(&mut self, place: usize) -> usize {
        let Some(token) = self.tokens.get(place) else { return 1 };
        match &token.kind {
            TokenKind::Date(dates) => self.put(place, 1, FigureValue::Date(dates.clone())),
            TokenKind::Time(hour, minute) => {
                let (hour, minute) = (*hour, *minute);
                let (hour, used) = day_half(self.tokens, place + 1, hour).unwrap_or((hour, 0));
                self.put(place, 1 + used, FigureValue::Time(hour, minute))
            }
            TokenKind::Label(_) => self.put(place, 1, FigureValue::Label),
            TokenKind::Numeral(_) if self.items.contains(&place) => 1,
            TokenKind::Numeral(_) => {
                let used = self.day_first(place);
                let used = if used > 0 { used } else { self.hour(place) };
                if used > 0 { used } else { self.number(place) }
            }
            TokenKind::Word(word) => self.word(place, word),
            TokenKind::Sign(_) => 1,
        }
    }

    fn put(&mut self, place: usize, used: usize, meaning: FigureValue) -> usize {
        let (Some(first), Some(last)) =
            (self.tokens.get(place), self.tokens.get(place + used.max(1) - 1))
        else {
            return 1;
        };
        let text = self.text.get(first.start..last.end).unwrap_or_default().to_owned();
        self.found.push(StatedFigure { text, meaning, place, used: used.max(1) });
        used
    }

    /// `5 pm`; 0 if it is no time.
    fn hour(&mut self, place: usize) -> usize {
        let hour = self.small(place, 12);
        let Some((hour, used)) = hour.and_then(|hour| day_half(self.tokens, place + 1, hour))
        else {
            return 0;
        };
        self.put(place, 1 + used, FigureValue::Time(hour, 0))
    }

    /// A word: a month, a weekday, or a number that is spelled.
    fn word(&mut self, place: usize, word: &str) -> usize {
        if let Some(day) = weekday(word) {
            return self.put(place, 1, FigureValue::Weekday(day));
        }
        let used = self.month_first(place, word);
        if used > 0 {
            return used;
        }
        let Some((value, used)) = self.tokens.get(place..).and_then(spelled) else { return 1 };
        let Some(value) = Decimal::parse(&value.to_string()) else { return 1 };
        let readings = self.signed(place, vec![vec![NumeralReading::exact(value)]]);
        let number = self.dressed(place, used, readings);
        self.put(place, used, FigureValue::Number(number))
    }

    /// `15 April 2023`, `15. April`, `3rd of May`.
    fn day_first(&mut self, place: usize) -> usize {
        let Some(day) = self.small(place, 31) else { return self.impossible_day(place) };
        let is_filler = |token: &TextToken<'_>| {
            token.is('.')
                || token.word().is_some_and(|word| {
                    matches!(word, "st" | "nd" | "rd" | "th" | "of" | "de" | "er")
                })
        };
        let rest = self.tokens.get(place + 1..).unwrap_or_default();
        let fillers = rest.iter().take(2).take_while(|token| is_filler(token)).count();
        let at = place + 1 + fillers;
        let Some(month) = self.word_at(at).and_then(short_month) else { return 0 };
        let (year, used) = self.year(at + 1);
        let date = PartialDate { year, month: Some(month), day: Some(day) };
        self.put(place, at + 1 + used - place, FigureValue::Date(vec![date]))
    }

    /// `32 April`, which is no date; 0 if it is no more than a number before a word.
    fn impossible_day(&mut self, place: usize) -> usize {
        let before = place.checked_sub(1).and_then(|before| self.word_at(before));
        let is_month = |word: &str| word.starts_with(char::is_uppercase) && month(word).is_some();
        let (year, used) = self.year(place + 2);
        let is_day = self.small(place, 99).is_some()
            && (year.is_some() || before.is_some_and(|it| it.eq_ignore_ascii_case("on")));
        if !is_day || !self.word_at(place + 1).is_some_and(is_month) {
            return 0;
        }
        self.put(place, 2 + used, FigureValue::Date(Vec::new()))
    }

    /// `April 15, 2023`, `April 2023`, `in April`; 0 if the word is no month here.
    fn month_first(&mut self, place: usize, word: &str) -> usize {
        let Some(number) = short_month(word) else { return 0 };
        let mut next = place + 1 + usize::from(self.sign_at(place + 1, '.'));
        let day = self.small(next, 31).filter(|_| self.year(next).0.is_none());
        next += usize::from(day.is_some());
        if day.is_some()
            && self.word_at(next).is_some_and(|it| matches!(it, "st" | "nd" | "rd" | "th"))
        {
            next += 1;
        }
        let (year, used) = self.year(next);
        let has_number = day.is_some() || year.is_some();
        if !has_number
            && (month(word).is_none() || is_ambiguous(word) && !self.is_dated(place, word))
        {
            return 0;
        }
        let date = PartialDate { year, month: Some(number), day };
        let used = if has_number { next + used - place } else { 1 };
        self.put(place, used, FigureValue::Date(vec![date]))
    }

    /// Whether a word such as `May` is a month by what stands before it.
    fn is_dated(&self, place: usize, word: &str) -> bool {
        const BEFORE: &str =
            "in of since until by during from to for before after im seit en de du em nel di a";
        let is_capital = word.starts_with(char::is_uppercase);
        let before = place.checked_sub(1).and_then(|before| self.word_at(before));
        // A sentence of a single word is an answer by itself.
        let is_alone = self.tokens.iter().filter(|token| token.word().is_some()).count() == 1;
        let follows =
            before.is_some_and(|it| BEFORE.split(' ').any(|one| it.eq_ignore_ascii_case(one)));
        is_capital && (follows || is_alone) || follows && matches!(word, "mai" | "mars" | "mei")
    }

    /// A year at a place, after a comma or a preposition, and how many tokens it has.
    fn year(&self, place: usize) -> (Option<i32>, usize) {
        let skipped = self.sign_at(place, ',')
            || self.word_at(place).is_some_and(|it| matches!(it, "of" | "de"));
        let at = place + usize::from(skipped);
        let numeral = self.tokens.get(at).and_then(TextToken::numeral);
        let year = numeral.filter(|it| it.len() == 4).and_then(|it| it.parse().ok());
        match year.filter(|year| (1000..3000).contains(year)) {
            Some(year) => (Some(year), 1 + usize::from(skipped)),
            None => (None, 0),
        }
    }

    /// A number of one or two digits from 1.
    fn small(&self, place: usize, most: u32) -> Option<u32> {
        let numeral = self.tokens.get(place).and_then(TextToken::numeral)?;
        let number = numeral.parse().ok().filter(|_| numeral.len() <= 2)?;
        (1..=most).contains(&number).then_some(number)
    }

    /// A numeral with its sign, scale and unit.
    fn number(&mut self, place: usize) -> usize {
        let Some(numeral) = self.tokens.get(place).and_then(TextToken::numeral) else { return 1 };
        let found = self.signed(place, readings(numeral));
        let at = place + 1 + usize::from(self.sign_at(place + 1, '-'));
        let word = self.word_at(at);
        let scaled = word.map_or(&[][..], scales);
        // The letter of a scale may be a unit as well: 5 m.
        let is_unit = word.is_some_and(|word| word.len() == 1 && unit_at(word).is_some());
        let mut all: NumeralReadings =
            if scaled.is_empty() || is_unit { found.clone() } else { Vec::new() };
        for scale in scaled {
            let times =
                |ones: &Vec<NumeralReading>| ones.iter().map(|one| one.times(*scale)).collect();
            all.extend(found.iter().map(times));
        }
        let used = if scaled.is_empty() { 1 } else { at + 1 - place };
        let mut number = self.dressed(place, if is_unit { 1 } else { used }, all);
        number.sequence = sequence(numeral);
        self.put(place, used, FigureValue::Number(number))
    }

    fn signed(&self, place: usize, found: NumeralReadings) -> NumeralReadings {
        if !is_negative(self.tokens, self.text, place) {
            return found;
        }
        let negated =
            |ones: Vec<NumeralReading>| ones.into_iter().map(NumeralReading::negated).collect();
        found.into_iter().map(negated).collect()
    }

    /// A number with its unit, which stands after `used` tokens or before the first.
    fn dressed(&self, place: usize, used: usize, readings: NumeralReadings) -> Quantity {
        let end = self.tokens.get(place + used - 1).map_or(0, |token| token.end);
        let rest = self.text.get(end..).unwrap_or_default();
        let spaced = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}', '-', '.']);
        let is_decade = rest.starts_with('s') && readings.iter().flatten().any(is_round_year);
        let written = |text: &str, (units, length): (Vec<&'static str>, usize)| {
            (units, text.get(..length).unwrap_or_default().to_owned())
        };
        let after = unit_at(spaced).filter(|_| !is_decade).map(|found| written(spaced, found));
        let before = || {
            let mut sign = self.tokens.get(place.checked_sub(1)?)?;
            if is_minus(sign) {
                sign = self.tokens.get(place.checked_sub(2)?)?;
            }
            let is_money = "€$£¥₹".contains(sign.text) || sign.text.len() == 3;
            let found = unit_at(sign.text).filter(|(_, length)| *length == sign.text.len());
            found.filter(|_| is_money).map(|found| written(sign.text, found))
        };
        let (units, unit) = after.or_else(before).unwrap_or_default();
        let is_percent = units.contains(&PERCENT);
        let units = if is_percent { Vec::new() } else { units };
        let (sequence, is_about) = (Vec::new(), self.is_about(place));
        Quantity { readings, sequence, units, unit, is_percent, is_about }
    }

    fn is_about(&self, place: usize) -> bool {
        static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
            set("about around approximately approx roughly nearly almost over than some circa ca \
                 etwa rund ungefähr fast knapp über environ presque aproximadamente unos casi \
                 circa quasi")
        });
        let start = place.saturating_sub(2);
        let before = self.tokens.get(start..place).unwrap_or_default();
        before.iter().any(|token| {
            token.is('~')
                || token.is('≈')
                || token.word().is_some_and(|word| WORDS.contains(&*word.to_ascii_lowercase()))
        })
    }

    fn word_at(&self, place: usize) -> Option<&'t str> {
        self.tokens.get(place).and_then(TextToken::word)
    }

    fn sign_at(&self, place: usize, sign: char) -> bool {
        self.tokens.get(place).is_some_and(|token| token.is(sign))
    }
}

/// A year that a decade is called by: the `1960s`.
fn is_round_year(reading: &NumeralReading) -> bool {
    let value = reading.decimal.value();
    (1000.0..3000.0).contains(&value) && value % 10.0 == 0.0
}
