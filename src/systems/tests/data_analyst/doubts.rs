//! Queries that the database accepts, and that may well mean something else than the question.

use antiphon_systems::data_analyst::sql::multiplied_rows::multiplied_rows;
use antiphon_systems::data_analyst::sql::outer_column::outer_column;
use antiphon_systems::data_analyst::sql::whole_division::whole_division;
use antiphon_systems::data_analyst::sql::{KnownReference, KnownTable};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, said};

const SHOP: &str = "
    CREATE TABLE head (no INTEGER PRIMARY KEY, net REAL, paid INTEGER, boxes INTEGER, late TEXT);
    INSERT INTO head VALUES (1, 10, 1, 0, 'no'), (2, 20, 0, 1, 'yes'), (3, 30, 1, 2, 'no');
    CREATE TABLE line (id INTEGER PRIMARY KEY, no INTEGER REFERENCES head(no), qty INTEGER);
    INSERT INTO line VALUES (1, 1, 2), (2, 1, 3), (3, 2, 1);
";

async fn shop(question: &str, queries: &[&str], answer: &str) -> ScriptedRun {
    Scene::of_tables(SHOP, &["head", "line"])
        .queries(queries, answer)
        .role("composer", [said(answer)])
        .ask(question)
        .await
}

/// What the model was told of its first query; nothing if it was not asked again.
fn feedback(run: &ScriptedRun) -> String {
    let requests = run.requests("sql_writer");
    let said = requests.get(1).and_then(|request| request.messages.last());
    said.map_or_else(String::new, |message| message.content.to_string())
}

fn warnings(run: &ScriptedRun) -> Json {
    run.result.output.metadata.get("warnings").cloned().unwrap_or_default()
}

/// DA-62 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_column_of_the_query_around_is_not_taken_for_one_that_a_table_does_not_have() {
    let wrong = "SELECT count(*) AS n FROM head WHERE net IN (SELECT net FROM line)";
    let right = "SELECT count(*) AS n FROM head WHERE no IN (SELECT no FROM line)";
    let run = shop("How many orders have lines?", &[wrong, right], "There are 2.").await;
    assert_eq!((run.answer(), run.ran()), ("There are 2.", vec![right.to_owned()]));
    assert!(feedback(&run).contains("`line` has no column `net`"), "{}", feedback(&run));
    assert_eq!(warnings(&run), json!([]));
}

#[test]
fn other_queries_within_queries_are_let_be() {
    let tables = tables();
    for query in [
        "SELECT 1 FROM head WHERE no IN (SELECT no FROM line)",
        "SELECT 1 FROM head WHERE no IN (SELECT NO FROM main.LINE AS l WHERE l.qty > 1)",
        "SELECT 1 FROM head h WHERE EXISTS (SELECT 1 FROM line WHERE line.no = h.no)",
        "SELECT 1 FROM head h WHERE EXISTS (SELECT NULL FROM line WHERE line.no = h.no)",
        "SELECT 1 FROM head h WHERE EXISTS (SELECT net FROM line WHERE line.no = h.no)",
        "SELECT (SELECT ctid FROM line) FROM head h",
        "SELECT (SELECT h.net FROM line) FROM head h",
        "SELECT (SELECT max(net) FROM line) FROM head h",
        "SELECT (SELECT net FROM line, head) FROM head h",
        "SELECT (SELECT net FROM line JOIN head USING (no)) FROM head h",
        "SELECT (SELECT net FROM other) FROM head h",
        "SELECT (SELECT part FROM wide) FROM head h",
        "WITH line AS (SELECT net FROM head) SELECT (SELECT net FROM line) FROM head",
        "SELECT (SELECT l FROM line l) FROM head h",
        "SELECT '(SELECT net FROM line)'",
        "(SELECT",
        "",
    ] {
        assert_eq!(outer_column(query, &tables), None, "{query}");
    }
    let mut twice = tables.clone();
    twice.push(KnownTable { name: "old.line".to_owned(), ..twice[1].clone() });
    let query = "SELECT 1 FROM head WHERE net IN (SELECT net FROM line)";
    assert_eq!((tables[1].name.as_str(), outer_column(query, &twice)), ("line", None));
    for query in [
        "SELECT 1 FROM head WHERE net IN (SELECT DISTINCT net FROM line WHERE qty IN (1, 2))",
        "SELECT 1 FROM head WHERE net = (SELECT \"net\" FROM line l LIMIT 1)",
    ] {
        assert!(outer_column(query, &tables).is_some(), "{query}");
    }
}

