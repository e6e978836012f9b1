//! What is known, and what a sentence states beyond it.

use std::collections::BTreeSet;
use std::fmt;

use super::date::{PartialDate, month, weekday};
use super::decimal::Decimal;
use super::figure::{FigureValue, Quantity, StatedFigure, figures};
use super::multiple::claimed_multiples;
use super::number::NumeralReading;
use super::plain_text::plain;
use super::scan::{TokenKind, scan};
use super::unit::{PERCENT, contains, implies, units_in, units_of_name};

/// The largest rate that a percentage may be of: beyond 1,000 % people write factors.
const RATE_LIMIT: f64 = 10.0;

/// Numbers, dates and units that a sentence may state.
#[derive(Clone, Debug, Default)]
pub struct FigureEvidence {
    numbers: Vec<Decimal>,
    /// How many of the first numbers are no results.
    background: usize,
    dates: Vec<PartialDate>,
    times: Vec<(u32, u32)>,
    units: BTreeSet<&'static str>,
    /// All text, in lower case.
    words: String,
    /// Whether a number must be the known one, and not a rounded form of it.
    is_exact: bool,
}

/// Something that a sentence states and nothing supports, or that it fails to state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FigureMismatch {
    /// A number that is not known.
    Number(String),
    /// A unit that is not known, after its number.
    Unit(String, String),
    /// A date, a month, a weekday or a time that is not known.
    Date(String),
    /// A word with digits that is not known.
    Label(String),
    /// A ratio in words that no two numbers have.
    Multiple(String),
    /// What the sentence has to state and does not.
    Missing(String),
}

impl fmt::Display for FigureMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => write!(f, "the number `{text}` is not in the result"),
            Self::Unit(number, unit) => {
                write!(f, "the unit `{unit}` of `{number}` is not in the data or the question")
            }
            Self::Date(text) => write!(f, "the date `{text}` is not in the result"),
            Self::Label(text) => write!(f, "`{text}` is not in the result"),
            Self::Multiple(text) => {
                write!(f, "`{text}` is not the ratio of two numbers of the result")
            }
            Self::Missing(text) => write!(f, "the result `{text}` is missing"),
        }
    }
}

impl FigureEvidence {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing is known, and nothing may be rounded.
    pub fn exact() -> Self {
        Self { is_exact: true, ..Self::default() }
    }

