//! What a question asks for, as far as its words tell: a number, a cell of a column, a person.
//! Words that it does not know, and questions that ask for several things, tell nothing.

use super::code_text::numbers;
use super::column_name::stands_for;
use super::input_table::TableColumn;

/// Words of a question in lower case, and its other signs.
#[derive(Debug)]
pub(super) struct QuestionForm {
    words: Vec<String>,
    numbers: Vec<f64>,
}

/// Names what a question asks for: `the loan number`.
const NAMING: &str = "give state name return show tell report";
const FILLERS: &str = "me us just only please the a an its their his her that this";
/// What ends a name: `the plate of the vehicle`.
const ENDS: &str = "in on of as with for to from by at per that which who whose where when if and or \
    is are was were be been has have had does do did can could will would should may not without \
    the a an most least more less than its their . , ; : ? ! ( )";
/// What is computed instead of read from a cell.
const COMPUTED: &str = "difference total sum mean average median count share percentage percent \
    ratio proportion fraction result answer value values increase decrease change growth rate \
    rank range group groups bracket band bin decile quartile decade century generation year years \
    month months day days week weekday weekdays weekend quarter quarters hour hours minute minutes \
    time period season initial letter letters word words pair pairs combination correlation \
    deviation variance list number_of rows columns column row data type_of amount";
/// What asks for a number, in the languages that antiphon reads numbers of.
const COUNTED: [&str; 12] = [
    "how many",
    "how much",
    "wie viele",
    "wie viel",
    "wieviele",
    "wieviel",
    "combien",
    "cuántos",
    "cuántas",
    "cuánto",
    "quanti",
    "quante",
];
const STATISTICS: &str = "mean average median total sum percentage difference ratio";

impl QuestionForm {
    pub(super) fn of(question: &str) -> Self {
        let mut words = Vec::new();
        let mut word = String::new();
        for sign in question.to_lowercase().chars().chain([' ']) {
            if sign.is_alphanumeric() || sign == '_' {
                word.push(sign);
                continue;
            }
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if ".,;:?!()".contains(sign) {
                words.push(sign.to_string());
            }
        }
        Self { words, numbers: numbers(question) }
    }

