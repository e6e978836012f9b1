//! The words of a text: those that say something, names, and how much two texts share.

use std::collections::BTreeSet;
use std::sync::LazyLock;

const STOP: &str = "a about above after again against all also although am an and any are as at be because been \
    before being below between both but by can could did do does doing down during each even few for from further \
    had has have having he her here hers him his how however i if in into is it its itself just may might more most \
    much must my no nor not of off on once only or other our ours out over own per same she should since so some such \
    than that the their theirs them then there these they this those through thus to too under until up upon us very \
    was we were what when where which while who whom why will with within without would you your yours according \
    including around among \
    der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden wurde wurden mit \
    von vom zu zum zur im in auf für bei nach aus dass nicht auch als wie um es sie er wir ihr so sich hat haben \
    le la les un une des du de et ou est sont était étaient dans sur pour par avec que qui ne pas ce cette aux au \
    el los las una unos unas y o es son fue eran en con por para que no se su sus del al lo";

/// Looked up for each word of each text.
static STOP_WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| STOP.split_whitespace().collect());

/// A word with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedWord<'t> {
    pub(crate) text: &'t str,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Runs of letters and digits. Points and commas between digits belong to a number; signs of scripts
/// without spaces are words of one sign.
pub(crate) fn words(text: &str) -> Vec<PlacedWord<'_>> {
    let mut found: Vec<PlacedWord<'_>> = Vec::new();
    let mut start = None;
    let mut put = |from: usize, until: usize| {
        if let Some(word) = text.get(from..until) {
            found.push(PlacedWord { text: word, start: from, end: until });
        }
    };
    let mut signs = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, sign)) = signs.next() {
        let next = signs.peek().map_or(' ', |(_, next)| *next);
        let in_number =
            matches!(sign, '.' | ',') && before.is_ascii_digit() && next.is_ascii_digit();
        let in_word = matches!(sign, '\'' | '’') && before.is_alphabetic() && next.is_alphabetic();
        let is_part = (sign.is_alphanumeric() && !is_ideograph(sign)) || in_number || in_word;
        match (start, is_part) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                put(from, at);
                start = None;
            }
            _ => {}
        }
        if is_ideograph(sign) {
            put(at, at + sign.len_utf8());
        }
        before = sign;
    }
    if let Some(from) = start {
        put(from, text.len());
    }
    found
}

/// Signs that are written without spaces between words.
pub(crate) const fn is_ideograph(sign: char) -> bool {
    matches!(sign, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

pub(crate) fn is_stop_word(word: &str) -> bool {
    let lower = word.to_lowercase();
    STOP_WORDS.contains(lower.as_str())
}

/// A word as it is compared: in lower case, without the ending of a possessive or a plural.
pub(crate) fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    let bare = lower.strip_suffix("'s").or_else(|| lower.strip_suffix("’s")).unwrap_or(&lower);
    let is_plural = bare.chars().count() > 3 && bare.ends_with('s') && !bare.ends_with("ss");
    if is_plural { bare.trim_end_matches('s').to_owned() } else { bare.to_owned() }
}

/// The words that say something, each once, as they are compared.
pub(crate) fn content_words(text: &str) -> BTreeSet<String> {
    let says = |word: &str| {
        let is_long = word.chars().nth(1).is_some() || word.chars().all(is_ideograph);
        (is_long || word.chars().all(char::is_numeric)) && !is_stop_word(word)
    };
    words(text).into_iter().filter(|word| says(word.text)).map(|word| stem(word.text)).collect()
}

/// The names in a sentence: capital words. The first word counts only if it is no common word.
pub(crate) fn names(sentence: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (place, word) in words(sentence).into_iter().enumerate() {
        let mut signs = word.text.chars();
        let is_capital = signs.next().is_some_and(char::is_uppercase);
        let is_acronym =
            signs.clone().next().is_some() && word.text.chars().all(char::is_uppercase);
        let counts = is_acronym || is_capital && place > 0 && word.text.chars().nth(1).is_some();
        if counts && !is_stop_word(word.text) && !MONTHS.contains(&&*word.text.to_lowercase()) {
            found.insert(stem(word.text));
        }
    }
    found
}

pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The periods that a text names: years, also fiscal ones, quarters and halves of them.
pub(crate) fn periods(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let all = words(text);
    for (place, word) in all.iter().enumerate() {
        let word = word.text.to_lowercase();
        let after = |steps: usize| all.get(place + steps).map(|it| it.text.to_lowercase());
        let next = after(1).unwrap_or_default();
        found.extend(period(&word));
        // `fiscal 2023`, `FY 2023`, `fiscal year 2023`
        if matches!(&*word, "fiscal" | "fy") {
            let year = if next == "year" { after(2).unwrap_or_default() } else { next.clone() };
            found.extend(is_year(&year).then(|| format!("fy{year}")));
        }
        if let Some(number) = quarter_number(&word) {
            match &*next {
                "quarter" | "quarters" | "quartal" | "trimestre" => {
                    found.insert(format!("q{number}"));
                }
                "half" | "halbjahr" | "semestre" => {
                    found.insert(format!("h{number}"));
                }
                _ => {}
            }
        }
    }
    found
}

/// The period that a word in lower case is by itself.
fn period(word: &str) -> Option<String> {
    let is_part = word.len() == 2
        && word.starts_with(['q', 'h'])
        && word.ends_with(|sign: char| sign.is_ascii_digit());
    if is_year(word) || is_part {
        return Some(word.to_owned());
    }
    let year = word.strip_prefix("fy").filter(|it| matches!(it.len(), 2 | 4))?;
    let is_number = year.bytes().all(|sign| sign.is_ascii_digit());
    is_number.then(|| if year.len() == 2 { format!("fy20{year}") } else { word.to_owned() })
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.parse::<u32>().is_ok_and(|year| (1500..=2100).contains(&year))
}

/// Which quarter or half of a year an ordinal may be of.
fn quarter_number(word: &str) -> Option<usize> {
    const WORDS: [&str; 4] = [
        "first 1st 1 erstes ersten 1er premier primer",
        "second 2nd 2 zweites zweiten 2e deuxième segundo",
        "third 3rd 3 drittes dritten 3e troisième tercer",
        "fourth 4th 4 viertes vierten 4e quatrième cuarto",
    ];
    let has = |row: &str| row.split(' ').any(|one| one == word);
    WORDS.iter().position(|row| has(row)).map(|place| place + 1)
}

/// How large a part of `own` is in `other`; 1 if there is nothing in `own`.
#[expect(clippy::cast_precision_loss, reason = "texts have few words")]
pub(crate) fn share(own: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    if own.is_empty() {
        return 1.0;
    }
    own.intersection(other).count() as f64 / own.len() as f64
}

/// What two sets have in common, as a part of both together.
#[expect(clippy::cast_precision_loss, reason = "texts have few words")]
pub(crate) fn jaccard(left: &BTreeSet<String>, right: &BTreeSet<String>) -> f64 {
    let both = left.union(right).count();
    if both == 0 { 0.0 } else { left.intersection(right).count() as f64 / both as f64 }
}
