//! Numbers in words, and the words that multiply a number.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::scan::TextToken;
use super::word_list::{lower, values};

/// Words below twenty. `one` is left out: it is an article in most languages, and a pronoun.
const SMALL: &[(&str, u32)] = &[
    ("zero", 0),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("dozen", 12),
    ("null", 0),
    ("zwei", 2),
    ("drei", 3),
    ("vier", 4),
    ("fünf", 5),
    ("sechs", 6),
    ("sieben", 7),
    ("acht", 8),
    ("neun", 9),
    ("zehn", 10),
    ("zwölf", 12),
    ("dreizehn", 13),
    ("vierzehn", 14),
    ("fünfzehn", 15),
    ("sechzehn", 16),
    ("siebzehn", 17),
    ("achtzehn", 18),
    ("neunzehn", 19),
    ("zéro", 0),
    ("deux", 2),
    ("trois", 3),
    ("quatre", 4),
    ("cinq", 5),
    ("huit", 8),
    ("dix", 10),
    ("onze", 11),
    ("douze", 12),
    ("cero", 0),
    ("dos", 2),
    ("tres", 3),
    ("cuatro", 4),
    ("cinco", 5),
    ("seis", 6),
    ("siete", 7),
    ("ocho", 8),
    ("nueve", 9),
    ("diez", 10),
    ("doce", 12),
    ("tre", 3),
    ("quattro", 4),
    ("cinque", 5),
    ("dieci", 10),
    ("dodici", 12),
];

const TENS: &[(&str, u32)] = &[
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("zwanzig", 20),
    ("dreißig", 30),
    ("vierzig", 40),
    ("fünfzig", 50),
    ("sechzig", 60),
    ("siebzig", 70),
    ("achtzig", 80),
    ("neunzig", 90),
    ("vingt", 20),
    ("trente", 30),
    ("quarante", 40),
    ("cinquante", 50),
    ("soixante", 60),
    ("veinte", 20),
    ("treinta", 30),
    ("cuarenta", 40),
    ("cincuenta", 50),
    ("sesenta", 60),
    ("venti", 20),
    ("trenta", 30),
    ("quaranta", 40),
    ("cinquanta", 50),
];

/// Words of full length that multiply the number before them. A German `Billion` is a million
/// millions.
const SCALES: &[(&str, &[f64])] = &[
    ("hundred", &[1e2]),
    ("hundert", &[1e2]),
    ("thousand", &[1e3]),
    ("thousands", &[1e3]),
    ("tausend", &[1e3]),
    ("mille", &[1e3]),
    ("mil", &[1e3]),
    ("tsd", &[1e3]),
    ("million", &[1e6]),
    ("millions", &[1e6]),
    ("millionen", &[1e6]),
    ("millón", &[1e6]),
    ("millones", &[1e6]),
    ("milione", &[1e6]),
    ("milioni", &[1e6]),
    ("milhão", &[1e6]),
    ("milhões", &[1e6]),
    ("mio", &[1e6]),
    ("mn", &[1e6]),
    ("mln", &[1e6]),
    ("lakh", &[1e5]),
    ("crore", &[1e7]),
    ("billion", &[1e9, 1e12]),
    ("billions", &[1e9, 1e12]),
    ("bn", &[1e9]),
    ("billionen", &[1e12]),
    ("milliard", &[1e9]),
    ("milliards", &[1e9]),
    ("milliarde", &[1e9]),
    ("milliarden", &[1e9]),
    ("mrd", &[1e9]),
    ("trillion", &[1e12, 1e18]),
    ("trillions", &[1e12, 1e18]),
    ("tn", &[1e12]),
    ("quadrillion", &[1e15, 1e24]),
    ("dozen", &[12.0]),
];

static SMALL_VALUES: LazyLock<HashMap<&str, u32>> = LazyLock::new(|| values(SMALL));
static TENS_VALUES: LazyLock<HashMap<&str, u32>> = LazyLock::new(|| values(TENS));
static SCALE_VALUES: LazyLock<HashMap<&str, &[f64]>> = LazyLock::new(|| values(SCALES));

/// Those that are a number by themselves: `a million`.
const STANDALONE: [&str; 5] = ["thousand", "tausend", "million", "billion", "milliarde"];

/// What a word after a number multiplies it by; none if it does not.
pub(super) fn scales(word: &str) -> &'static [f64] {
    match word {
        "k" | "K" => &[1e3],
        "M" | "m" => &[1e6],
        "B" | "b" => &[1e9],
        "T" => &[1e12],
        _ => SCALE_VALUES.get(&*lower(word)).copied().unwrap_or_default(),
    }
}

/// A number in words at the beginning of these tokens, and how many of them it has.
pub(super) fn spelled(tokens: &[TextToken<'_>]) -> Option<(f64, usize)> {
    let mut sum = SpelledNumber::default();
    let mut used = 0;
    for (place, token) in tokens.iter().enumerate() {
        match token.word().map(lower) {
            Some(word) if sum.add(&word, place == 0) => used = place + 1,
            Some(word) if place > 0 && sum.takes_and() && matches!(&*word, "and" | "und") => {}
            None if place > 0 && token.is('-') => {}
            _ => break,
        }
    }
    (used > 0).then(|| (sum.value(), used))
}

/// A number that grows word by word.
#[derive(Default)]
struct SpelledNumber {
    /// Thousands and more.
    upper: f64,
    /// What is below the next word for a thousand.
    lower: u32,
}

impl SpelledNumber {
    /// Adds a word, if it can follow.
    fn add(&mut self, word: &str, is_first: bool) -> bool {
        if is_first && let Some(value) = compound(word) {
            self.lower = value;
            return true;
        }
        let ones = self.lower.is_multiple_of(10) && self.lower % 100 != 10;
        let small = SMALL_VALUES.get(word).copied();
        let value = small.or_else(|| (!is_first && word == "one").then_some(1));
        if let Some(value) = value {
            let fits = is_first || self.lower.is_multiple_of(100) || ones && value < 10;
            self.lower += if fits { value } else { 0 };
            return fits;
        }
        if let Some(value) = TENS_VALUES.get(word).copied() {
            let fits = self.lower.is_multiple_of(100);
            self.lower += if fits { value } else { 0 };
            return fits;
        }
        match (word, scales(word)) {
            ("hundred" | "hundert", _) if self.lower < 10 => self.lower = self.lower.max(1) * 100,
            (_, [scale, ..]) if !is_first || STANDALONE.contains(&word) => {
                self.upper += f64::from(self.lower.max(1)) * scale;
                self.lower = 0;
            }
            _ => return false,
        }
        true
    }

    /// Whether `and` may come next: `two hundred and five`.
    fn takes_and(&self) -> bool {
        self.lower.is_multiple_of(100)
    }

    fn value(&self) -> f64 {
        self.upper + f64::from(self.lower)
    }
}

/// `fünfundzwanzig`, `zweihundert`.
fn compound(word: &str) -> Option<u32> {
    let unit = |word: &str| match word {
        "ein" => Some(1),
        word => SMALL_VALUES.get(word).copied().filter(|value| *value < 10),
    };
    if let Some((ones, tens)) = word.split_once("und")
        && let (Some(ones), Some(tens)) = (unit(ones), TENS_VALUES.get(tens))
    {
        return Some(tens + ones);
    }
    unit(word.strip_suffix("hundert")?).map(|hundreds| hundreds * 100)
}
