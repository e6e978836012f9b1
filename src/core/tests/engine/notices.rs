//! The notices to a host that shows tasks and states.

use std::sync::Arc;

use antiphon_core::channel::Reducer;
use antiphon_core::graph::{Graph, NodePolicy, START, Semantics};
use antiphon_core::notice::{EventOptions, Notice, TaskNotice, TaskProgress};
use antiphon_core::run::Options;
use antiphon_core::task::{TaskInput, TaskOutcome};
use antiphon_core::{Category, RetryPolicy};
use serde_json::{Value, json};

use crate::support::{Script, TestDriver, chain, choose, fan, nested, options, policy, send};

const ALL: EventOptions = EventOptions { nested_updates: false, tasks: true, states: true };

fn watched(graph: &Arc<Graph<Value>>, script: Script, input: Value) -> TestDriver {
    TestDriver::with(
        graph,
        script,
        input,
        Options { event_options: ALL, events: false, ..options() },
    )
}

/// Each notice in a few words.
fn notice_lines(driver: &mut TestDriver) -> Vec<String> {
    let notices = driver.run.take_notices();
    notices.iter().map(line).collect()
}

fn line(notice: &Notice<Value>) -> String {
    match notice {
        Notice::NestedUpdate(..) => "handed up".into(),
        Notice::Merged => "merged".into(),
        Notice::MergedWithin(within) => format!("merged {}", places(&within.namespace)),
        Notice::Task(task) => {
            format!("{}{} {}", places(&task.location.namespace), name(task), news(task))
        }
    }
}

fn places(namespace: &[String]) -> String {
    namespace.iter().flat_map(|place| [place.split(':').next().unwrap(), "/"]).collect()
}

fn name(task: &TaskNotice<Value>) -> String {
    let name = task.location.graph.node_name(Some(task.location.node));
    task.location.send.map_or_else(|| name.to_string(), |index| format!("{name}#{index}"))
}

fn news(task: &TaskNotice<Value>) -> String {
    match &task.progress {
        TaskProgress::Started(TaskInput::Sent(value), _) => format!("begun with {value}"),
        TaskProgress::Started(TaskInput::State, state) => {
            format!("begun on {}", state[0].clone().unwrap_or_default())
        }
        TaskProgress::Done(update) => format!("done with {}", update.writes.len()),
        TaskProgress::Failed(fault) => format!("failed: {}", fault.code),
        TaskProgress::Asked(questions) => {
            let values: Vec<_> = questions.iter().map(|asked| asked.value.to_string()).collect();
            format!("asked {}", values.join(", "))
        }
    }
}

#[test]
fn nothing_is_reported_unless_it_was_asked_for() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver = TestDriver::with(&graph, Script::new(), json!({"log": "in"}), options());
    driver.complete();
    assert!(driver.run.take_notices().is_empty());
}

#[test]
fn each_task_begins_with_the_state_and_ends_with_its_update() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let script = Script::new().writes("a", "log", json!("a"));
    let mut driver = watched(&graph, script, json!({"log": "in"}));
    driver.complete();
    assert_eq!(
        notice_lines(&mut driver),
        [
            "merged",
            "a begun on [\"in\"]",
            "a done with 1",
            "merged",
            "b begun on [\"in\",\"a\"]",
            "b done with 0",
        ]
    );
}

#[test]
fn a_nested_graph_is_reported_within_its_own_task() {
    let mut inner = chain(&["deep"]);
    inner.semantics(Semantics { full_output: true, ..Semantics::default() });
    let mut graph = Graph::builder("outer");
    graph.channel("log", Reducer::Extend);
    graph.add_node(nested("sub", inner.build().unwrap()));
    graph.edge(START, "sub");
    let script = Script::new().writes("deep", "log", json!("deep"));
    let mut driver = watched(&graph.build().unwrap(), script, json!({"log": ["in"]}));
    driver.complete();
    assert_eq!(
        notice_lines(&mut driver),
        [
            "merged",
            "sub begun on [\"in\"]",
            "merged sub/",
            "sub/deep begun on [\"in\"]",
            "sub/deep done with 1",
            "merged sub/",
            "sub done with 1",
            "merged",
        ]
    );
}

#[test]
fn the_namespace_of_a_nested_graph_ends_with_the_id_of_its_task() {
    let mut graph = chain(&[]);
    graph.add_node(nested("sub", chain(&["deep"]).build().unwrap()));
    graph.edge(START, "sub");
    let mut driver = watched(&graph.build().unwrap(), Script::new(), json!({}));
    driver.complete();
    let notices = driver.run.take_notices();
    let tasks = notices.iter().filter_map(|notice| match notice {
        Notice::Task(task) => Some(task),
        _ => None,
    });
    let (around, within): (Vec<_>, Vec<_>) =
        tasks.partition(|task| task.location.namespace.is_empty());
    assert_eq!(within[0].location.namespace, [format!("sub:{}", around[0].location.id)]);
    assert_ne!(within[0].location.id, around[0].location.id);
    let parts: Vec<usize> = around[0].location.id.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12]);
}

