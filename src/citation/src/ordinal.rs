//! Places in an order, in digits, in words and in Roman numerals: `18th`, `eighteenth`, `XVIII`.

use std::collections::BTreeSet;

use antiphon_figures::quantities;

use crate::word::{MONTHS, PlacedWord, words};

const SMALL: &str = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth \
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth";
const TENTHS: &str =
    "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth";
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";
const LARGE: [(&str, u64); 3] =
    [("hundredth", 100), ("thousandth", 1_000), ("millionth", 1_000_000)];
/// Words before a numeral that make it a name, of which a Roman one may have a single letter.
const NAMING: &str = "chapter part volume vol act book section article title phase stage appendix annex scene \
    schedule table figure canto kapitel teil band abschnitt artikel chapitre tome partie capítulo";
/// Words after which `first` says a rank. Elsewhere it is mostly an adverb: `was first lit`.
const RANKING: &str =
    "the its his her their our your this came comes finished finishes ranked placed";

/// The ordinals of a claim that no text has, and its Roman numerals.
pub(crate) fn unknown_ordinals(claim: &str, known: &[String]) -> Vec<String> {
    let own = words(claim);
    let stated: Vec<(usize, OrdinalNumber<'_>)> = (0..own.len())
        .filter_map(|place| Some((place, ordinal(claim, &own, place)?)))
        .filter(|(place, found)| is_rank(claim, &own, *place, found))
        .collect();
    let names: Vec<(&str, u64, &str)> =
        (1..own.len()).filter_map(|place| numbered_name(&own, place)).collect();
    if stated.is_empty() && names.is_empty() {
        return Vec::new();
    }
    let known = KnownOrder::new(known);
    let unknown = stated.into_iter().filter(|(_, it)| match it.value {
        1 if it.is_word => !known.ordinals.contains(&1) && !known.ordinals.is_empty(),
        value => !known.ordinals.contains(&value) && !known.romans.contains(&value),
    });
    let mut found: Vec<String> = unknown.map(|(_, it)| it.text.to_owned()).collect();
    let unnamed = names.into_iter().filter(|(before, value, _)| {
        !known.names.contains(&(before.to_lowercase(), *value))
            && !known.ordinals.contains(value)
            && !known.romans.contains(value)
    });
    found.extend(unnamed.map(|(before, _, text)| format!("{before} {text}")));
    found
}

/// Whether texts number a name in another way: `Chapter IX` for the `9` of `chapter 9`.
pub(crate) fn numbers_name(claim: &str, numeral: &str, known: &[String]) -> bool {
    let Ok(value) = numeral.parse::<u64>() else { return false };
    let own = words(claim);
    let names = own.windows(2).filter_map(|pair| match pair {
        [before, word] if word.text == numeral => Some((before.text.to_lowercase(), value)),
        _ => None,
    });
    let names: Vec<(String, u64)> = names.collect();
    !names.is_empty() && {
        let known = KnownOrder::new(known);
        names.iter().all(|name| known.names.contains(name))
    }
}

/// A place in an order, and whether it is in words.
pub(crate) struct OrdinalNumber<'t> {
    text: &'t str,
    pub(crate) value: u64,
    is_word: bool,
}

/// The ordinal that ends with a word.
pub(crate) fn ordinal<'t>(
    text: &'t str,
    all: &[PlacedWord<'t>],
    place: usize,
) -> Option<OrdinalNumber<'t>> {
    let word = all.get(place)?;
    if let Some(value) = in_digits(word.text, &["st", "nd", "rd", "th"]) {
        return Some(OrdinalNumber { text: word.text, value, is_word: false });
    }
    let lower = word.text.to_lowercase();
    if let Some((_, value)) = LARGE.iter().find(|(large, _)| *large == lower) {
        return Some(OrdinalNumber { text: word.text, value: *value, is_word: true });
    }
    if let Some(place) = index(TENTHS, &lower) {
        return Some(OrdinalNumber { text: word.text, value: 20 + 10 * place, is_word: true });
    }
    let ones = index(SMALL, &lower)?;
    // `twenty-first`
    let before = place.checked_sub(1).and_then(|before| all.get(before));
    let tens = before.and_then(|it| Some((it, index(TENS, &it.text.to_lowercase())?)));
    let (start, tens) = tens
        .filter(|(it, _)| ones < 10 && word.start == it.end + 1)
        .map_or((word.start, 0), |(it, place)| (it.start, 20 + 10 * place));
    let text = text.get(start..word.end)?;
    Some(OrdinalNumber { text, value: tens + ones, is_word: true })
}

