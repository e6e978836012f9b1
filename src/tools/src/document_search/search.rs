//! Finds parts of documents.

use std::collections::{HashMap, HashSet};

use rusqlite::{CachedStatement, Connection, params};
use schemars::JsonSchema;
use serde::Serialize;
use twox_hash::XxHash3_64;

use crate::document::{CharRange, DocumentFormat};

use super::query::{ParsedQuery, QueryTerm};
use super::ranking::{MARKS, RankedWords};
use super::snippet::{WordMark, passage};

/// How many parts are ranked at most by each way of finding them.
const CANDIDATES: usize = 60;

/// If parts with all words are fewer, parts with some of them are looked at too.
const ENOUGH: usize = 20;

/// Words that are so frequent together are not looked for alone: they only count for the ranking.
const FREQUENT: usize = 20_000;

/// At most so many parts of one document come before parts of others.
const PER_DOCUMENT: usize = 3;

/// From this share of common sequences of words on, two parts say the same.
const ALIKE: f64 = 0.8;

/// What to look for, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentQuery {
    /// Any text.
    pub text: String,
    /// The most results.
    pub limit: usize,
    /// Only documents whose path is this one, lies below it, or matches it as a pattern with `*` and `?`.
    pub path: Option<String>,
    /// Only documents of this format.
    pub format: Option<DocumentFormat>,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FoundPassage {
    /// The path of the document within its folder.
    pub path: String,
    /// The title of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The headings that lead to the passage.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// The fragment of a URL that leads to its section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// The passage, as it stands in the document.
    pub passage: String,
    /// Where it stands in the text of the document, in characters.
    pub range: CharRange,
    /// Where words of the query stand in the text of the document.
    #[serde(skip)]
    pub matches: Vec<CharRange>,
    /// Other documents that say the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_in: Vec<String>,
    /// How well it fits; comparable within one search.
    #[serde(skip)]
    pub score: f64,
}

/// A part with its score.
struct Candidate {
    found: FoundPassage,
    document: i64,
    shingles: HashSet<u64>,
    /// The words of the query that it has.
    words: Vec<bool>,
    /// What adds to the score and what multiplies it, whatever words its document has.
    extra: (f64, f64),
}

/// A search over one state of the index.
pub(super) struct IndexSearch<'i> {
    database: &'i Connection,
    /// How many parts have a word; kept from search to search until the index changes.
    frequencies: &'i mut HashMap<String, usize>,
    chunks: usize,
    query: &'i DocumentQuery,
    parsed: ParsedQuery,
}

impl<'i> IndexSearch<'i> {
    pub(super) fn new(
        database: &'i Connection,
        frequencies: &'i mut HashMap<String, usize>,
        query: &'i DocumentQuery,
    ) -> rusqlite::Result<Self> {
        let chunks: i64 =
            database.query_row("SELECT coalesce(max(id), 0) FROM chunks", [], |row| row.get(0))?;
        let chunks = usize::try_from(chunks).unwrap_or_default();
        Ok(Self { database, frequencies, chunks, query, parsed: ParsedQuery::parse(&query.text) })
    }

    /// The best passages, the best one first.
    pub(super) fn run(mut self) -> rusqlite::Result<Vec<FoundPassage>> {
        if self.parsed.is_empty() {
            return Ok(Vec::new());
        }
        let words = self.ranked_words()?;
        let mut ids = Vec::new();
        self.find_words(&mut ids)?;
        self.find_signs(&mut ids)?;
        let mut candidates = self.rank(&ids, &words)?;
        weigh_documents(&mut candidates, &words);
        candidates.sort_by(|one, other| {
            other
                .found
                .score
                .total_cmp(&one.found.score)
                .then_with(|| one.found.path.cmp(&other.found.path))
        });
        Ok(choose(candidates, self.query.limit))
    }

