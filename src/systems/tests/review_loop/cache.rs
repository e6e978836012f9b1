//! Results of tools that are used again within a question.

use antiphon_systems::{Outcome, Session};
use std::sync::{Arc, Mutex};

use antiphon_core::{Category, Fault, SideEffect, ToolOutcome, ToolSpec};
use antiphon_models::ScriptedReply;
use antiphon_runtime::{Answers, CallContext, ManualClock, Tool};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, approve, as_model, found, plan, reject, solved, worded};

/// A tool that counts its calls; its first calls fail, as many as given.
struct Counting {
    spec: ToolSpec,
    calls: Mutex<Vec<Json>>,
    failures: Mutex<usize>,
    answer: Json,
}

impl Counting {
    fn new(side_effect: SideEffect) -> Self {
        let mut spec = ToolSpec::new("search", "Searches.", json!({"type": "object"}));
        spec.side_effect = side_effect;
        let answer = json!({"hits": ["Lima"]});
        Self { spec, calls: Mutex::default(), failures: Mutex::new(0), answer }
    }

    fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

#[async_trait]
impl Tool for Counting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, _: &CallContext) -> ToolOutcome {
        self.calls.lock().unwrap().push(arguments);
        // So that an equal call may come meanwhile.
        tokio::task::yield_now().await;
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return Err(Fault::foreign(Category::Tool, "search_failed", "the search failed"));
        }
        Ok(self.answer.clone())
    }
}

fn search(arguments: &Json) -> ScriptedReply {
    ScriptedReply::calls([("search", arguments.clone())])
}