/// DA-62 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_column_of_another_table_is_told_to_the_model_first_and_then_to_the_reader() {
    let wrong = "SELECT sum(line.net) AS n FROM head JOIN line ON line.no = head.no";
    let question = "What do the orders with lines add up to?";
    let right = "SELECT sum(net) AS n FROM head WHERE no IN (SELECT no FROM line)";
    let run = shop(question, &[wrong, right], "It is 30.").await;
    assert!(feedback(&run).contains("`net` is a column of: head"), "{}", feedback(&run));
    assert_eq!((run.answer(), warnings(&run)), ("It is 30.", json!([])));

    let run = shop(question, &[wrong, wrong], "It is 40.").await;
    assert_eq!(run.ran().last().unwrap(), &wrong.replace("line.net", "head.net"));
    let told = [
        "`line` has no column `net`: `head.net` was read for `line.net`",
        "`sum(head.net)` counts a row of `head` once for each of its rows of `line`",
    ];
    assert_eq!((run.answer(), warnings(&run)), ("It is 40.", json!(told)));
}

/// DA-63 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_count_of_a_flag_is_told_to_the_model_first_and_then_to_the_reader() {
    let question = "How many orders are paid?";
    for (wrong, right) in [
        ("SELECT count(paid) AS n FROM head", "SELECT count(*) AS n FROM head WHERE paid = 1"),
        (
            "SELECT COUNT(h.\"late\") AS late FROM head AS h",
            "SELECT count(late) AS n FROM head WHERE late = 'no'",
        ),
    ] {
        let run = shop(question, &[wrong, right], "There are 2.").await;
        assert_eq!((run.answer(), run.ran()), ("There are 2.", vec![right.to_owned()]));
        assert!(feedback(&run).contains("counts all rows that have a value"), "{wrong}");
        assert!(feedback(&run).contains("write the same query again"));
        assert_eq!(warnings(&run), json!([]));
    }
    let wrong = "SELECT count(paid) AS n FROM head";
    let run = shop(question, &[wrong, wrong], "There are 3.").await;
    assert_eq!((run.answer(), run.ran()), ("There are 3.", vec![wrong.to_owned()]));
    let told = "count(paid) counts all rows that have a value of `paid`, also those that it denies";
    assert_eq!(warnings(&run), json!([told]));
}

/// DA-65 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_division_of_whole_numbers_is_told_to_the_model_first_and_then_to_the_reader() {
    let question = "How many pieces does a line have on average?";
    let wrong = "SELECT sum(qty) / count(*) AS n FROM line";
    let right = "SELECT 1.0 * sum(qty) / count(*) AS n FROM line WHERE qty < 3";
    let run = shop(question, &[wrong, right], "It is 1.5.").await;
    assert_eq!((run.answer(), run.ran().last().unwrap().as_str()), ("It is 1.5.", right));
    assert!(feedback(&run).contains("divides whole numbers"), "{}", feedback(&run));
    assert!(feedback(&run).contains("write the same query again"), "{}", feedback(&run));
    assert_eq!(warnings(&run), json!([]));

    let run = shop(question, &[wrong, wrong], "It is 2.").await;
    let told = "`sum(qty) / count(*)` divides whole numbers, which drops the rest";
    assert_eq!((run.answer(), warnings(&run)), ("It is 2.", json!([told])));

    let of_reals = "SELECT sum(net) / count(*) AS n FROM head";
    let run = shop("What is the average net?", &[of_reals], "It is 20.").await;
    assert_eq!((run.answer(), warnings(&run)), ("It is 20.", json!([])));
}

#[test]
fn other_divisions_are_let_be() {
    for query in [
        "SELECT avg(a) / 2 FROM t",
        "SELECT sum(a) / 2.0 FROM t",
        "SELECT cast(sum(a) AS real) / count(*) FROM t",
        "SELECT sum(a)::numeric / count(*) FROM t",
        "SELECT time / 100, count(*) FROM t GROUP BY 1",
        "SELECT '1/2', count(*) FROM t",
        "SELECT sum(a) / round(b) FROM t",
        "SELECT (a) / count(*)",
        "SELECT a FROM t ORDER BY a LIMIT 1 OFFSET (SELECT count(*) / 2 FROM t)",
        "/",
        "count(",
        ") / (",
    ] {
        assert_eq!(whole_division(query), None, "{query}");
    }
    for (query, division) in [
        ("SELECT sum(a)/nullif(count(b), 0) FROM t", "sum(a)/nullif(count(b), 0)"),
        ("SELECT 100 * count(x) / total_rows FROM t", "count(x) / total_rows"),
        ("SELECT sum(minutes) / 60 FROM t", "sum(minutes) / 60"),
    ] {
        assert_eq!(whole_division(query).as_deref(), Some(division), "{query}");
    }
}

