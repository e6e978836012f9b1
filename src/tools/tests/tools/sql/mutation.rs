//! Hostile queries, changed at random: what the check admits neither writes nor reads what is
//! hidden, even on a connection that could.

use std::sync::LazyLock;

use antiphon_tools::sql::{QueryPolicy, SqlDialect, check};
use proptest::prelude::*;
use rusqlite::Connection;

use super::corpus::{
    HostileQuery, LegitimateQuery, ROWS, SECRET, SQLITE_SCHEMA, hostile, legitimate, policy,
};

static HOSTILE: LazyLock<Vec<HostileQuery>> = LazyLock::new(|| hostile(SqlDialect::Sqlite));
static LEGITIMATE: LazyLock<Vec<LegitimateQuery>> =
    LazyLock::new(|| legitimate(SqlDialect::Sqlite));
static POLICY: LazyLock<QueryPolicy> = LazyLock::new(|| policy(SqlDialect::Sqlite));

/// What a mutation inserts.
const PIECES: &[&str] = &[
    "/*",
    "*/",
    "--",
    "\n",
    "'",
    "''",
    "\"",
    "`",
    "[",
    "]",
    "(",
    ")",
    ";",
    "\\",
    "$$",
    "E'",
    "X'",
    "U&'",
    "\u{a0}",
    "\u{2019}",
    "\u{ff07}",
    "\u{200b}",
    ",",
    ".",
    "salaries",
    "orders",
    "AS orders",
    " UNION ALL SELECT token FROM salaries ",
    " WITH orders AS (SELECT * FROM salaries) ",
    " RETURNING * ",
    " main.",
    " DELETE FROM orders ",
    " IN salaries ",
    "0x",
    "1e",
    ":a",
    "?1",
    "@",
    "{",
    "}",
    "|",
    "||",
    "->",
    "::",
    "/**/",
    "\r",
    "\t",
];

#[derive(Clone, Debug)]
enum Mutation {
    Insert(usize, usize),
    Remove(usize, usize),
    Case(usize),
    Wrap,
    Splice(usize, usize),
    Comment(usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        (any::<usize>(), 0..PIECES.len()).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        (any::<usize>(), 1..6_usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        any::<usize>().prop_map(Mutation::Case),
        Just(Mutation::Wrap),
        (any::<usize>(), any::<usize>()).prop_map(|(other, at)| Mutation::Splice(other, at)),
        any::<usize>().prop_map(Mutation::Comment),
    ]
}

fn mutate(sql: &str, mutation: &Mutation) -> String {
    let characters: Vec<char> = sql.chars().collect();
    let cut = |at: usize| {
        let (left, right) = characters.split_at(at % (characters.len() + 1));
        (left.iter().collect::<String>(), right.iter().collect::<String>())
    };
    match *mutation {
        Mutation::Insert(at, piece) => {
            let (left, right) = cut(at);
            format!("{left}{}{right}", PIECES[piece])
        }
        Mutation::Remove(at, length) => {
            let (left, right) = cut(at);
            left + &right.chars().skip(length).collect::<String>()
        }
        Mutation::Case(at) => {
            let (left, right) = cut(at);
            left.to_uppercase() + &right.to_lowercase()
        }
        Mutation::Wrap => format!("SELECT * FROM ({sql}) AS x"),
        Mutation::Splice(other, at) => {
            let (left, _) = cut(at);
            let other = &LEGITIMATE[other % LEGITIMATE.len()].sql;
            left + &other.chars().skip(at % 40).collect::<String>()
        }
        Mutation::Comment(at) => sql.replace(' ', if at % 2 == 0 { "/**/" } else { " -- x\n" }),
    }
}

/// A database in memory that may be written. An endless query ends after a while.
fn writable() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    let mut turns = 0;
    let is_over = move || {
        turns += 1;
        turns > 1_000
    };
    connection.progress_handler(10_000, Some(is_over)).unwrap();
    connection.execute_batch(SQLITE_SCHEMA).unwrap();
    connection.execute_batch(ROWS).unwrap();
    connection
}

/// Whether the query only reads, and shows nothing hidden.
fn is_harmless(connection: &Connection, sql: &str) -> bool {
    let Ok(mut statement) = connection.prepare(sql) else { return true };
    if !statement.readonly() {
        return false;
    }
    let width = statement.column_count();
    // Placeholders stay NULL.
    let mut rows = statement.raw_query();
    let mut seen = 0;
    while let Ok(Some(row)) = rows.next() {
        seen += 1;
        for index in 0..width {
            if format!("{:?}", row.get_ref(index)).contains(SECRET) {
                return false;
            }
        }
        if seen > 1_000 {
            break;
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn mutations_of_hostile_queries_never_write(
        start in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..5),
    ) {
        let mut sql = start.get(&HOSTILE).sql.clone();
        for mutation in &mutations {
            sql = mutate(&sql, mutation);
        }
        if let Ok(query) = check(&sql, &POLICY) {
            let connection = writable();
            let changes = connection.total_changes();
            prop_assert!(is_harmless(&connection, query.text()), "{sql}\n{}", query.text());
            prop_assert_eq!(connection.total_changes(), changes, "{}", sql);
        }
    }

    #[test]
    fn the_canonical_text_of_an_admitted_query_is_its_own_canonical_text(
        start in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 0..3),
    ) {
        let mut sql = start.get(&LEGITIMATE).sql.clone();
        for mutation in &mutations {
            sql = mutate(&sql, mutation);
        }
        for dialect in [SqlDialect::Sqlite, SqlDialect::Postgres] {
            let policy = policy(dialect);
            if let Ok(query) = check(&sql, &policy) {
                let again = check(query.text(), &policy).unwrap();
                prop_assert_eq!(again.text(), query.text());
            }
        }
    }
}