/// The researcher searches, is sent back, and searches again.
fn twice(first: &Json, second: &Json) -> Scene {
    Scene::new(&json!({}))
        .role("planner", [plan(&["r"], &["e"])])
        .role("critic", [approve(), reject("again"), approve(), approve()])
        .role("researcher", [search(first), found("a").into(), search(second), found("b").into()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
}

#[tokio::test]
async fn an_equal_call_is_answered_without_the_tool() {
    let tool = Arc::new(Counting::new(SideEffect::Read));
    let mut scene = twice(&json!({"q": "a", "n": 1}), &json!({"n": 1.0, "q": "a"}));
    scene.research_tools = vec![tool.clone()];
    let run = scene.ask("q").await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(tool.calls(), 1);
    let last = &run.requests("researcher")[3].messages;
    assert_eq!(last.iter().filter(|message| message.content.text().contains("Lima")).count(), 2);
    let reused = run.notes("tool_result_reused");
    assert_eq!(reused, [json!({"tool": "search", "arguments": {"n": 1.0, "q": "a"}})]);
}

#[tokio::test]
async fn another_call_or_another_question_asks_the_tool() {
    let tool = Arc::new(Counting::new(SideEffect::None));
    for text in ["a ", "A", "b"] {
        let mut scene = twice(&json!({"q": "a"}), &json!({"q": text}));
        scene.research_tools = vec![tool.clone()];
        scene.ask("q").await;
    }
    assert_eq!(tool.calls(), 6);
}

#[tokio::test]
async fn a_tool_that_changes_the_world_is_called_every_time_unless_it_says_otherwise() {
    for (side_effect, cache, calls) in [
        (SideEffect::External, None, 2),
        (SideEffect::Write, None, 2),
        (SideEffect::Read, None, 1),
        (SideEffect::Read, Some(false), 2),
        (SideEffect::External, Some(true), 1),
    ] {
        let mut tool = Counting::new(side_effect);
        tool.spec.cache = cache;
        let tool = Arc::new(tool);
        let mut scene = twice(&json!({"q": "a"}), &json!({"q": "a"}));
        scene.research_tools = vec![tool.clone()];
        scene.ask("q").await;
        assert_eq!(tool.calls(), calls, "{side_effect:?} {cache:?}");
    }
}

#[tokio::test]
async fn what_has_failed_is_tried_again() {
    let fails = Counting::new(SideEffect::Read);
    *fails.failures.lock().unwrap() = 1;
    let tells = Counting { answer: json!({"error": "no"}), ..Counting::new(SideEffect::Read) };
    for tool in [fails, tells] {
        let tool = Arc::new(tool);
        let mut scene = twice(&json!({"q": "a"}), &json!({"q": "a"}));
        scene.research_tools = vec![tool.clone()];
        assert_eq!(scene.ask("q").await.answer.outcome, Outcome::Answered);
        assert_eq!(tool.calls(), 2);
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_is_not_kept() {
    let answer = json!("x".repeat(antiphon_systems::ToolCache::LARGEST));
    let tool = Arc::new(Counting { answer, ..Counting::new(SideEffect::Read) });
    let mut scene = twice(&json!({"q": "a"}), &json!({"q": "a"}));
    scene.research_tools = vec![tool.clone()];
    scene.ask("q").await;
    assert_eq!(tool.calls(), 2);
}

#[tokio::test]
async fn equal_calls_at_a_time_are_one() {
    let tool = Arc::new(Counting::new(SideEffect::Read));
    let mut scene = Scene::new(&json!({"research_mode": "parallel"}))
        .role("planner", [plan(&["r", "s", "t"], &["e"])])
        .role("critic", [approve(), approve(), approve(), approve(), approve()])
        .branch(
            antiphon_models::ScriptBranch::when(|request| {
                request.tags["role"] == "researcher" && request.messages.len() == 2
            })
            .then_always(search(&json!({"q": "a"}))),
        )
        .role("researcher", [found("a"), found("a"), found("a")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    scene.research_tools = vec![tool.clone()];
    let run = scene.ask("q").await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.counts()["researcher"], 3);
    assert_eq!(tool.calls(), 1);
}

#[tokio::test]
async fn a_tool_that_both_have_is_one_and_two_of_a_name_are_two() {
    for (shared, calls) in [(true, 1), (false, 2)] {
        let tools = [0, 1].map(|_| Arc::new(Counting::new(SideEffect::Read)));
        let second = if shared { &tools[0] } else { &tools[1] };
        let mut scene = Scene::new(&json!({}))
            .role("planner", [plan(&["r"], &["e"])])
            .role("critic", [approve(), approve(), approve()])
            .role("researcher", [search(&json!({"q": "a"})), found("a").into()])
            .role("expert", [search(&json!({"q": "a"})), solved("x", "why").into()])
            .role("finalizer", [worded("x", "t")]);
        scene.research_tools = vec![tools[0].clone()];
        scene.expert_tools = vec![second.clone()];
        scene.ask("q").await;
        assert_eq!(tools.iter().map(|tool| tool.calls()).sum::<usize>(), calls);
    }
}

#[tokio::test]
async fn a_question_that_continues_elsewhere_knows_what_was_looked_up() {
    let clock = Arc::new(ManualClock::default());
    let sealed_store =
        SealedStore::new(Arc::new(MemoryStore::new(clock.clone())), Arc::new(Cipher::tagged()));
    let tool = Arc::new(Counting::new(SideEffect::Read));
    let thread = Arc::new(StoredThread::new(sealed_store, "q", Durability::Sync));
    // The process is lost while the critic looks at what was found.
    let mut scene = Scene::new(&json!({}))
        .role("planner", [plan(&["r"], &["e"])])
        .role(
            "critic",
            [
                ScriptedReply::from(approve()),
                ScriptedReply::from(reject("again")).after(std::time::Duration::from_secs(9)),
            ],
        )
        .role("researcher", [search(&json!({"q": "a"})), found("a").into()]);
    scene.research_tools = vec![tool.clone()];
    let model = scene.model();
    let system = scene.system(&as_model(&model));
    let session = Session { thread: Some(thread.clone()), ..Session::new(clock.clone()) };
    let critic = async {
        while model.requests().len() < 5 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        _ = system.ask("q", session) => unreachable!(),
        () = critic => {}
    }
    assert_eq!(tool.calls(), 1);

    let mut scene = Scene::new(&json!({}))
        .role("critic", [reject("again"), approve(), approve()])
        .role("researcher", [search(&json!({"q": "a"})), found("b").into()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    scene.research_tools = vec![tool.clone()];
    let model = scene.model();
    let system = scene.system(&as_model(&model));
    let answer = system.resume(thread, Answers::NONE, Session::new(clock)).await.unwrap();
    assert_eq!((answer.outcome, answer.output.retry_count), (Outcome::Answered, 1));
    assert_eq!(tool.calls(), 1);
}