    fn ranked_words(&mut self) -> rusqlite::Result<RankedWords> {
        let mut ranked = RankedWords { words: Vec::new(), rarity: Vec::new(), phrases: Vec::new() };
        for term in &self.parsed.terms {
            let mut phrase = Vec::new();
            for word in &term.words {
                let index = ranked
                    .words
                    .iter()
                    .position(|known| known == word)
                    .unwrap_or(ranked.words.len());
                if index == ranked.words.len() {
                    ranked.words.push(word.clone());
                }
                phrase.push(index);
            }
            if phrase.len() > 1 {
                ranked.phrases.push(phrase);
            }
        }
        for word in &ranked.words {
            let having = frequency(self.database, self.frequencies, &format!("\"{word}\""))?;
            ranked.rarity.push(RankedWords::rarity(having, self.chunks));
        }
        Ok(ranked)
    }

    /// Parts with all terms, then those with some of them.
    fn find_words(&mut self, ids: &mut Vec<i64>) -> rusqlite::Result<()> {
        let terms = self.parsed.terms.clone();
        if terms.is_empty() {
            return Ok(());
        }
        let all: Vec<String> = terms.iter().map(QueryTerm::expression).collect();
        self.find("chunk_words", &all.join(" AND "), ids)?;
        let quoted: Vec<String> =
            terms.iter().filter(|term| term.quoted).map(QueryTerm::expression).collect();
        if ids.len() >= ENOUGH || quoted.len() == terms.len() {
            return Ok(());
        }
        let rare = self.rare(&terms)?.join(" OR ");
        let quoted = quoted.join(" AND ");
        match (quoted.is_empty(), rare.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => self.find("chunk_words", &rare, ids),
            (false, true) => self.find("chunk_words", &quoted, ids),
            (false, false) => {
                self.find("chunk_words", &format!("{quoted} AND ({rare})"), ids)?;
                self.find("chunk_words", &quoted, ids)
            }
        }
    }

    /// The rarest terms and words of terms that are not quoted, as long as few parts have them.
    fn rare(&mut self, terms: &[QueryTerm]) -> rusqlite::Result<Vec<String>> {
        let mut parts: Vec<String> = Vec::new();
        for term in terms.iter().filter(|term| !term.quoted) {
            parts.push(term.expression());
            if term.words.len() > 1 {
                parts.extend(term.words.iter().map(|word| format!("\"{word}\"")));
            }
        }
        let mut counted = Vec::new();
        for part in parts {
            let having = frequency(self.database, self.frequencies, &part)?;
            if having > 0 && !counted.contains(&(having, part.clone())) {
                counted.push((having, part));
            }
        }
        counted.sort();
        let mut total = 0;
        let mut rare = Vec::new();
        for (having, part) in counted {
            total += having;
            if rare.is_empty() || total <= FREQUENT {
                rare.push(part);
            }
        }
        Ok(rare)
    }

    fn find_signs(&mut self, ids: &mut Vec<i64>) -> rusqlite::Result<()> {
        let signs: Vec<String> = self.parsed.signs.iter().map(QueryTerm::expression).collect();
        if signs.is_empty() {
            return Ok(());
        }
        let words = self.parsed.terms.iter().map(QueryTerm::expression);
        let all: Vec<String> = signs.iter().cloned().chain(words).collect();
        self.find("chunk_signs", &all.join(" AND "), ids)?;
        if ids.len() < ENOUGH {
            self.find("chunk_signs", &all.join(" OR "), ids)?;
        }
        if ids.len() < ENOUGH {
            // No part has a run as a whole: any two neighbours of it.
            let pairs = self.parsed.signs.iter().flat_map(|term| term.words.windows(2));
            let pairs: Vec<String> = pairs.map(|pair| format!("\"{}\"", pair.join(" "))).collect();
            if !pairs.is_empty() {
                self.find("chunk_signs", &pairs.join(" OR "), ids)?;
            }
        }
        Ok(())
    }