    /// The columns that can hold what is asked for: the answer is a cell of one of them. None if
    /// the question asks for no cell, or names no column.
    pub(super) fn asked_columns<'c>(&self, columns: &[&'c TableColumn]) -> Vec<&'c str> {
        // `Which flat …? Give the number of its ad` asks for no flat.
        let phrases =
            if self.starts(|word| is_in(word, NAMING)) { self.given() } else { self.chosen() };
        let mut asked = Vec::new();
        for phrase in &phrases {
            let held = held(phrase, columns);
            if held.is_empty() {
                return Vec::new();
            }
            asked.extend(held);
        }
        asked
    }

    /// Whether a number is asked for, and nothing else.
    pub(super) fn asks_for_number(&self) -> bool {
        // `A link between how many hours …` asks for none.
        let counts = (0..self.words.len()).filter(|at| self.is_start(*at)).any(|at| {
            let rest = self.words.get(at..).unwrap_or_default().join(" ");
            COUNTED.iter().any(|counted| format!("{rest} ").starts_with(&format!("{counted} ")))
        });
        (counts || self.asks_for_statistic()) && !self.asks_for_cell() && !self.asks_for_person()
    }

    /// Whether a single thing is asked for: `which vehicle`, `its plate`.
    pub(super) fn asks_for_one(&self) -> bool {
        const SEVERAL: &str = "each every per by individual broken all both respectively list rank \
            order sort top and nach selon según \
            jede jeder jedes jeden je pro alle chaque par tous toutes cada por todos todas";
        let is_several = self.words.iter().any(|word| is_in(word, SEVERAL) || is_count(word));
        let named = self.given().into_iter().chain(self.chosen());
        let is_single = named.flatten().all(is_singular);
        let is_asked = self.asks_for_cell() || self.asks_for_number() || self.asks_for_time();
        !is_several && is_single && is_asked
    }

    /// Whether it asks for a single month, year or the like, which is seldom a cell.
    fn asks_for_time(&self) -> bool {
        const TIMES: &str = "month year day week weekday quarter hour season decade date";
        let mut pairs = self.words.iter().zip(self.words.iter().skip(1)).enumerate();
        pairs.any(|(at, (word, next))| {
            is_in(word, "which what") && is_in(next, TIMES) && self.is_start(at)
        })
    }

    /// Whether it begins with `who`.
    pub(super) fn asks_for_person(&self) -> bool {
        self.starts(|word| matches!(word, "who" | "whom"))
    }

    /// Whether a difference is asked for.
    pub(super) fn asks_by_how_much(&self) -> bool {
        const PHRASES: [&str; 14] = [
            "difference between",
            "difference in",
            "by how much",
            "by how many",
            "how many more",
            "how much more",
            "how many fewer",
            "how much less",
            "unterschied zwischen",
            "differenz zwischen",
            "um wie viel",
            "différence entre",
            "diferencia entre",
            "differenza tra",
        ];
        const COMPARED: [&str; 12] = [
            "higher", "lower", "older", "younger", "longer", "shorter", "taller", "heavier",
            "larger", "smaller", "cheaper", "warmer",
        ];
        let text = self.words.join(" ");
        let compares =
            |one: &str| has_phrase(&text, &format!("how much {one}")) && has_phrase(&text, "than");
        let exceeds = has_phrase(&text, "combien") && has_phrase(&text, "dépasse");
        exceeds
            || PHRASES.iter().any(|phrase| has_phrase(&text, phrase))
            || COMPARED.iter().any(|one| compares(one))
    }

    /// Whether the longest or shortest time is asked for.
    pub(super) fn asks_for_duration(&self) -> bool {
        let text = self.words.join(" ");
        ["longest time", "shortest time", "longest duration", "longest period", "longest stay"]
            .iter()
            .any(|phrase| has_phrase(&text, phrase))
    }

    /// Whether a share is asked for.
    pub(super) fn asks_for_share(&self) -> bool {
        const PHRASES: [&str; 15] = [
            "what percentage",
            "which percentage",
            "what percent",
            "how many percent",
            "what share",
            "which share",
            "what proportion",
            "what fraction",
            "the percentage of",
            "as a percentage",
            "wie viel prozent",
            "welcher anteil",
            "quel pourcentage",
            "qué porcentaje",
            "che percentuale",
        ];
        let text = self.words.join(" ");
        PHRASES.iter().any(|phrase| has_phrase(&text, phrase))
    }

    /// Whether it counts different values.
    pub(super) fn counts_distinct(&self) -> bool {
        const PHRASES: [&str; 6] = [
            "how many different",
            "how many distinct",
            "how many unique",
            "wie viele verschiedene",
            "combien de différents",
            "cuántos diferentes",
        ];
        let text = self.words.join(" ");
        PHRASES.iter().any(|phrase| has_phrase(&text, phrase))
    }

    /// The place in an order that is asked for, from 2: `the third-highest`.
    pub(super) fn place(&self) -> Option<u32> {
        const PLACES: [(&str, &str, u32); 6] = [
            ("second", "2nd", 2),
            ("third", "3rd", 3),
            ("fourth", "4th", 4),
            ("fifth", "5th", 5),
            ("sixth", "6th", 6),
            ("seventh", "7th", 7),
        ];
        let place_of = |word: &str| {
            let found = PLACES.iter().find(|(name, digits, _)| word == *name || word == *digits);
            found.map(|(_, _, place)| *place)
        };
        let mut pairs = self.words.iter().zip(self.words.iter().skip(1));
        pairs.find_map(|(word, next)| place_of(word).filter(|_| is_superlative(next)))
    }

    /// What is asked for by a name, in words: `the price`, `profit` of `how much profit`. None
    /// where rows are counted, or where the question is not English.
    pub(super) fn asked_name(&self) -> Option<Vec<&str>> {
        const SKIPPED: &str =
            "the its their highest lowest maximum minimum mean average median total sum of all";
        const PLAIN: &str = "money it they one many more less name names number date first last";
        let at = (0..self.words.len()).find(|at| self.is_start(*at) && self.asks_by_name(*at))?;
        let rest = self.words.get(at + 2..).unwrap_or_default().iter().map(String::as_str);
        let name: Vec<&str> = rest
            .skip_while(|word| is_in(word, SKIPPED))
            .take_while(|word| !is_in(word, ENDS))
            .take(3)
            .collect();
        // `The oldest person` names a row.
        let is_plain =
            |word: &&str| is_in(word, COMPUTED) || is_in(word, PLAIN) || is_superlative(word);
        (!name.is_empty() && !name.iter().any(is_plain)).then_some(name)
    }

    /// `what was the …`, `who is the …`, and `how much …`.
    fn asks_by_name(&self, at: usize) -> bool {
        let word = |at: usize| self.words.get(at).map_or("", String::as_str);
        let is_the = is_in(word(at + 1), "is was are were") && word(at + 2) == "the";
        is_in(word(at), "what who") && is_the
            || word(at) == "how" && word(at + 1) == "much" && !is_in(word(at + 2), ENDS)
    }

    /// Whether it compares two values, so that a percentage may be above 100 or below 0.
    pub(super) fn compares(&self) -> bool {
        self.has_any(
            "change changed increase increased decrease decreased grow grew growth rise rose fall \
             fell more less higher lower larger smaller exceed exceeds exceeded than",
        )
    }

    /// The numbers that values are compared with: `above 50`, `more than 1,500`.
    pub(super) fn thresholds(question: &str) -> Vec<f64> {
        const BEFORE: [&str; 14] = [
            "more than",
            "less than",
            "fewer than",
            "higher than",
            "lower than",
            "greater than",
            "larger than",
            "smaller than",
            "over",
            "above",
            "below",
            "under",
            "at least",
            "at most",
        ];
        let lower = question.to_lowercase();
        let following = BEFORE.iter().flat_map(|before| {
            let before = format!(" {before} ");
            let ends = lower.match_indices(&before).map(|(at, _)| at + before.len());
            ends.collect::<Vec<_>>()
        });
        let rests = following.filter_map(|end| lower.get(end..));
        let rests = rests.map(|rest| rest.trim_start_matches(['$', '€', '£']));
        let rests = rests.filter(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()));
        rests.filter_map(|rest| numbers(rest).first().copied()).collect()
    }

    /// The numbers in the question.
    pub(super) fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Whether it has one of these words.
    pub(super) fn has_any(&self, words: &str) -> bool {
        self.words.iter().any(|word| is_in(word, words))
    }

    fn asks_for_cell(&self) -> bool {
        !self.given().is_empty() || !self.chosen().is_empty()
    }

    fn asks_for_statistic(&self) -> bool {
        let mut triples =
            self.words.iter().zip(self.words.iter().skip(1)).zip(self.words.iter().skip(2));
        triples.any(|((what, is), the)| {
            what == "what" && matches!(&**is, "is" | "was" | "are") && the == "the"
        }) && self
            .words
            .iter()
            .position(|word| word == "what")
            .is_some_and(|at| self.words.get(at + 3).is_some_and(|word| is_in(word, STATISTICS)))
    }

    /// Whether a clause begins with such a word, or with a preposition before it.
    fn starts(&self, is_it: impl Fn(&str) -> bool) -> bool {
        self.words.iter().enumerate().any(|(at, word)| is_it(word) && self.is_start(at))
    }

    fn is_start(&self, at: usize) -> bool {
        let before = |distance: usize| at.checked_sub(distance).and_then(|at| self.words.get(at));
        let ends = |word: Option<&String>| {
            word.is_none_or(|word| {
                word.chars().all(|sign| !sign.is_alphanumeric()) || word == "and"
            })
        };
        ends(before(1))
            || before(1).is_some_and(|word| is_in(word, "in on of for from by at to"))
                && ends(before(2))
    }

    /// What `give its …` names.
    fn given(&self) -> Vec<Vec<&str>> {
        let mut found = Vec::new();
        for (at, _) in self
            .words
            .iter()
            .enumerate()
            .filter(|(at, word)| is_in(word, NAMING) && self.is_start(*at))
        {
            found.extend(self.phrase(at + 1));
        }
        found
    }

    /// What `which …` and `what …` ask to choose from.
    fn chosen(&self) -> Vec<Vec<&str>> {
        const CHOICES: &str = "which what welche welcher welches quel quelle qué cuál";
        let mut found = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            if !is_in(word, CHOICES) || !self.is_start(at) {
                continue;
            }
            let next = |distance: usize| self.words.get(at + distance).map_or("", String::as_str);
            let of_them = next(1) == "of" && is_in(next(2), "the these those all its");
            let is_name = is_in(next(1), "is was") && next(2) == "the" && next(3) == "name";
            if of_them || is_name {
                found.extend(self.phrase(at + 2));
            } else if !is_in(next(1), ENDS) {
                found.extend(self.phrase(at + 1));
            }
        }
        found
    }

    /// The words of a name that begins here; `the name of the month` is one of `month`.
    fn phrase(&self, from: usize) -> Option<Vec<&str>> {
        let rest = self.words.get(from..).unwrap_or_default();
        let rest = rest.iter().map(String::as_str).skip_while(|word| is_in(word, FILLERS));
        let rest: Vec<&str> = rest.collect();
        let mut words: Vec<&str> =
            rest.iter().copied().take_while(|word| !is_in(word, ENDS)).take(4).collect();
        let follows = |word: &str| rest.get(words.len()) == Some(&word);
        if matches!(*words, ["name" | "names"]) && follows("of") {
            let owner = rest.iter().copied().skip(2).skip_while(|word| is_in(word, FILLERS));
            words = owner.take_while(|word| !is_in(word, ENDS)).take(4).collect();
        } else if matches!(*words, ["number" | "type" | "kind"]) && follows("of") {
            return None;
        }
        let is_computed = words.iter().any(|word| is_in(word, COMPUTED) || is_count(word));
        (!words.is_empty() && !is_computed && !matches!(*words, ["one" | "ones"])).then_some(words)
    }
}