    /// All that a text states.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for StatedFigure { meaning, .. } in figures(text) {
            match meaning {
                FigureValue::Number(number) => self.stated(&number),
                FigureValue::Date(dates) => dates.into_iter().for_each(|date| self.date(date)),
                FigureValue::Time(hour, minute) => self.times.push((hour, minute)),
                FigureValue::Weekday(_) | FigureValue::Label => {}
            }
        }
        self.units.extend(units_in(text));
        self.words.push('\n');
        self.words.push_str(&plain(text).to_lowercase());
        self
    }

    /// The name of a column or a variable: its units, and its digits as a part of the name.
    pub fn name(&mut self, name: &str) -> &mut Self {
        self.units.extend(units_of_name(name));
        self.text(&name.replace('_', " "));
        self.words.push('\n');
        self.words.push_str(&name.to_lowercase());
        self
    }

    /// Something that is called by its name, such as the path of an endpoint: what stands in it are
    /// parts of the name.
    pub fn identifier(&mut self, name: &str) -> &mut Self {
        self.words.push('\n');
        self.words.push_str(&plain(name).to_lowercase());
        self
    }

    /// Ends what is known beside the results, such as the time of day: ratios are not made of its
    /// numbers.
    pub fn end_background(&mut self) -> &mut Self {
        self.background = self.numbers.len();
        self
    }

    /// Units alone, as of a description of data whose numbers are no result.
    pub fn units(&mut self, text: &str) -> &mut Self {
        self.units.extend(units_in(text));
        self
    }

    /// A number, by the digits of its text; what is no number adds nothing.
    pub fn number(&mut self, number: impl fmt::Display) -> &mut Self {
        self.numbers.extend(Decimal::parse(&number.to_string()));
        self
    }

    /// What a sentence states that is not known; empty if there is nothing.
    pub fn mismatches(&self, sentence: &str) -> Vec<FigureMismatch> {
        let lowers = !self.numbers.is_empty() && lowers(sentence);
        let mut found = Vec::new();
        for figure in figures(sentence) {
            found.extend(self.mismatch(figure, lowers));
        }
        found
    }

    /// The ratios that a sentence claims in words, such as `twice as many` and `doubled`, and that
    /// no two known numbers have. Words that are known are no claims. Shares such as `half of` are
    /// not compared, because the whole need not be known.
    ///
    /// ```
    /// use antiphon_figures::FigureEvidence;
    /// let mut known = FigureEvidence::new();
    /// known.number(20).number(10.2);
    /// assert!(known.multiples("The north sold twice as much as the south.").is_empty());
    /// assert_eq!(known.multiples("Sales tripled.").len(), 1);
    /// ```
    pub fn multiples(&self, sentence: &str) -> Vec<FigureMismatch> {
        let claims = claimed_multiples(sentence, &self.words);
        if claims.is_empty() {
            return Vec::new();
        }
        let numbers = self.numbers.iter().skip(self.background);
        let numbers: Vec<f64> = numbers.map(Decimal::value).collect();
        let unknown = claims.into_iter().filter(|claim| !claim.follows_from(&numbers));
        unknown.map(|claim| FigureMismatch::Multiple(claim.text)).collect()
    }

    /// What a sentence states that is not known, ratios in words included.
    pub fn unsupported(&self, sentence: &str) -> Vec<FigureMismatch> {
        let mut found = self.mismatches(sentence);
        found.extend(self.multiples(sentence));
        found
    }

    /// Whether a sentence states a number, rounded to the digits that it shows.
    pub fn states(&self, sentence: &str, number: impl fmt::Display) -> bool {
        let Some(exact) = Decimal::parse(&number.to_string()) else { return false };
        let (lowers, number) = (lowers(sentence), exact.value());
        let states_it = |figure: StatedFigure| match figure.meaning {
            FigureValue::Number(one) => {
                one.readings.iter().flatten().any(|it| self.is_near(&one, it, &exact, lowers))
            }
            FigureValue::Date(dates) => dates.iter().any(|date| {
                let named = date.month.filter(|_| date.day.is_none()).map(f64::from);
                named == Some(number) || date.year.map(f64::from) == Some(number)
            }),
            FigureValue::Weekday(day) => is_weekday_number(day, number) && self.asks_weekday(),
            FigureValue::Time(hour, 0) => (f64::from(hour) - number).abs() < f64::EPSILON,
            FigureValue::Time(..) | FigureValue::Label => false,
        };
        figures(sentence).into_iter().any(states_it) || in_words(sentence, number)
    }

    fn stated(&mut self, number: &Quantity) {
        let values = || number.readings.iter().flatten().map(|reading| reading.decimal.clone());
        self.numbers.extend(values());
        self.units.extend(&number.units);
        if number.is_percent {
            self.units.insert(PERCENT);
            self.numbers.extend(values().map(|percentage| percentage.shifted(-2)));
        }
    }

    fn date(&mut self, date: PartialDate) {
        self.numbers.extend(date.year.and_then(|year| Decimal::parse(&year.to_string())));
        self.numbers.extend(date.day.and_then(|day| Decimal::parse(&day.to_string())));
        self.dates.push(date);
    }

    fn mismatch(&self, figure: StatedFigure, lowers: bool) -> Option<FigureMismatch> {
        let StatedFigure { text, meaning, .. } = figure;
        match meaning {
            FigureValue::Number(number) => self.number_mismatch(&number, text, lowers),
            // One that does not exist is known as a text alone.
            FigureValue::Date(dates) if dates.is_empty() => {
                let known = contains(&self.words, &text.to_lowercase());
                (!known).then_some(FigureMismatch::Date(text))
            }
            FigureValue::Date(dates) => (!dates.iter().any(|date| self.has_date(date)))
                .then_some(FigureMismatch::Date(text)),
            FigureValue::Weekday(day) => {
                (!self.has_weekday(day, &text)).then_some(FigureMismatch::Date(text))
            }
            FigureValue::Time(hour, minute) => {
                // The hour of `5 pm` may be known as a number.
                let is_hour = minute == 0 && text.contains(char::is_alphabetic);
                let known =
                    self.times.contains(&(hour, minute)) || is_hour && self.has_number(hour);
                (!known).then_some(FigureMismatch::Date(text))
            }
            FigureValue::Label => {
                let known = contains(&self.words, &text.to_lowercase());
                (!known).then_some(FigureMismatch::Label(text))
            }
        }
    }

    fn number_mismatch(
        &self,
        number: &Quantity,
        text: String,
        lowers: bool,
    ) -> Option<FigureMismatch> {
        let near = |reading: &NumeralReading| {
            self.numbers.iter().any(|known| self.is_near(number, reading, known, lowers))
        };
        let is_known = number.readings.iter().any(|ones| ones.iter().all(near));
        if !is_known && !self.lists(&number.sequence) {
            return Some(FigureMismatch::Number(text));
        }
        let known = |unit: &&str| self.units.iter().any(|known| implies(known, unit));
        let is_plain = number.units.is_empty() || number.units.iter().any(known);
        (!is_plain).then(|| FigureMismatch::Unit(text, number.unit.clone()))
    }

    /// Whether these numbers stand in the long form of an answer, one after the other.
    fn lists(&self, sequence: &[Decimal]) -> bool {
        self.is_exact
            && !sequence.is_empty()
            && self.numbers.windows(sequence.len()).any(|known| known == sequence)
    }

    /// Whether a number of a sentence is the known one.
    fn is_near(
        &self,
        number: &Quantity,
        reading: &NumeralReading,
        known: &Decimal,
        lowers: bool,
    ) -> bool {
        let mut reading = reading.clone();
        if self.is_exact {
            reading.step = 0.0;
        }
        let is_about = number.is_about && !self.is_exact;
        // `fell by 5`, but not `fell by -5`.
        let lowered =
            Some(reading.clone().negated()).filter(|_| lowers && reading.decimal.is_positive());
        let rounds = |known: &Decimal| {
            reading.rounds(known, is_about)
                || lowered.as_ref().is_some_and(|it| it.rounds(known, is_about))
        };
        if !number.is_percent {
            return rounds(known);
        }
        // A share becomes a percentage, a count does not; 0 and 1 are shares, and 1.35 is a rate,
        // only where percentages are spoken of. A percentage has to be known as one.
        let (size, is_asked) = (known.value().abs(), self.knows_percentages());
        let is_share = size <= 1.0 && (is_asked || !known.is_whole());
        let is_rate = size <= RATE_LIMIT && is_asked && !known.is_whole();
        (is_share || is_rate) && rounds(&known.clone().shifted(2)) || is_asked && rounds(known)
    }

    fn knows_percentages(&self) -> bool {
        const WORDS: &str = "percent percentage pct rate share prozent anteil quote pourcentage taux \
                             porcentaje tasa percentuale";
        self.units.contains(PERCENT) || WORDS.split(' ').any(|word| contains(&self.words, word))
    }

    fn has_date(&self, date: &PartialDate) -> bool {
        if self.dates.iter().any(|known| date.is_part_of(known)) {
            return true;
        }
        let whole = |year: i32| self.has_number(year);
        // A month may be known by its number or its name, and its year by itself.
        let is_month = date.month.is_some_and(|number| self.has_month(number));
        date.day.is_none() && is_month && date.year.is_none_or(whole)
    }

    fn has_month(&self, number: u32) -> bool {
        let about = ["month", "monat", "mois", "mes", "mese"];
        let named = scan(&self.words).iter().any(|token| match token.kind {
            TokenKind::Word(word) => month(word) == Some(number),
            _ => false,
        });
        let counted = self.has_number(number);
        named || counted && about.iter().any(|word| contains(&self.words, word))
    }

    fn has_weekday(&self, day: u32, text: &str) -> bool {
        let named = scan(&self.words).iter().any(|token| match token.kind {
            TokenKind::Word(word) => weekday(word) == Some(day),
            _ => false,
        });
        named
            || contains(&self.words, &text.to_lowercase())
            || self.dates.iter().any(|date| date.weekday() == Some(day))
            || self.asks_weekday()
                && self.numbers.iter().any(|number| is_weekday_number(day, number.value()))
    }

    fn has_number(&self, number: impl fmt::Display) -> bool {
        Decimal::parse(&number.to_string()).is_some_and(|number| self.numbers.contains(&number))
    }

    fn asks_weekday(&self) -> bool {
        let about = ["weekday", "dayofweek", "day of the week", "wochentag", "jour", "día"];
        about.iter().any(|word| contains(&self.words, word))
    }
}