/// Whether a word of a claim says a place in an order, and is no fraction, unit, period or
/// connective.
fn is_rank(claim: &str, all: &[PlacedWord<'_>], place: usize, found: &OrdinalNumber<'_>) -> bool {
    let word = |at: Option<usize>| {
        at.and_then(|at| all.get(at)).map(|it| it.text.to_lowercase()).unwrap_or_default()
    };
    let (before, next) = (word(place.checked_sub(1)), word(Some(place + 1)));
    let has = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    let is_period = found.value <= 4 && matches!(&*next, "quarter" | "quarters" | "half");
    // Dates are compared as such.
    let is_day =
        is_month(&next) || next == "of" && is_month(&word(Some(place + 2))) || is_month(&before);
    if is_period || is_day || !found.is_word {
        return !is_period && !is_day;
    }
    let start = all.get(place).map_or(0, |it| it.start);
    let end = all.get(place).map_or(0, |it| it.end);
    let lead = claim.get(..start).unwrap_or_default().trim_end();
    let opens = lead.is_empty() || lead.ends_with(['.', ';', ':', '!', '?', '(', ',']);
    let is_connective = opens && claim.get(end..).is_some_and(|rest| rest.starts_with(','));
    // `by a third`, `two-fifths`, `a second lamp`; with tens before it, it is whole.
    let is_whole = found.text.contains([' ', '-']);
    let counts = before.chars().all(|sign| sign.is_ascii_digit()) && !before.is_empty();
    let is_article = matches!(&*before, "a" | "an");
    let is_share = is_article && (found.value == 2 || next == "of" || is_fraction(claim, found));
    let is_part = !is_whole && (is_share || has("one per each every split", &before) || counts);
    let is_cardinal = !is_whole && index(CARDINALS, &before).is_some();
    let is_adverb = found.value == 1 && !has(RANKING, &before);
    !is_connective && !is_part && !is_cardinal && !is_adverb
}

const CARDINALS: &str = "two three four five six seven eight nine ten";

/// Whether a quantity ends with an ordinal: `a third`.
fn is_fraction(claim: &str, found: &OrdinalNumber<'_>) -> bool {
    quantities(claim).iter().any(|it| it.text.contains(' ') && it.text.ends_with(found.text))
}

/// What texts state of an order.
struct KnownOrder {
    ordinals: BTreeSet<u64>,
    /// Roman numerals, wherever they stand.
    romans: BTreeSet<u64>,
    /// Names with a numeral, in lower case.
    names: BTreeSet<(String, u64)>,
}

impl KnownOrder {
    fn new(texts: &[String]) -> Self {
        let mut known =
            Self { ordinals: BTreeSet::new(), romans: BTreeSet::new(), names: BTreeSet::new() };
        for text in texts {
            known.read(text);
        }
        known
    }

    fn read(&mut self, text: &str) {
        let all = words(text);
        for (place, word) in all.iter().enumerate() {
            self.ordinals.extend(ordinal(text, &all, place).map(|it| it.value));
            self.ordinals.extend(foreign_ordinal(text, word));
            self.romans.extend(roman(word.text).filter(|_| word.text.len() > 1));
            let before = place.checked_sub(1).and_then(|before| all.get(before));
            if let Some(before) = before {
                let value = roman(word.text).or_else(|| cardinal(word.text));
                self.names.extend(value.map(|value| (before.text.to_lowercase(), value)));
            }
        }
    }
}

/// `18. Jahrhundert`, `18e siècle`, `XVIIIe siècle`, `18º`.
fn foreign_ordinal(text: &str, word: &PlacedWord<'_>) -> Option<u64> {
    const SUFFIXES: [&str; 9] = ["e", "er", "re", "ère", "ème", "eme", "º", "ª", "."];
    let rest = text.get(word.end..).unwrap_or_default();
    let follows = rest.strip_prefix('.').is_some_and(|rest| {
        rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
    });
    let value = word.text.parse().ok().filter(|_| follows);
    let bare = SUFFIXES.iter().find_map(|suffix| word.text.strip_suffix(suffix));
    value.or_else(|| in_digits(word.text, &SUFFIXES)).or_else(|| roman(bare?))
}

/// A name with a Roman numeral or one in words, such as `chapter IX` and `Louis XIV`: the word
/// before it, its number, and the numeral.
fn numbered_name<'t>(all: &[PlacedWord<'t>], place: usize) -> Option<(&'t str, u64, &'t str)> {
    let (before, word) = (all.get(place - 1)?.text, all.get(place)?.text);
    let is_named = NAMING.split_whitespace().any(|one| one == before.to_lowercase());
    // After other names only the short ones: `DC` and `MD` are abbreviations.
    let is_name = before.starts_with(char::is_uppercase)
        && word.len() > 1
        && word.bytes().all(|sign| matches!(sign, b'I' | b'V' | b'X'));
    let value = roman(word).filter(|_| is_named || is_name);
    let spelled =
        || cardinal(word).filter(|_| is_named && !word.starts_with(|it: char| it.is_ascii_digit()));
    Some((before, value.or_else(spelled)?, word))
}

/// A number from 1 to 20, in words or digits.
fn cardinal(word: &str) -> Option<u64> {
    const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
                         sixteen seventeen eighteen nineteen twenty";
    word.parse().ok().or_else(|| Some(index(WORDS, &word.to_lowercase())? + 1))
}

/// The value of a Roman numeral in capitals.
fn roman(word: &str) -> Option<u64> {
    const DIGITS: [(&str, u64); 13] = [
        ("M", 1000),
        ("CM", 900),
        ("D", 500),
        ("CD", 400),
        ("C", 100),
        ("XC", 90),
        ("L", 50),
        ("XL", 40),
        ("X", 10),
        ("IX", 9),
        ("V", 5),
        ("IV", 4),
        ("I", 1),
    ];
    let (mut rest, mut value) = (word, 0);
    for (digit, worth) in DIGITS {
        let most = if matches!(worth, 1 | 10 | 100 | 1000) { 3 } else { 1 };
        for _ in 0..most {
            let Some(next) = rest.strip_prefix(digit) else { break };
            (rest, value) = (next, value + worth);
        }
    }
    (rest.is_empty() && value > 0).then_some(value)
}

fn in_digits(word: &str, suffixes: &[&str]) -> Option<u64> {
    let digits = suffixes.iter().find_map(|suffix| word.strip_suffix(suffix))?;
    digits.replace(',', "").parse().ok()
}

fn is_month(word: &str) -> bool {
    MONTHS.contains(&word)
}

/// The place of a word in a list.
fn index(list: &str, word: &str) -> Option<u64> {
    list.split_whitespace().position(|one| one == word).and_then(|place| u64::try_from(place).ok())
}
