//! Parts of a whole: `two thirds`, `a quarter of`, `half the`, `2/3 of`, `¾`. What may as well be
//! something else is none: `the second quarter of 1934`, `third place`, `half past two`.

use super::date::short_month;
use super::scan::{TextToken, TokenKind};
use super::spelled::spelled;
use super::word_list::lower;

/// What a whole is divided into, by its name for one part; English names have a plural with `s`.
const PARTS: [(&str, u32); 12] = [
    ("third", 3),
    ("quarter", 4),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("twelfth", 12),
    ("twentieth", 20),
    ("hundredth", 100),
];
/// Names that are the same for one part and for several.
const FOREIGN_PARTS: [(&str, u32); 9] = [
    ("drittel", 3),
    ("viertel", 4),
    ("fünftel", 5),
    ("sechstel", 6),
    ("siebtel", 7),
    ("achtel", 8),
    ("neuntel", 9),
    ("zehntel", 10),
    ("tercios", 3),
];
const SIGNS: [(char, u32, u32); 15] = [
    ('½', 1, 2),
    ('⅓', 1, 3),
    ('⅔', 2, 3),
    ('¼', 1, 4),
    ('¾', 3, 4),
    ('⅕', 1, 5),
    ('⅖', 2, 5),
    ('⅗', 3, 5),
    ('⅘', 4, 5),
    ('⅙', 1, 6),
    ('⅚', 5, 6),
    ('⅛', 1, 8),
    ('⅜', 3, 8),
    ('⅝', 5, 8),
    ('⅞', 7, 8),
];
const HALVES: &str = "half hälfte moitié mitad";
const ONE: &str = "a an one ein eine einem einer un une";
const OF: &str = "of der des von vom aller de du del";
const THE: &str = "the its their his her our these those all my your";
const IS: &str = "were are is was had have has";
/// What a part is compared with: `a third less`.
const COMPARED: &str =
    "less more fewer larger smaller higher lower greater longer shorter faster slower as";
/// Words before a part that make it one: `by a third`, `more than half`.
const BY: &str = "by um than about over nearly almost around roughly under approximately some only exactly \
                  knapp etwa rund fast über";
/// Words before a half or a quarter that make it a place, a time or a member of a series.
const SERIES: &str = "first second third fourth latter former last other next previous past this that each \
                      either every whose top bottom upper lower northern southern eastern western front rear \
                      back better inner outer left right early late consecutive for in within during these \
                      those erste ersten zweite zweiten letzte letzten dritte dritten première seconde deuxième \
                      primera segunda";

/// A part of a whole, and the tokens that it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FractionFigure {
    pub(super) value: f64,
    pub(super) first: usize,
    pub(super) end: usize,
}

/// The parts of wholes in a text, in order.
pub(super) fn fractions(tokens: &[TextToken<'_>]) -> Vec<FractionFigure> {
    let reader = FractionReader { tokens };
    let mut found: Vec<FractionFigure> = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        let next = reader.read(place);
        place = next.map_or(place + 1, |it| it.end);
        found.extend(next);
    }
    found
}

/// What stands behind a whole number: the part of `two and a half`, and its tokens.
pub(super) fn mixed_part(tokens: &[TextToken<'_>], end: usize) -> Option<(f64, usize)> {
    let reader = FractionReader { tokens };
    let is_joined = reader.is(end, "and und") && reader.is(end + 1, "a one ein");
    let value = match reader.word(end + 2).as_deref() {
        Some("half" | "halb" | "halbe") => 0.5,
        Some("quarter" | "viertel") => 0.25,
        Some("third" | "drittel") => 1.0 / 3.0,
        _ => return None,
    };
    is_joined.then_some((value, 3))
}

/// `1/2` of a unit, as measures have it: its value and where it ends. With other parts, as in
/// `5/10 km`, two numbers are meant.
pub(super) fn slashed_part(tokens: &[TextToken<'_>], place: usize) -> Option<(f64, usize)> {
    const PARTS: [u32; 7] = [2, 3, 4, 8, 16, 32, 64];
    let reader = FractionReader { tokens };
    let (over, under) = (reader.digits(place)?, reader.digits(place + 2)?);
    let is_alone = !reader.is_sign(place + 3, '/')
        && !place.checked_sub(1).is_some_and(|before| reader.is_sign(before, '/'));
    let is_part = PARTS.contains(&under) && (1..under).contains(&over);
    let is_told = reader.is_sign(place + 1, '/') && is_alone && is_part;
    is_told.then(|| (f64::from(over) / f64::from(under), place + 3))
}

/// The part that a sign such as `½` at the end of a token stands for, and what stands before it.
pub(super) fn sign_part<'t>(token: &TextToken<'t>) -> Option<(&'t str, f64)> {
    let TokenKind::Label(text) = token.kind else { return None };
    let last = text.chars().next_back()?;
    let (_, over, under) = SIGNS.iter().find(|(sign, ..)| *sign == last)?;
    let head = text.strip_suffix(last)?;
    let is_number = head.chars().all(|sign| sign.is_ascii_digit());
    is_number.then(|| (head, f64::from(*over) / f64::from(*under)))
}

struct FractionReader<'r, 't> {
    tokens: &'r [TextToken<'t>],
}

