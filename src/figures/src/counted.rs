//! What is counted: nouns after a number, of which some mean the same.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::scan::TextToken;
use super::word_list::{lower, rows};

/// Rows of nouns with one meaning, by the first of them.
const NOUNS: &[&str] = &[
    "users user subscribers subscriber accounts account nutzer utilisateurs usuarios",
    "customers customer clients client kunden",
    "employees employee staff workers worker workforce mitarbeiter beschäftigte salariés empleados",
    "people persons person inhabitants inhabitant residents resident menschen einwohner \
     personnes personas",
    "countries country nations nation länder pays países",
    "states",
    "cities city towns town städte",
    "companies company firms firm businesses unternehmen",
    "stores store shops shop branches outlets filialen",
    "vehicles vehicle cars car fahrzeuge autos",
    "units unit devices device stück",
    "studies study trials trial studien",
    "patients patient patienten",
    "participants participant respondents respondent",
    "students student pupils schüler studenten",
    "schools school schulen",
    "deaths death fatalities tote",
    "cases case fälle",
    "species arten",
    "seats seat sitze",
    "rooms room zimmer",
    "books book bücher",
    "pages page seiten",
    "points point punkte",
    "votes vote stimmen",
    "parameters parameter",
    "tokens token",
    "layers layer",
    "cores core",
    "nodes node",
    "servers server",
    "aircraft planes plane flugzeuge",
    "ships ship vessels vessel schiffe",
];
static NOUN_ROWS: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| rows(NOUNS));

/// How many adjectives may stand before the noun.
const REACH: usize = 3;

/// What a number counts that ends before this token, by the name of its row.
pub(super) fn noun(tokens: &[TextToken<'_>], end: usize) -> Option<&'static str> {
    let rest = tokens.get(end..).unwrap_or_default();
    let mut words = rest.iter().take(REACH).map_while(TextToken::word);
    words.find_map(|word| row(&lower(word)))
}

fn row(word: &str) -> Option<&'static str> {
    NOUNS.get(*NOUN_ROWS.get(word)?)?.split_whitespace().next()
}
