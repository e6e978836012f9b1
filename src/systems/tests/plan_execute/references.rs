//! References to outputs: what they lead to, and what is never read again.

use std::collections::BTreeMap;

use antiphon_systems::plan_execute::reference::resolved;
use antiphon_systems::plan_execute::{StepErrorKind, StepOutput, StepStatus};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

fn output(result: &Json, processed: Option<Json>) -> StepOutput {
    StepOutput {
        status: StepStatus::Completed,
        result_data: result.clone(),
        processed_result_data: processed,
    }
}

fn outputs() -> BTreeMap<String, StepOutput> {
    let found = json!([{"link": "https://a.example", "n": 7}]);
    let failed = StepOutput { status: StepStatus::Failed, ..StepOutput::default() };
    BTreeMap::from([
        ("s1".to_owned(), output(&found, Some(json!("one hit")))),
        ("a.b".to_owned(), output(&json!("dots"), None)),
        ("a".to_owned(), output(&json!({"b": {"result_data": "deep"}}), Some(Json::Null))),
        ("lost".to_owned(), failed),
    ])
}

fn resolve(value: &Json) -> Result<Json, (StepErrorKind, String)> {
    let outputs = outputs();
    let input = Map::from_iter([("x".to_owned(), value.clone())]);
    let is_step = |id: &str| outputs.contains_key(id) || id == "later";
    let resolved = resolved(&input, &is_step, &|id| outputs.get(id));
    resolved
        .map(|input| input.get("x").cloned().unwrap_or_default())
        .map_err(|error| (error.kind, error.message))
}

#[test]
fn a_reference_alone_has_the_type_of_its_value() {
    for (text, value) in [
        ("@{outputs.s1.result_data.0.link}", json!("https://a.example")),
        ("@{outputs.s1.result_data.0}", json!({"link": "https://a.example", "n": 7})),
        ("@{outputs.s1.processed_result_data}", json!("one hit")),
        ("@{outputs.a.b.result_data}", json!("dots")),
        ("@{outputs.a.result_data.b.result_data}", json!("deep")),
        ("@{outputs.a.processed_result_data.b}", json!({"result_data": "deep"})),
    ] {
        assert_eq!(resolve(&json!(text)), Ok(value), "{text}");
    }
}

#[test]
fn within_a_text_values_stand_as_text() {
    for (text, value) in [
        ("Sum: @{outputs.s1.processed_result_data}.", "Sum: one hit."),
        ("@{outputs.s1.result_data.0.n}@{outputs.s1.result_data.0.n}", "77"),
        ("a @{outputs.a.result_data.b} b", "a {\"result_data\":\"deep\"} b"),
        ("\\@{outputs.s1.result_data} @{x} @", "@{outputs.s1.result_data} @{x} @"),
        ("", ""),
    ] {
        assert_eq!(resolve(&json!(text)), Ok(json!(value)), "{text}");
    }
    let nested = json!({"@{outputs.s1.result_data}": ["@{outputs.a.b.result_data}", 1, null]});
    let value = json!({"@{outputs.s1.result_data}": ["dots", 1, null]});
    assert_eq!(resolve(&nested), Ok(value), "names of fields stay");
}

#[test]
fn a_summary_that_is_null_gives_way_to_the_result() {
    let value = resolve(&json!("@{outputs.a.b.processed_result_data}"));
    assert_eq!(value, Ok(json!("dots")));
}

#[test]
fn what_leads_nowhere_says_so() {
    for (text, reason) in [
        ("@{outputs.s2.result_data}", "names a step that does not exist"),
        ("@{outputs.later.result_data}", "names a step that has not run yet"),
        ("see @{outputs.lost.result_data}", "names a step that has failed"),
        ("@{outputs.s1.result_data.1}", "leads to no value"),
        ("@{outputs.s1.result_data.link}", "leads to no value"),
        ("@{outputs.s1.raw}", "ends with `result_data`"),
        ("@{outputs.s1.result_data", "it is not closed"),
    ] {
        let (kind, message) = resolve(&json!(text)).unwrap_err();
        assert_eq!(kind, StepErrorKind::ReferenceResolution);
        assert!(message.contains(reason), "{text}: {message}");
    }
}

#[test]
fn values_that_are_too_large_together_are_refused() {
    let large = output(&json!("a".repeat(1024 * 1024)), None);
    let input = |times: usize| {
        Map::from_iter([("x".to_owned(), json!("@{outputs.s.result_data}".repeat(times)))])
    };
    let resolve = |times| resolved(&input(times), &|id| id == "s", &|_| Some(&large));
    assert!(resolve(4).is_ok());
    assert!(resolve(5).unwrap_err().message.contains("more than 4 MiB"));
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "[a@{}\\\\.outpsrel_d0]{0,24}".prop_map(Json::from),
        Just(json!("@{outputs.s.result_data}")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_put_in_as_it_is_and_not_read_again(value in any_json(), words in "[a-z ]{0,8}") {
        let output = output(&value, None);
        let texts = json!(["@{outputs.s.result_data}", format!("{words}x@{{outputs.s.result_data}}")]);
        let input = Map::from_iter([("x".to_owned(), texts)]);
        let resolved = resolved(&input, &|id| id == "s", &|_| Some(&output)).unwrap();
        prop_assert_eq!(&resolved["x"][0], &value);
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        prop_assert_eq!(&resolved["x"][1], &json!(format!("{words}x{shown}")));
    }

    #[test]
    fn an_input_without_references_stays_and_an_escaped_text_is_itself(text in "[a@{}.outpsrel ]{0,40}") {
        let escaped = Map::from_iter([("x".to_owned(), json!(text.replace("@{", "\\@{")))]);
        let resolved = resolved(&escaped, &|_| false, &|_| None).unwrap();
        prop_assert_eq!(&resolved["x"], &json!(text));
    }
}