/// Whether a number is a day of the week: from 0, or from 1, on Monday.
fn is_weekday_number(day: u32, number: f64) -> bool {
    let is = |day: u32| (number - f64::from(day)).abs() < f64::EPSILON;
    is(day) || is(day + 1)
}

/// Whether a sentence says by words that a number is below zero.
fn lowers(sentence: &str) -> bool {
    const WORDS: &str = "decrease decreased drop dropped fell fallen loss lost lower less fewer below \
                         minus negative decline declined reduction reduced down weniger rückgang \
                         gesunken gefallen niedriger verlust unter baisse baissé moins perte \
                         diminution menos caída pérdida bajó meno calo perdita sotto";
    let lower = sentence.to_lowercase();
    WORDS.split_whitespace().any(|word| contains(&lower, word))
}

/// Zero and one in words that are no numerals.
fn in_words(sentence: &str, number: f64) -> bool {
    let words = match number {
        0.0 => {
            "no none zero nothing never nobody kein keine keinen keiner null nichts aucun aucune \
                ninguno ninguna nessuno nessuna nenhum"
        }
        1.0 => "one single once only ein eine einen einer einmal un une uno una um uma",
        _ => return false,
    };
    let lower = sentence.to_lowercase();
    words.split_whitespace().any(|word| contains(&lower, word))
}