    /// Adds the best parts by SQLite's own ranking.
    fn find(&self, table: &str, expression: &str, ids: &mut Vec<i64>) -> rusqlite::Result<()> {
        let rank = if table == "chunk_words" { "rank MATCH 'bm25(2.0, 5.0, 1.0)' AND" } else { "" };
        let filtered = self.query.path.is_some() || self.query.format.is_some();
        let join = if filtered {
            "JOIN chunks ON chunks.id = found.rowid JOIN documents ON documents.id = chunks.document
                AND (?3 IS NULL OR documents.format = ?3)
                AND (?2 IS NULL OR documents.path = ?2 OR documents.path GLOB ?4
                    OR substr(documents.path, 1, length(?2) + 1) = ?2 || '/')"
        } else {
            "JOIN (SELECT ?2, ?3, ?4)"
        };
        let sql = format!(
            "SELECT found.rowid FROM {table} AS found {join}
                WHERE {rank} {table} MATCH ?1 ORDER BY found.rank LIMIT {CANDIDATES}"
        );
        let path = self
            .query
            .path
            .as_deref()
            .map(|path| path.trim_start_matches("./").trim_end_matches('/'));
        let path = path.filter(|path| !path.is_empty());
        // Without a wildcard the pattern is of no use, and a bracket would begin a set of characters.
        let pattern =
            path.filter(|path| path.contains(['*', '?'])).map(|path| path.replace('[', "[[]"));
        let mut statement = self.database.prepare_cached(&sql)?;
        let format = self.query.format.map(DocumentFormat::as_str);
        let rows =
            statement.query_map(params![expression, path, format, pattern], |row| row.get(0))?;
        for row in rows {
            let id = row?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(())
    }

    /// Reads the parts and gives each its score.
    fn rank(&self, ids: &[i64], words: &RankedWords) -> rusqlite::Result<Vec<Candidate>> {
        let (open, close) = (u32::from(MARKS.0), u32::from(MARKS.1));
        let mut marked = self.database.prepare_cached(&format!(
            "SELECT highlight(chunk_words, 0, char({open}), char({close})),
                highlight(chunk_words, 1, char({open}), char({close})),
                highlight(chunk_words, 2, char({open}), char({close}))
                FROM chunk_words WHERE chunk_words MATCH ?1 AND rowid = ?2"
        ))?;
        let mut plain = self.database.prepare_cached(
            "SELECT chunks.title, chunks.heading, chunks.body, document, path, documents.title, start, anchor, links
                FROM chunks JOIN documents ON documents.id = document WHERE chunks.id = ?1",
        )?;
        let prefixes =
            self.parsed.terms.iter().filter(|term| term.prefix).map(QueryTerm::expression);
        let single = words.words.iter().map(|word| format!("\"{word}\""));
        let expression = single.chain(prefixes).collect::<Vec<_>>().join(" OR ");
        let mut candidates = Vec::new();
        for id in ids {
            let fields = marked_fields(&mut marked, &expression, *id)?;
            let mut rows = plain.query([id])?;
            if let Some(row) = rows.next()? {
                candidates.push(self.candidate(row, fields, words)?);
            }
        }
        Ok(candidates)
    }

    fn candidate(
        &self,
        row: &rusqlite::Row<'_>,
        fields: Option<[String; 3]>,
        words: &RankedWords,
    ) -> rusqlite::Result<Candidate> {
        let plain =
            || -> rusqlite::Result<[String; 3]> { Ok([row.get(0)?, row.get(1)?, row.get(2)?]) };
        let [title, heading, body] = fields.map_or_else(plain, Ok)?.map(|field| words.read(&field));
        let length = |text: &str| text.chars().count();
        let score = words.score([
            (&title.1, length(&title.0)),
            (&heading.1, length(&heading.0)),
            (&body.1, length(&body.0)),
        ]);
        let signs = self.sign_marks(&body.0, words.words.len());
        let mut rarity = words.rarity.clone();
        rarity.resize(words.words.len() + self.parsed.signs.len(), 4.0);
        let mut seen: Vec<usize> = signs.iter().map(|mark| mark.word).collect();
        seen.dedup();
        let extra = seen.iter().map(|word| rarity.get(*word).copied().unwrap_or_default()).sum();
        let links: f64 = row.get(8)?;
        // A part that only leads to others is seldom the answer.
        let factor = 1.0 - 0.6 * links * links;
        let start = usize::try_from(row.get::<_, i64>(6)?).unwrap_or_default();
        let mut marks = body.1;
        marks.extend(signs);
        marks.sort_by_key(|mark| mark.range);
        let within = passage(&body.0, &marks, &rarity);
        let shifted =
            |range: CharRange| CharRange { start: range.start + start, end: range.end + start };
        let found = FoundPassage {
            path: row.get(4)?,
            title: row.get(5)?,
            heading: heading.0,
            anchor: row.get(7)?,
            passage: crate::document::text::slice(&body.0, within).to_owned(),
            range: shifted(within),
            matches: marks.iter().map(|mark| shifted(mark.range)).collect(),
            also_in: Vec::new(),
            score: score.value,
        };
        let shingles = shingles(&body.0);
        let document = row.get(3)?;
        Ok(Candidate { found, document, shingles, words: score.words, extra: (extra, factor) })
    }

    /// Where runs of characters without spaces stand.
    fn sign_marks(&self, text: &str, first: usize) -> Vec<WordMark> {
        let mut marks = Vec::new();
        for (index, term) in self.parsed.signs.iter().enumerate() {
            let run = term.words.concat();
            for (byte, _) in text.match_indices(&run).take(20) {
                let start = text.get(..byte).unwrap_or_default().chars().count();
                marks.push(WordMark {
                    range: CharRange { start, end: start + term.words.len() },
                    word: first + index,
                });
            }
        }
        marks
    }
}

/// Completes the scores by the words that the found parts of each document have together.
fn weigh_documents(candidates: &mut [Candidate], words: &RankedWords) {
    let mut documents: HashMap<i64, Vec<bool>> = HashMap::new();
    for candidate in &*candidates {
        let all =
            documents.entry(candidate.document).or_insert_with(|| vec![false; words.words.len()]);
        for (known, own) in all.iter_mut().zip(&candidate.words) {
            *known |= own;
        }
    }
    for candidate in candidates {
        let around = documents.get(&candidate.document).map(Vec::as_slice).unwrap_or_default();
        let coverage = words.coverage(&candidate.words, around);
        let (extra, factor) = candidate.extra;
        candidate.found.score = (candidate.found.score * coverage + extra) * factor;
    }
}

/// How many parts a term is in.
fn frequency(
    database: &Connection,
    known: &mut HashMap<String, usize>,
    expression: &str,
) -> rusqlite::Result<usize> {
    if let Some(having) = known.get(expression) {
        return Ok(*having);
    }
    let mut statement =
        database.prepare_cached("SELECT count(*) FROM chunk_words WHERE chunk_words MATCH ?1")?;
    let having: i64 = statement.query_row([expression], |row| row.get(0))?;
    let having = usize::try_from(having).unwrap_or_default();
    if known.len() > 50_000 {
        known.clear();
    }
    known.insert(expression.to_owned(), having);
    Ok(having)
}

fn marked_fields(
    statement: &mut CachedStatement<'_>,
    expression: &str,
    id: i64,
) -> rusqlite::Result<Option<[String; 3]>> {
    if expression.is_empty() {
        return Ok(None);
    }
    let mut rows = statement.query(params![expression, id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some([row.get(0)?, row.get(1)?, row.get(2)?]))
}

/// The best candidates: each text once, and not only one document.
fn choose(candidates: Vec<Candidate>, limit: usize) -> Vec<FoundPassage> {
    let mut chosen: Vec<Candidate> = Vec::new();
    let mut later: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        if let Some(same) =
            chosen.iter_mut().find(|known| alike(&known.shingles, &candidate.shingles))
        {
            let path = candidate.found.path;
            if same.found.path != path && !same.found.also_in.contains(&path) {
                same.found.also_in.push(path);
            }
            continue;
        }
        let of_document =
            chosen.iter().filter(|known| known.document == candidate.document).count();
        if of_document >= PER_DOCUMENT {
            later.push(candidate);
        } else if chosen.len() < limit {
            chosen.push(candidate);
        }
    }
    chosen.extend(later);
    chosen.truncate(limit);
    chosen.into_iter().map(|candidate| candidate.found).collect()
}

/// Hashes of each three words that follow each other.
fn shingles(text: &str) -> HashSet<u64> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.windows(3).map(|three| XxHash3_64::oneshot(three.join(" ").as_bytes())).collect()
}

#[expect(clippy::cast_precision_loss, reason = "some hundred words")]
fn alike(one: &HashSet<u64>, other: &HashSet<u64>) -> bool {
    let (small, large) = (one.len().min(other.len()), one.len().max(other.len()));
    if small < 8 || (small as f64) < ALIKE * large as f64 {
        return false;
    }
    let common = one.intersection(other).count();
    common as f64 >= ALIKE * (one.len() + other.len() - common) as f64
}
