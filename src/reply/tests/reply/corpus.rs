//! A wide table of replies: the text, the level that reads it, the value.

use antiphon_core::reply::ParseLevel::{self, Balanced, Fenced, Repaired, Strict};
use antiphon_core::reply::ReplyParser as _;
use serde_json::{Value as Json, json};

use crate::shape;

#[test]
fn the_corpus_reads_as_it_should() {
    let shape = shape(json!({"type": ["object", "array"]}));
    let mut wrong = Vec::new();
    let corpus = corpus();
    assert!(corpus.len() >= 60, "only {} cases", corpus.len());
    for (text, level, value) in corpus {
        match shape.parse(text) {
            Ok(reading) if reading.level == level && reading.value == value => {}
            other => wrong.push(format!("{text:?}\n  wanted {level:?} {value}\n  got {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn corpus() -> Vec<(&'static str, ParseLevel, Json)> {
    [clean(), fenced(), amid_prose(), punctuation(), quotes(), comments(), strings(), tails()]
        .concat()
}

type Case = (&'static str, ParseLevel, Json);

fn clean() -> Vec<Case> {
    vec![
        (r#"{"a": 1}"#, Strict, json!({"a": 1})),
        ("  \n[1, 2]\t\n", Strict, json!([1, 2])),
        ("\u{feff}{\"a\": 1}", Strict, json!({"a": 1})),
        (r#"{"a": 1, "a": 2}"#, Strict, json!({"a": 2})),
        (r#"{"": {"b c": []}}"#, Strict, json!({"": {"b c": []}})),
        (r#"{"a": "\ud83d\ude00 \u00e9"}"#, Strict, json!({"a": "😀 é"})),
        (r#"{"a": 1e3, "b": -0.5}"#, Strict, json!({"a": 1000.0, "b": -0.5})),
    ]
}

fn fenced() -> Vec<Case> {
    vec![
        ("```json\n{\"a\": 1}\n```", Fenced, json!({"a": 1})),
        ("```\n{\"a\": 1}\n```", Fenced, json!({"a": 1})),
        ("```JSON5\r\n{\"a\": 1}\r\n```\r\n", Fenced, json!({"a": 1})),
        ("```python\n[1]\n```", Fenced, json!([1])),
        ("~~~json\n{\"a\": 1}\n~~~", Fenced, json!({"a": 1})),
        ("````\n{\"a\": \"```\"}\n````", Fenced, json!({"a": "```"})),
        ("Text ```json\n{\"a\": 1}``` ", Fenced, json!({"a": 1})),
        ("So: ```json {\"a\": 1}```", Fenced, json!({"a": 1})),
        ("``` json title=\"x\"\n{\"a\": 1}\n```", Fenced, json!({"a": 1})),
        ("Never closed:\n```json\n{\"a\": 1}", Fenced, json!({"a": 1})),
        ("Draft:\n```\n{\"a\": 1}\n```\nFinal:\n```\n{\"a\": 2}\n```", Fenced, json!({"a": 2})),
        ("```\n{\"a\": 1}\n```\n```sh\nls {x}\n```", Fenced, json!({"a": 1})),
        ("```json\n{\"a\": 1}\n```\n```json\n{\"a\": }\n```", Fenced, json!({"a": 1})),
        ("{\"a\": 1}\nrather:\n```\n{\"a\": 2}\n```", Fenced, json!({"a": 2})),
        ("1. Item\n   ```json\n   {\"a\": 1}\n   ```", Fenced, json!({"a": 1})),
        ("```json\n{'a': 1}\n```", Repaired, json!({"a": 1})),
        ("Well:\n```json\n{\"a\": [1, 2,],}\n```\nBye {x}", Repaired, json!({"a": [1, 2]})),
        ("```json\nHere: {\"a\": 1,}\n```", Repaired, json!({"a": 1})),
        ("```json\n{\"a\": [1, 2\n```\nDone.", Repaired, json!({"a": [1, 2]})),
    ]
}

fn amid_prose() -> Vec<Case> {
    vec![
        (r#"The answer is {"a": 1}, I think."#, Balanced, json!({"a": 1})),
        (r#"{"a": 1} {"a": 2}"#, Balanced, json!({"a": 1})),
        (r#"{"a": 1}}"#, Balanced, json!({"a": 1})),
        (r#"{"a": "}"} tail"#, Balanced, json!({"a": "}"})),
        (r#"x {"a": "\"}{"} tail"#, Balanced, json!({"a": "\"}{"})),
        (r#"Fill {name} and [see below]: {"a": 1}"#, Balanced, json!({"a": 1})),
        (r#"Open { and go on. {"a": 1}"#, Balanced, json!({"a": 1})),
        (r#"[Note: {"a": 1}]"#, Balanced, json!({"a": 1})),
        (r#"Template {{"a": 1}}"#, Balanced, json!({"a": 1})),
        (r#"As [#12] says: {"a": 1}."#, Balanced, json!({"a": 1})),
        (r#"It's "quoted", isn't it? [true, false]"#, Balanced, json!([true, false])),
        (r#"<answer>{"a": 1}</answer>"#, Balanced, json!({"a": 1})),
        (r#"Répons: {"a": "é"} – voilà"#, Balanced, json!({"a": "é"})),
        (r#"answer = {"a": 1};"#, Balanced, json!({"a": 1})),
        ("First {'a': 1} then", Repaired, json!({"a": 1})),
        ("answer = {a: 1};", Repaired, json!({"a": 1})),
    ]
}

fn punctuation() -> Vec<Case> {
    vec![
        (r#"{"a": 1,}"#, Repaired, json!({"a": 1})),
        (r#"{"a": [1, 2, ], }"#, Repaired, json!({"a": [1, 2]})),
        (r#"[{"a": 1,}, {"b": 2,},]"#, Repaired, json!([{"a": 1}, {"b": 2}])),
        (
            r#"{"name": "x", "children": [{"name": "y"}],}"#,
            Repaired,
            json!({"name": "x", "children": [{"name": "y"}]}),
        ),
        (r"{a: 1, b_c: 2, $d: 3, e-f: 4}", Repaired, json!({"a": 1, "b_c": 2, "$d": 3, "e-f": 4})),
        (r#"{1: "one", 2: "two"}"#, Repaired, json!({"1": "one", "2": "two"})),
        (r"{größe: 1}", Repaired, json!({"größe": 1})),
        (
            r#"{"a": True, "b": False, "c": None}"#,
            Repaired,
            json!({"a": true, "b": false, "c": null}),
        ),
        (r"[None, True]", Repaired, json!([null, true])),
        (
            r#"{"a": "None, True,} // x", "b": None}"#,
            Repaired,
            json!({"a": "None, True,} // x", "b": null}),
        ),
        (r"{True: 1}", Repaired, json!({"True": 1})),
    ]
}

fn quotes() -> Vec<Case> {
    vec![
        ("{'a': 'b'}", Repaired, json!({"a": "b"})),
        (r#"{'a': 'say "hi"'}"#, Repaired, json!({"a": "say \"hi\""})),
        (r#"{"a": "it's", 'b': "x"}"#, Repaired, json!({"a": "it's", "b": "x"})),
        (r"{'a': 'it\'s'}", Repaired, json!({"a": "it's"})),
        (r"{'a': 'http://x.y/z?q=1:2#f'}", Repaired, json!({"a": "http://x.y/z?q=1:2#f"})),
        ("{'a': '}'}", Repaired, json!({"a": "}"})),
        ("{'a': ''}", Repaired, json!({"a": ""})),
    ]
}

fn comments() -> Vec<Case> {
    vec![
        ("{\"a\": 1 // one\n}", Repaired, json!({"a": 1})),
        ("{\"a\": 1, // it's \"one\"\n \"b\": 2}", Repaired, json!({"a": 1, "b": 2})),
        ("{/* x } */ \"a\": 1}", Repaired, json!({"a": 1})),
        ("{\n# python {\n\"a\": 1}", Repaired, json!({"a": 1})),
        ("[1, /* two */ 3]", Repaired, json!([1, 3])),
        (
            "{\"a\": \"/* kept */ // kept # kept\",}",
            Repaired,
            json!({"a": "/* kept */ // kept # kept"}),
        ),
        ("{\"url\": \"ftp://h:21/p\" // the url\n}", Repaired, json!({"url": "ftp://h:21/p"})),
        ("{\"a\": 1} // done", Balanced, json!({"a": 1})),
    ]
}

fn strings() -> Vec<Case> {
    vec![
        ("{\"a\": \"one\ntwo\"}", Repaired, json!({"a": "one\ntwo"})),
        ("{\"a\": \"one\r\n\ttwo\"}", Repaired, json!({"a": "one\r\n\ttwo"})),
        (r#"{"a": "\d+ and C:\Users"}"#, Repaired, json!({"a": "\\d+ and C:\\Users"})),
        (r#"{"a": "\ud83d\ude00\n",}"#, Repaired, json!({"a": "😀\n"})),
        (r#"{"a": "\ud83d x"}"#, Repaired, json!({"a": "\u{fffd} x"})),
        (r#"{"a": "\u00e9\t\/",}"#, Repaired, json!({"a": "é\t/"})),
        (r#"{"a": "\u12",}"#, Repaired, json!({"a": "\\u12"})),
        ("{\"md\": \"x\n```json\n{}\n```\n\"}", Repaired, json!({"md": "x\n```json\n{}\n```\n"})),
        ("Well: {\"```{`\": {\"b\": 1},}", Repaired, json!({"```{`": {"b": 1}})),
    ]
}

fn tails() -> Vec<Case> {
    vec![
        (r#"{"a": 1"#, Repaired, json!({"a": 1})),
        (r#"{"a": 1,"#, Repaired, json!({"a": 1})),
        (r#"{"a": 1, "b"#, Repaired, json!({"a": 1})),
        (r#"{"a": 1, "b":"#, Repaired, json!({"a": 1})),
        (r#"{"a": 1, "b": tr"#, Repaired, json!({"a": 1})),
        (r#"{"a": 1, "b": -"#, Repaired, json!({"a": 1})),
        (r#"{"a": "hel"#, Repaired, json!({"a": "hel"})),
        (r#"{"a": "hel\"#, Repaired, json!({"a": "hel"})),
        (r#"{"a": "hel\u00"#, Repaired, json!({"a": "hel"})),
        (r#"{"a": [1, {"b": "c""#, Repaired, json!({"a": [1, {"b": "c"}]})),
        (r#"{"a": 1, /* and"#, Repaired, json!({"a": 1})),
        (r"Well: [[1, 2], [3", Repaired, json!([[1, 2], [3]])),
        ("```json\n{\"a\": 1, \"b\": \"x", Repaired, json!({"a": 1, "b": "x"})),
    ]
}
