//! Units of measurement and money, by the ways they are written.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::scan::is_letter;

/// A unit: its name, signs that are written as they are, and words in any case; the last are
/// parts of names of columns only.
struct UnitSpellings(&'static str, &'static str, &'static str, &'static str);

/// The same, split: each text is compared with hundreds of spellings.
struct SplitSpellings {
    unit: &'static str,
    signs: Vec<&'static str>,
    words: Vec<&'static str>,
    names: Vec<&'static str>,
}

static SPLIT: LazyLock<Vec<SplitSpellings>> = LazyLock::new(|| {
    let list = |list: &'static str| list.split('|').filter(|alias| !alias.is_empty()).collect();
    let split = |UnitSpellings(unit, signs, words, names): &UnitSpellings| SplitSpellings {
        unit,
        signs: list(signs),
        words: list(words),
        names: list(names),
    };
    UNITS.iter().map(split).collect()
});

/// One way to write a unit: the index of the unit, the way, and whether it may be in any case.
type Spelling = (usize, &'static str, bool);

/// The same by their first character, of which a text can have but two.
static BY_FIRST: LazyLock<HashMap<char, Vec<Spelling>>> = LazyLock::new(|| {
    let mut found: HashMap<char, Vec<Spelling>> = HashMap::new();
    for (index, SplitSpellings { signs, words, .. }) in SPLIT.iter().enumerate() {
        let signs = signs.iter().map(|sign| (index, *sign, false));
        for spelling in signs.chain(words.iter().map(|word| (index, *word, true))) {
            found.entry(spelling.1.chars().next().unwrap_or_default()).or_default().push(spelling);
        }
    }
    found
});

const UNITS: &[UnitSpellings] = &[
    UnitSpellings(
        "mm",
        "mm",
        "millimetre|millimetres|millimeter|millimeters|millimètres|milímetros|millimetri",
        "",
    ),
    UnitSpellings(
        "cm",
        "cm",
        "centimetre|centimetres|centimeter|centimeters|zentimeter|centimètres|centímetros",
        "",
    ),
    UnitSpellings(
        "m",
        "m",
        "metre|metres|meter|meters|metern|mètre|mètres|metro|metros|metri",
        "m",
    ),
    UnitSpellings(
        "km",
        "km",
        "kilometre|kilometres|kilometer|kilometers|kilometern|kilomètres|kilómetros|chilometri",
        "",
    ),
    UnitSpellings("inch", "″", "inch|inches|zoll", "in"),
    UnitSpellings("ft", "ft", "foot|feet|fuß", ""),
    UnitSpellings("yd", "yd", "yard|yards", ""),
    UnitSpellings("mi", "mi", "mile|miles|meile|meilen|millas", ""),
    UnitSpellings(
        "m2",
        "m²|m2|sqm|qm",
        "square metre|square metres|square meter|square meters|quadratmeter|mètres carrés|metros cuadrados",
        "",
    ),
    UnitSpellings(
        "km2",
        "km²|km2",
        "square kilometre|square kilometres|square kilometer|square kilometers|quadratkilometer",
        "",
    ),
    UnitSpellings("ha", "ha", "hectare|hectares|hektar", ""),
    UnitSpellings(
        "m3",
        "m³|m3",
        "cubic metre|cubic metres|cubic meter|cubic meters|kubikmeter",
        "",
    ),
    UnitSpellings("l", "l|L", "litre|litres|liter|liters|litern|litros|litri", "l"),
    UnitSpellings("ml", "ml|mL", "millilitre|millilitres|milliliter|milliliters", ""),
    UnitSpellings("gal", "gal", "gallon|gallons", ""),
    UnitSpellings("mg", "mg", "milligram|milligrams|milligramm", ""),
    UnitSpellings("g", "g", "gram|grams|gramme|grammes|gramm|gramos|grammi", "g"),
    UnitSpellings("kg", "kg", "kilogram|kilograms|kilo|kilos|kilogramm|kilogrammes|kilogramos", ""),
    UnitSpellings("t", "t", "tonne|tonnes|ton|tons|tonnen|toneladas", "t"),
    UnitSpellings("lb", "lb|lbs", "pound|pounds", ""),
    UnitSpellings("oz", "oz", "ounce|ounces", ""),
    UnitSpellings("ms", "ms", "millisecond|milliseconds|millisekunden", ""),
    UnitSpellings(
        "s",
        "s",
        "sec|secs|second|seconds|sekunde|sekunden|seconde|secondes|segundos|secondi",
        "s",
    ),
    UnitSpellings("min", "min", "mins|minute|minutes|minuten|minutos|minuti", ""),
    UnitSpellings("h", "h", "hr|hrs|hour|hours|stunde|stunden|heure|heures|hora|horas", "h"),
    UnitSpellings("d", "", "day|days|tag|tage|tagen|jour|jours|día|días|giorni|giorno", "d"),
    UnitSpellings(
        "week",
        "",
        "week|weeks|woche|wochen|semaine|semaines|semana|semanas|settimane",
        "",
    ),
    UnitSpellings("month", "", "month|months|monat|monate|monaten|mois|meses|mesi", ""),
    UnitSpellings(
        "year",
        "",
        "year|years|yr|yrs|jahr|jahre|jahren|ans|année|années|año|años|anni",
        "age|alter|edad",
    ),
    UnitSpellings(
        "°C",
        "°C|ºC|℃|° C",
        "celsius|degree celsius|degrees celsius|degrees c|degc|grad celsius|degrés celsius|grados celsius",
        "c",
    ),
    UnitSpellings(
        "°F",
        "°F|ºF|℉|° F",
        "fahrenheit|degree fahrenheit|degrees fahrenheit|degrees f|degf|grad fahrenheit",
        "f",
    ),
    UnitSpellings("K", "", "kelvin|kelvins", ""),
    UnitSpellings("°", "°|º", "degree|degrees|deg|grad|degrés|grados|gradi", ""),
    UnitSpellings(
        "km/h",
        "km/h|kmh|kph",
        "kilometres per hour|kilometers per hour|stundenkilometer",
        "",
    ),
    UnitSpellings("mph", "mph", "miles per hour", ""),
    UnitSpellings("m/s", "m/s", "metres per second|meters per second", ""),
    UnitSpellings("W", "W", "watt|watts", "w"),
    UnitSpellings("kW", "kW", "kilowatt|kilowatts", ""),
    UnitSpellings("MW", "MW", "megawatt|megawatts", ""),
    UnitSpellings("kWh", "kWh", "kilowatt hours|kilowatt-hours|kilowattstunden", ""),
    UnitSpellings("MWh", "MWh", "megawatt hours|megawatt-hours", ""),
    UnitSpellings("V", "V", "volt|volts", ""),
    UnitSpellings("Hz", "Hz", "hertz", ""),
    UnitSpellings("hPa", "hPa", "hectopascal|hectopascals", ""),
    UnitSpellings("kcal", "kcal", "calorie|calories|kilocalories|kalorien", ""),
    UnitSpellings("B", "", "byte|bytes", ""),
    UnitSpellings("kB", "kB|KB|KiB", "kilobyte|kilobytes", ""),
    UnitSpellings("MB", "MB|MiB", "megabyte|megabytes", ""),
    UnitSpellings("GB", "GB|GiB", "gigabyte|gigabytes", ""),
    UnitSpellings("EUR", "€", "eur|euro|euros", ""),
    UnitSpellings("USD", "$|US$", "usd|dollar|dollars|dólares|us dollars", ""),
    UnitSpellings("GBP", "£", "gbp|pound|pounds|pounds sterling|pfund", ""),
    UnitSpellings("JPY", "¥", "jpy|yen", ""),
    UnitSpellings("CHF", "", "chf|franken|swiss francs", ""),
    UnitSpellings("INR", "₹", "inr|rupee|rupees", ""),
    UnitSpellings("%", "%", "percent|per cent|prozent|pour cent|por ciento|per cento", "pct|perc"),
];

/// The unit of percentages.
pub(super) const PERCENT: &str = "%";

/// The unit that a text begins with, by all its names, and the length of the way it is written.
pub(super) fn unit_at(text: &str) -> Option<(Vec<&'static str>, usize)> {
    let first = text.chars().next()?;
    let lower = first.to_lowercase().next().filter(|lower| *lower != first);
    let spellings = [Some(first), lower].into_iter().flatten();
    let spellings = spellings.filter_map(|first| BY_FIRST.get(&first)).flatten();
    let fitting = spellings.filter(|(_, alias, any_case)| begins(text, alias, *any_case));
    let found: Vec<Spelling> = fitting.copied().collect();
    let length = found.iter().map(|(_, alias, _)| alias.len()).max()?;
    let longest = found.iter().filter(|(_, alias, _)| alias.len() == length);
    let mut units: Vec<usize> = longest.map(|(unit, ..)| *unit).collect();
    units.sort_unstable();
    units.dedup();
    let name = |unit: usize| SPLIT.get(unit).map(|spellings| spellings.unit);
    Some((units.into_iter().filter_map(name).collect(), length))
}

/// The units that a text mentions by a word or a sign of more than one letter.
pub(super) fn units_in(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let (bytes, lower_bytes) = (PresentBytes::new(text), PresentBytes::new(&lower));
    let mentions = |spellings: &&SplitSpellings| {
        let is_long = |alias: &str| alias.chars().nth(1).is_some() || !alias.is_ascii();
        let has_sign = |sign: &&str| {
            let is_free_sign = is_long(sign) && contains(text, sign);
            is_free_sign || "$%".contains(*sign) && text.contains(*sign)
        };
        spellings.signs.iter().filter(|sign| bytes.has_all(sign)).any(has_sign)
            || spellings
                .words
                .iter()
                .any(|word| lower_bytes.has_all(word) && contains(&lower, word))
    };
    SPLIT.iter().filter(mentions).map(|spellings| spellings.unit).collect()
}

/// The units that the name of a column has as parts: `temp_c`, `Weight [kg]`.
pub(super) fn units_of_name(name: &str) -> Vec<&'static str> {
    let spaced = name.replace('_', " ");
    let mut units = units_in(&spaced);
    let lower = spaced.to_lowercase();
    let parts =
        || lower.split(|sign: char| !sign.is_alphanumeric()).filter(|part| !part.is_empty());
    let has_several = parts().nth(1).is_some();
    for SplitSpellings { unit, signs, words, names } in &*SPLIT {
        let known = || signs.iter().chain(words).chain(names);
        let named = parts().any(|part| {
            let is_whole = !has_several && part.len() < 2;
            !is_whole && known().any(|alias| alias.to_lowercase() == part)
        });
        if named && !units.contains(unit) {
            units.push(*unit);
        }
    }
    units
}

