//! How well a part answers a query: BM25 over title, headings and text, with the places of the words.

use crate::document::CharRange;

use super::snippet::WordMark;

/// What encloses words of the query in a marked text. The texts of documents have no control characters.
pub(super) const MARKS: (char, char) = ('\u{1}', '\u{2}');

/// Weight and usual length in characters of title, headings and text.
const FIELDS: [(f64, f64); 3] = [(1.6, 60.0), (3.0, 70.0), (1.0, 900.0)];

const SATURATION: f64 = 1.2;
const LENGTH_PENALTY: f64 = 0.6;

/// What a word counts that only other parts of the document have.
const AROUND: f64 = 0.5;

/// The words of a query, as ranking sees them.
pub(super) struct RankedWords {
    /// All words once, in lower case.
    pub(super) words: Vec<String>,
    /// How rare each is.
    pub(super) rarity: Vec<f64>,
    /// Words that followed each other in one term, such as the parts of a name, by their indices.
    pub(super) phrases: Vec<Vec<usize>>,
}

/// How well a part fits by itself, and which words of the query it has.
pub(super) struct ScoredPart {
    pub(super) value: f64,
    pub(super) words: Vec<bool>,
}

impl RankedWords {
    /// How rare a word is that so many of all parts have.
    #[expect(clippy::cast_precision_loss, reason = "counts of parts")]
    pub(super) fn rarity(having: usize, all: usize) -> f64 {
        let (having, all) = (having as f64, all.max(having) as f64);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    /// Reads a text in which words of the query are enclosed: the text, and where they stand.
    pub(super) fn read(&self, marked: &str) -> (String, Vec<WordMark>) {
        let mut text = String::with_capacity(marked.len());
        let mut marks = Vec::new();
        let mut open = None;
        let mut position = 0;
        for character in marked.chars() {
            if character == MARKS.0 {
                open = Some((position, text.len()));
            } else if character == MARKS.1 {
                let Some((start, byte)) = open.take() else { continue };
                let found = text.get(byte..).unwrap_or_default().to_lowercase();
                marks.push(WordMark {
                    range: CharRange { start, end: position },
                    word: self.closest(&found),
                });
            } else {
                text.push(character);
                position += 1;
            }
        }
        (text, marks)
    }

    /// The word of the query that a word with the same stem comes from.
    fn closest(&self, found: &str) -> usize {
        let common = |word: &String| {
            word.chars().zip(found.chars()).take_while(|(one, other)| one == other).count()
        };
        let score =
            |word: &String| (common(word), std::cmp::Reverse(word.len().abs_diff(found.len())));
        let best = self
            .words
            .iter()
            .enumerate()
            .max_by_key(|(index, word)| (score(word), std::cmp::Reverse(*index)));
        best.map_or(0, |(index, _)| index)
    }

    /// The score of a part by where the words stand in its title, headings and text; each with its length.
    pub(super) fn score(&self, fields: [(&[WordMark], usize); 3]) -> ScoredPart {
        let mut total = 0.0;
        let mut words = Vec::new();
        for (word, rarity) in self.rarity.iter().enumerate() {
            let frequency: f64 = fields
                .iter()
                .zip(FIELDS)
                .map(|(field, weights)| frequency(word, *field, weights))
                .sum();
            total += rarity * frequency * (SATURATION + 1.0) / (frequency + SATURATION);
            words.push(frequency > 0.0);
        }
        ScoredPart { value: total * self.closeness(fields.map(|(marks, _)| marks)), words }
    }

    /// A factor by the words that a part has, and those that other parts of its document have: what a section is
    /// about is often said around it.
    pub(super) fn coverage(&self, own: &[bool], around: &[bool]) -> f64 {
        let has = |words: &[bool], word: usize| words.get(word).copied().unwrap_or_default();
        let (mut covered, mut all) = (0.0, 0.0);
        for (word, rarity) in self.rarity.iter().enumerate() {
            all += rarity;
            covered += match (has(own, word), has(around, word)) {
                (true, _) => *rarity,
                (false, true) => AROUND * rarity,
                (false, false) => 0.0,
            };
        }
        0.35 + 0.65 * if all > 0.0 { covered / all } else { 0.0 }
    }

    /// Words that follow each other as in the query are worth more, most of all in a heading.
    fn closeness(&self, fields: [&[WordMark]; 3]) -> f64 {
        let [title, heading, body] = fields;
        let mut factor = 1.0;
        for phrase in &self.phrases {
            if follows(title, phrase) || follows(heading, phrase) {
                factor *= 1.5;
            } else if follows(body, phrase) {
                factor *= 1.2;
            }
        }
        let pairs = self.words.len().saturating_sub(1);
        let close = (0..pairs).filter(|first| {
            let pair = [*first, first + 1];
            follows(heading, &pair) || follows(body, &pair)
        });
        #[expect(clippy::cast_precision_loss, reason = "a few pairs")]
        let share = if pairs == 0 { 0.0 } else { close.count() as f64 / pairs as f64 };
        factor * (1.0 + 0.35 * share)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and characters")]
fn frequency(
    word: usize,
    (marks, length): (&[WordMark], usize),
    (weight, usual): (f64, f64),
) -> f64 {
    let count = marks.iter().filter(|mark| mark.word == word).count() as f64;
    weight * count / (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * length as f64 / usual)
}

/// Whether marks follow each other in this order, with at most three characters between them.
fn follows(marks: &[WordMark], words: &[usize]) -> bool {
    !words.is_empty()
        && marks.windows(words.len()).any(|window| {
            let in_order = window.iter().zip(words).all(|(mark, word)| mark.word == *word);
            let close = window.iter().zip(window.iter().skip(1));
            in_order
                && close
                    .into_iter()
                    .all(|(one, next)| next.range.start.saturating_sub(one.range.end) <= 3)
        })
}