#[tokio::test]
async fn other_counts_are_let_be() {
    for query in [
        "SELECT count(boxes) AS n FROM head",
        "SELECT count(no) AS n FROM head",
        "SELECT count(DISTINCT paid) + 1 AS n FROM head",
        "SELECT count(*) + sum(paid) - count(paid) + 1 AS n FROM head",
    ] {
        let run = shop("How many orders are paid?", &[query], "There are 3.").await;
        assert_eq!((run.answer(), feedback(&run)), ("There are 3.", String::new()), "{query}");
        assert_eq!(warnings(&run), json!([]), "{query}");
    }
}

/// DA-64 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_sum_of_rows_that_a_join_repeats_is_told_to_the_reader() {
    let query = "SELECT sum(h.net) AS n FROM head h JOIN line l ON l.no = h.no";
    let run = shop("What do the orders with lines add up to?", &[query], "It is 40.").await;
    assert_eq!((run.answer(), feedback(&run)), ("It is 40.", String::new()));
    let told = "`sum(h.net)` counts a row of `head` once for each of its rows of `line`";
    assert_eq!(warnings(&run), json!([told]));
}

fn tables() -> Vec<KnownTable> {
    let table = |name: &str, columns: &[&str]| KnownTable {
        name: name.to_owned(),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        is_whole: name != "wide",
        ..KnownTable::default()
    };
    let reference = |column: &str, table: &str, key: &str| KnownReference {
        column: column.to_owned(),
        table: table.to_owned(),
        key: key.to_owned(),
    };
    let mut line = table("line", &["id", "no", "qty"]);
    line.references.push(reference("no", "head", "no"));
    let mut payment = table("payment", &["pay_id", "no", "eur"]);
    payment.references.push(reference("no", "head", "no"));
    let mut note = table("note", &["no", "words"]);
    note.primary_key.push("no".to_owned());
    note.references.push(reference("no", "head", "no"));
    let mut person = table("person", &["id", "boss", "pay"]);
    person.references.push(reference("boss", "person", "id"));
    vec![table("head", &["no", "net"]), line, payment, note, person, table("wide", &["a"])]
}

#[test]
fn only_sums_over_the_one_side_of_a_known_key_count_rows_more_than_once() {
    let tables = tables();
    for (query, sum) in [
        ("SELECT sum(net) FROM head JOIN line ON head.no = line.no", "sum(net)"),
        ("SELECT AVG(h.net * 1.19) FROM head h JOIN line USING (no)", "AVG(h.net * 1.19)"),
        ("SELECT sum(net) FROM head, line WHERE line.no = head.no GROUP BY head.no", "sum(net)"),
        ("SELECT sum(b.pay) FROM person b JOIN person p ON p.boss = b.id", "sum(b.pay)"),
        (
            "SELECT sum(CASE WHEN h.net > 1 THEN h.net ELSE 0 END) FROM head h JOIN line l ON l.no = h.no",
            "sum(CASE WHEN h.net > 1 THEN h.net ELSE 0 END)",
        ),
        (
            "SELECT sum(qty) FROM head h JOIN line l ON l.no = h.no JOIN payment p ON p.no = h.no",
            "sum(qty)",
        ),
    ] {
        let told = multiplied_rows(query, &tables);
        assert_eq!(told.len(), 1, "{query}: {told:?}");
        assert!(told[0].starts_with(&format!("`{sum}` counts a row of ")), "{told:?}");
    }
    for query in [
        "SELECT sum(qty) FROM head JOIN line ON head.no = line.no",
        "SELECT sum(net * qty) FROM head JOIN line ON head.no = line.no",
        "SELECT sum(DISTINCT net) FROM head JOIN line ON head.no = line.no",
        "SELECT max(net), count(*) FROM head JOIN line ON head.no = line.no",
        "SELECT sum(net) FROM head JOIN note ON note.no = head.no",
        "SELECT sum(net) FROM head JOIN line ON line.id = head.no",
        "SELECT sum(net) FROM head WHERE no IN (SELECT no FROM line)",
        "SELECT sum(net) FROM head JOIN elsewhere ON elsewhere.no = head.no",
        "SELECT sum(p.pay) FROM person b JOIN person p ON p.boss = b.id",
        "SELECT 'sum(net)' FROM head JOIN line ON head.no = line.no",
        "SELECT sum(",
        "",
    ] {
        assert_eq!(multiplied_rows(query, &tables), Vec::<String>::new(), "{query}");
    }
}
