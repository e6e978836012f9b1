//! Dates, months and weekdays, in digits and in words.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::scan::digits;
use super::word_list::{lower, rows};

/// A date, or the parts of it that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartialDate {
    pub(super) year: Option<i32>,
    pub(super) month: Option<u32>,
    pub(super) day: Option<u32>,
}

impl PartialDate {
    /// The dates that digits with `-`, `/` or `.` between them can mean, and their length.
    pub(super) fn in_digits(text: &str) -> Option<(Vec<Self>, usize)> {
        let first = digits(text);
        let mark = text.get(first..)?.chars().next().filter(|mark| "-/.".contains(*mark))?;
        let (second, middle) = group(text, first + 1)?;
        let rest = text.get(second..)?.strip_prefix(mark)?;
        let (end, last) = group(text, text.len() - rest.len())?;
        let head = number(text.get(..first)?)?;
        let dates = match (first, end - (second + 1)) {
            (4, 1..=2) => vec![Self::checked(head, middle, last)],
            (1..=2, 4) if mark == '.' => vec![Self::checked(last, middle, head)],
            (1..=2, 4) => {
                vec![Self::checked(last, middle, head), Self::checked(last, head, middle)]
            }
            _ => return None,
        };
        let dates: Vec<Self> = dates.into_iter().flatten().collect();
        (!dates.is_empty()).then_some((dates, end + time_mark(text, end)))
    }

    fn checked(year: u32, month: u32, day: u32) -> Option<Self> {
        let fits = (1..=12).contains(&month) && (1..=31).contains(&day);
        let date = Self { year: i32::try_from(year).ok(), month: Some(month), day: Some(day) };
        fits.then_some(date)
    }

    /// Whether everything it says is also said by `known`.
    pub(super) fn is_part_of(&self, known: &Self) -> bool {
        fn fits<T: PartialEq + Copy>(stated: Option<T>, known: Option<T>) -> bool {
            stated.is_none() || stated == known
        }
        fits(self.year, known.year) && fits(self.month, known.month) && fits(self.day, known.day)
    }

    /// The day of the week, Monday being 0, of a whole date.
    pub(super) fn weekday(&self) -> Option<u32> {
        let (year, month, day) = (self.year?, self.month?, self.day?);
        // Days since a Monday, by the rule of Zeller.
        let shift = i32::from(month < 3);
        let (year, month) = (year - shift, i32::try_from(month).ok()? + 12 * shift);
        let day = i32::try_from(day).ok()?;
        let days = day + 13 * (month + 1) / 5 + year + year / 4 - year / 100 + year / 400;
        u32::try_from((days + 5).rem_euclid(7)).ok()
    }
}

/// One or two or four digits at a place, and where they end.
fn group(text: &str, start: usize) -> Option<(usize, u32)> {
    let rest = text.get(start..)?;
    let count = digits(rest);
    let fits = matches!(count, 1 | 2 | 4);
    fits.then(|| number(rest.get(..count)?).map(|number| (start + count, number)))?
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

/// The length of the `T` between a date and its time.
fn time_mark(text: &str, end: usize) -> usize {
    let rest = text.get(end..).unwrap_or_default();
    usize::from(rest.starts_with('T') && digits(rest.get(1..).unwrap_or_default()) > 0)
}

/// Names of months, from January: English, German, French, Spanish, Italian, Portuguese, Dutch.
const MONTHS: [&str; 12] = [
    "january januar jänner janvier enero gennaio janeiro januari",
    "february februar feber février febrero febbraio fevereiro februari",
    "march märz mars marzo março maart",
    "april avril abril aprile",
    "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august août agosto augustus",
    "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember décembre diciembre dicembre dezembro",
];
/// Short forms, which count only beside a number.
const SHORT: [&str; 12] = [
    "jan",
    "feb",
    "mar mär mrz",
    "apr avr abr",
    "",
    "jun",
    "jul",
    "aug",
    "sep sept",
    "oct okt",
    "nov",
    "dec dez",
];
const WEEKDAYS: [&str; 7] = [
    "monday montag lundi lunes lunedì",
    "tuesday dienstag mardi martes martedì",
    "wednesday mittwoch mercredi miércoles mercoledì",
    "thursday donnerstag jeudi jueves giovedì",
    "friday freitag vendredi viernes venerdì",
    "saturday samstag sonnabend samedi sábado sabato",
    "sunday sonntag dimanche domingo domenica",
];

static MONTH_ROWS: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| rows(&MONTHS));
static SHORT_ROWS: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| rows(&SHORT));
static WEEKDAY_ROWS: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| rows(&WEEKDAYS));

/// Whether a word is the name of a month in one of seven languages, regardless of case. Some are
/// other words as well: `may`, `mars`.
///
/// ```
/// assert!(antiphon_figures::is_month("März"));
/// assert!(!antiphon_figures::is_month("mar"));
/// ```
pub fn is_month(word: &str) -> bool {
    month(word).is_some()
}

/// The month that a word names.
pub(super) fn month(word: &str) -> Option<u32> {
    named(&MONTH_ROWS, word)
}

/// The month that a word names or abbreviates.
pub(super) fn short_month(word: &str) -> Option<u32> {
    month(word).or_else(|| named(&SHORT_ROWS, word))
}

/// Whether the name of a month is another word as well.
pub(super) fn is_ambiguous(word: &str) -> bool {
    matches!(&*word.to_lowercase(), "may" | "march" | "mars" | "mai" | "mei" | "august")
}

/// The day of the week that a word names; Monday is 0.
pub(super) fn weekday(word: &str) -> Option<u32> {
    named(&WEEKDAY_ROWS, word).map(|day| day - 1)
}

/// The place of the row that has the word, counted from 1.
fn named(rows: &HashMap<&str, usize>, word: &str) -> Option<u32> {
    let row = rows.get(&*lower(word))?;
    u32::try_from(row + 1).ok()
}