impl FractionReader<'_, '_> {
    fn read(&self, place: usize) -> Option<FractionFigure> {
        let (value, end) =
            self.half(place).or_else(|| self.slashed(place)).or_else(|| self.parts(place))?;
        Some(FractionFigure { value, first: place, end })
    }

    /// `half of`, `half the`, `more than half`, `die Hälfte der`.
    fn half(&self, place: usize) -> Option<(f64, usize)> {
        let article = usize::from(self.is(place, "a one an"));
        let at = place + article + usize::from(article == 1 && self.is_sign(place + 1, '-'));
        if !self.is(at, HALVES) || self.is_before(place, SERIES) || self.is_sign(at + 1, '-') {
            return None;
        }
        let end = at + 1;
        let of = self.is(end, OF) && !self.is_period(end + 1);
        let is_english = self.is(at, "half");
        let whole = is_english && article == 0 && (self.is(end, THE) || self.is(end, IS));
        let compared = self.is_before(place, BY) && !self.is(end, "a an past");
        // Whether a unit follows, as in `half a mile`, is for the reader of quantities.
        let of_unit = is_english && article == 0 && self.is(end, "a an");
        (of || whole || compared || of_unit).then_some((0.5, end))
    }

    /// `2/3 of`, `1/2 the`.
    fn slashed(&self, place: usize) -> Option<(f64, usize)> {
        let (over, under) = (self.digits(place)?, self.digits(place + 2)?);
        let is_joined = self.is_sign(place + 1, '/') && !self.is_sign(place + 3, '/');
        let is_part = (1..under).contains(&over) && under <= 100;
        let follows = self.is(place + 3, OF) || self.is(place + 3, "the majority");
        let is_whole = follows && !self.is_period(place + 4) || self.is_before(place, "by");
        (is_joined && is_part && is_whole).then(|| (f64::from(over) / f64::from(under), place + 3))
    }

    /// `two thirds`, `a quarter of`, `ein Drittel`.
    fn parts(&self, place: usize) -> Option<(f64, usize)> {
        let over = self.count(place)?;
        let hyphen = usize::from(self.is_sign(place + 1, '-'));
        let at = place + 1 + hyphen;
        let name = self.word(at)?;
        let under = parts_of(&name, over)?;
        let end = at + 1;
        let of = self.is(end, OF) && !self.is_period(end + 1);
        let is_plain = match (over, under) {
            // `Three quarters` are months as well, `a third` and `one quarter` things in a row.
            (1, _) | (_, 4) => of || self.is(end, COMPARED) || self.is_before(place, "by um"),
            _ => !self.is(end, "place places"),
        };
        let is_told = is_plain && !(under == 4 && self.is_before(place, SERIES));
        (is_told && over < under).then(|| (f64::from(over) / f64::from(under), end))
    }

    /// A small number in words or digits.
    fn count(&self, place: usize) -> Option<u32> {
        if self.is(place, ONE) {
            return Some(1);
        }
        if let Some(digits) = self.digits(place) {
            return Some(digits);
        }
        let (value, _) = spelled(self.tokens.get(place..=place)?)?;
        (2..100).find(|count| (f64::from(*count) - value).abs() < f64::EPSILON)
    }

    fn digits(&self, place: usize) -> Option<u32> {
        self.tokens.get(place)?.numeral()?.parse().ok().filter(|value| *value <= 100)
    }

    /// Whether a year or a month follows, with `the year` before it or without.
    fn is_period(&self, place: usize) -> bool {
        let at =
            place + usize::from(self.is(place, "the")) + usize::from(self.is(place + 1, "year"));
        let token = self.tokens.get(at);
        let is_year = token.and_then(TextToken::numeral).is_some_and(|it| it.len() == 4);
        is_year || self.word(at).is_some_and(|word| short_month(&word).is_some())
    }

    fn is_before(&self, place: usize, list: &str) -> bool {
        let the = place.checked_sub(1).filter(|at| self.is(*at, "the die la"));
        let at = the.or(Some(place)).and_then(|at| at.checked_sub(1));
        at.is_some_and(|at| self.is(at, list))
    }

    fn is(&self, place: usize, list: &str) -> bool {
        self.word(place).is_some_and(|word| list.split_whitespace().any(|one| one == word))
    }

    fn is_sign(&self, place: usize, sign: char) -> bool {
        self.tokens.get(place).is_some_and(|token| token.is(sign))
    }

    fn word(&self, place: usize) -> Option<String> {
        self.tokens.get(place).and_then(TextToken::word).map(|word| lower(word).into_owned())
    }
}

/// What a whole is divided into that has so many of these parts.
fn parts_of(name: &str, count: u32) -> Option<u32> {
    let find = |list: &[(&str, u32)], name: &str| {
        list.iter().find(|(own, _)| *own == name).map(|(_, parts)| *parts)
    };
    let singular = if count == 1 { Some(name) } else { name.strip_suffix('s') };
    find(&FOREIGN_PARTS, name).or_else(|| find(&PARTS, singular?))
}