/// The columns that match all words of a name, else those that match one of the first two: `flat
/// becomes free` goes on with a verb.
fn held<'c>(phrase: &[&str], columns: &[&'c TableColumn]) -> Vec<&'c str> {
    let matching = |is_enough: &dyn Fn(&str) -> bool| {
        let found = columns.iter().map(|column| &*column.name).filter(|name| is_enough(name));
        found.collect::<Vec<&str>>()
    };
    let all = matching(&|name| phrase.iter().all(|word| stands_for(word, name)));
    if all.is_empty() {
        matching(&|name| phrase.iter().take(2).any(|word| stands_for(word, name)))
    } else {
        all
    }
}

fn is_in(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// Whether a text has these words one after the other.
fn has_phrase(text: &str, phrase: &str) -> bool {
    format!(" {text} ").contains(&format!(" {phrase} "))
}

fn is_superlative(word: &str) -> bool {
    const IRREGULAR: &str = "most least best worst";
    is_in(word, IRREGULAR) || word.len() > 4 && word.ends_with("est")
}

/// Whether a word says how many are asked for.
fn is_count(word: &str) -> bool {
    is_in(word, "two three four five six seven eight nine ten several")
        || word.parse::<u32>().is_ok_and(|count| (2..=99).contains(&count))
}

/// Whether an English noun, by its end, names a single thing.
fn is_singular(word: &str) -> bool {
    !word.ends_with('s') || word.ends_with("ss") || word.ends_with("us") || word.ends_with("is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_may_have_a_name() {
        let name = |question: &str| QuestionForm::of(question).asked_name().map(|it| it.join(" "));
        for (question, expected) in [
            ("Who is the author of the book of loan 305?", Some("author")),
            ("What was the highest humidity?", Some("humidity")),
            ("How much profit was made with all orders?", Some("profit")),
            ("What is the mean age of the customers?", Some("age")),
            ("What is the oldest vehicle?", None),
            ("Who is the oldest person?", None),
            ("How many employees earn more than 50?", None),
            ("How heavy are they?", None),
            ("How much did it cost?", None),
            ("What is the total number of orders?", None),
        ] {
            assert_eq!(name(question).as_deref(), expected, "{question}");
        }
    }

    #[test]
    fn a_question_tells_the_columns_of_its_answer() {
        let columns = ["Ad", "free from", "Order No.", "region", "price"];
        let columns = columns.map(|name| TableColumn { name: name.to_owned(), missing: 0 });
        let columns: Vec<&TableColumn> = columns.iter().collect();
        for (question, expected) in [
            ("Which region sold most?", &["region"] as &[_]),
            ("Which order number came first?", &["Order No."]),
            ("Which order is the dearest? Give its price.", &["price"]),
            ("Which flat becomes free last?", &[]),
            ("Which region is it? Give the number of its ad.", &[]),
        ] {
            assert_eq!(QuestionForm::of(question).asked_columns(&columns), expected, "{question}");
        }
    }

    #[test]
    fn a_question_tells_the_place_and_the_form_of_its_answer() {
        let form = QuestionForm::of;
        assert_eq!(form("Which is the third-highest peak?").place(), Some(3));
        assert_eq!(form("Which is the 2nd most expensive?").place(), Some(2));
        assert_eq!(form("What happened in the second quarter?").place(), None);
        assert!(form("What is the mean price?").asks_for_number());
        assert!(form("¿Cuántas personas trabajan?").asks_for_number());
        assert!(!form("What is the highest price?").asks_for_number());
        assert!(!form("How many are there? Give the name of the largest.").asks_for_number());
        assert!(form("Who won?").asks_for_person());
        assert!(!form("How many people who won are old?").asks_for_person());
        assert_eq!(form("Over 1,500.5 km and 3 days").numbers(), [1500.5, 3.0]);
    }
}