/// Whether a unit counts as known where `known` is: degrees Celsius are degrees.
pub(super) fn implies(known: &str, unit: &str) -> bool {
    known == unit || unit == "°" && known.starts_with('°')
}

/// The bytes that a text has, which rule most spellings out before they are searched for.
struct PresentBytes([bool; 256]);

impl PresentBytes {
    fn new(text: &str) -> Self {
        let mut present = [false; 256];
        for byte in text.bytes() {
            if let Some(known) = present.get_mut(usize::from(byte)) {
                *known = true;
            }
        }
        Self(present)
    }

    fn has_all(&self, alias: &str) -> bool {
        alias.bytes().all(|byte| self.0.get(usize::from(byte)).is_some_and(|known| *known))
    }
}

/// Whether a text begins with an alias, and no letter follows it.
fn begins(text: &str, alias: &str, any_case: bool) -> bool {
    let Some(start) = text.get(..alias.len()) else { return false };
    let same = start == alias || any_case && is_in_lower_case(start, alias);
    if !same {
        return false;
    }
    let next = text.get(alias.len()..).and_then(|rest| rest.chars().next());
    let is_word = alias.ends_with(char::is_alphanumeric);
    !(is_word && next.is_some_and(char::is_alphanumeric))
}

/// Whether a text in lower case is this word. Most texts are plain, and differ.
fn is_in_lower_case(text: &str, word: &str) -> bool {
    if text.is_ascii() {
        return text.bytes().map(|byte| byte.to_ascii_lowercase()).eq(word.bytes());
    }
    text.chars().flat_map(char::to_lowercase).eq(word.chars())
}

/// Whether a text contains a phrase with no letter before or after it.
pub(super) fn contains(text: &str, phrase: &str) -> bool {
    let is_free = |sign: Option<char>| sign.is_none_or(|sign| !is_letter(sign));
    text.match_indices(phrase).any(|(start, found)| {
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let after = text.get(start + found.len()..).and_then(|text| text.chars().next());
        let (first, last) = (phrase.chars().next(), phrase.chars().next_back());
        let opens =
            is_free(first) || is_free(before) || before.is_some_and(|it| it.is_ascii_digit());
        opens && (is_free(last) || is_free(after))
    })
}