#[test]
fn attempts_are_one_task_and_a_handler_is_another() {
    let mut graph = chain(&[]);
    let retry = RetryPolicy { max_attempts: 2, ..RetryPolicy::default() };
    graph.add_node(policy(NodePolicy { retry: Some(retry), ..NodePolicy::default() }, "n"));
    graph.node("rescue");
    graph.edge(START, "n").on_error_handle("n", "rescue");
    let script = Script::new().fails("n", Category::Timeout);
    let mut driver = watched(&graph.build().unwrap(), script, json!({}));
    driver.complete();
    assert_eq!(driver.started, ["n", "n", "rescue"]);
    assert_eq!(
        notice_lines(&mut driver),
        ["n begun on null", "n failed: timeout", "rescue begun on null", "rescue done with 0"]
    );
}

#[test]
fn a_recorded_failure_is_still_reported() {
    let mut graph = chain(&["n"]);
    let channel = graph.channel("error", Reducer::Set);
    graph.on_error_record("n", channel);
    let script = Script::new().fails("n", Category::Tool);
    let mut driver = watched(&graph.build().unwrap(), script, json!({}));
    driver.complete();
    assert_eq!(notice_lines(&mut driver), ["n begun on null", "n failed: tool", "merged"]);
}

#[test]
fn sends_say_which_they_are_and_what_they_were_sent() {
    let mut graph = chain(&["a"]);
    graph.node("packet");
    graph.branch("a", "fan", 0, None);
    let script =
        Script::new().router(0, |_| choose([send("packet", json!(1)), send("packet", json!(2))]));
    let mut driver = watched(&graph.build().unwrap(), script, json!({}));
    driver.complete();
    assert_eq!(
        notice_lines(&mut driver)[2..],
        [
            "packet#0 begun with 1",
            "packet#1 begun with 2",
            "packet#0 done with 0",
            "packet#1 done with 0",
        ]
    );
}

#[test]
fn a_question_ends_a_task_until_it_begins_again_with_the_answer() {
    let graph = chain(&["n"]).build().unwrap();
    let script = Script::new().node("n", |call| match call.answers().first() {
        Some(_) => call.done([]),
        None => TaskOutcome::Ask(json!("sure?")),
    });
    let mut driver = watched(&graph, script, json!({}));
    let asked = driver.pauses();
    assert_eq!(notice_lines(&mut driver), ["n begun on null", "n asked \"sure?\""]);
    driver.run.answer(&asked[0].id, json!("yes"), driver.now).unwrap();
    driver.complete();
    assert_eq!(notice_lines(&mut driver), ["n begun on null", "n done with 0"]);
}

#[test]
fn nested_graphs_ask_what_their_tasks_ask_once_all_are_at_rest() {
    let asks = |call: &mut crate::support::Call<'_>| match call.answers().first() {
        Some(_) => call.done([]),
        None => TaskOutcome::Ask(json!("sure?")),
    };
    let script = ["x", "y"].iter().fold(Script::new(), |script, name| script.node(name, asks));
    let deep = fan(&["x", "y"], &[("log", Reducer::Append)]).build().unwrap();
    let mut middle = chain(&[]);
    middle.add_node(nested("deep", deep));
    middle.edge(START, "deep");
    let mut graph = chain(&["beside"]);
    graph.add_node(nested("middle", middle.build().unwrap()));
    graph.edge(START, "middle");
    let mut driver = watched(&graph.build().unwrap(), script, json!({}));
    let asked = driver.pauses();
    let of_questions = |notices: Vec<String>| -> Vec<String> {
        notices.into_iter().filter(|notice| notice.contains("asked")).collect()
    };
    assert_eq!(
        of_questions(notice_lines(&mut driver)),
        [
            "middle/deep/x asked \"sure?\"",
            "middle/deep/y asked \"sure?\"",
            "middle/deep asked \"sure?\", \"sure?\"",
            "middle asked \"sure?\", \"sure?\"",
        ]
    );
    driver.run.answer(&asked[0].id, json!("yes"), driver.now).unwrap();
    driver.pauses();
    assert_eq!(
        of_questions(notice_lines(&mut driver)),
        ["middle/deep asked \"sure?\"", "middle asked \"sure?\""]
    );
}
