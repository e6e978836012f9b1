//! Questions that nobody can answer, and answers that keep the expert's words: RL-29 to RL-33.

use antiphon_core::budget::BudgetDimension;
use antiphon_systems::Outcome;
use antiphon_systems::review_loop::{FAILURE_TEXT, Participant};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, approve, found, plan, reject, solved, worded};

fn not_known(why: &str) -> Json {
    json!({"decision": "not_known", "feedback": why})
}

fn unknown_plan(why: &str) -> Json {
    json!({"research_steps": [], "expert_steps": [why], "known": false})
}

fn unknown_answer(why: &str) -> Json {
    json!({"expert_answer": why, "reasoning_trace": "no source", "known": false})
}

fn assert_no_answer(run: &ScriptedRun, reason: &str) {
    assert_eq!(run.answer.outcome, Outcome::NoAnswer);
    assert_eq!(run.answer.reason.as_deref(), Some(reason));
    assert_eq!(run.answer.output.final_answer, FAILURE_TEXT);
    assert_eq!(run.agents().last(), Some(&"finalizer_bypass"));
    assert!(run.requests("finalizer").is_empty(), "nobody words what is not known");
}

/// RL-29 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_planner_that_says_that_nobody_can_know_ends_the_question_if_its_critic_agrees() {
    let why = "Only the person who asks knows what they ate.";
    for format in ["plain", "short"] {
        let run = Scene::new(&json!({"answer_format": format}))
            .role("planner", [unknown_plan(why)])
            .role("critic", [approve()])
            .ask("What did I have for breakfast?")
            .await;
        assert_no_answer(&run, why);
        assert_eq!(run.answer.output.retry_count, 0);
        let shown = run.requests("critic")[0].messages[1].content.to_string();
        assert!(shown.contains("<not_known>"), "{shown}");
        assert_eq!(run.notes("step_determined").last().unwrap()["rule"], "plan_not_known");
        assert_eq!(run.notes("plan_created")[0]["known"], false);
    }
}

/// RL-29 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_planner_that_gives_up_too_early_plans_again() {
    let run = Scene::new(&json!({"answer_format": "plain"}))
        .role("planner", [unknown_plan("Nobody knows."), plan(&[], &["add"])])
        .role("critic", [reject("it can be added"), approve(), approve()])
        .role("expert", [solved("7", "3 + 4")])
        .ask("3 + 4?")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!((run.answer.output.retry_count, run.answer.reason), (1, None));
}

/// RL-30 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn an_expert_that_does_not_know_says_why_and_its_critic_agrees() {
    let why = "The cup of 2034 has not been run.";
    let run = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["Name the winner."])])
        .role("critic", [approve(), approve()])
        .role("expert", [unknown_answer(why)])
        .ask("Who won the World Cup of 2034?")
        .await;
    assert_no_answer(&run, why);
    assert_eq!(run.answer.output.error_component.as_deref(), Some("expert"));
    assert_eq!(run.answer.error, None);
}

/// RL-31 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_critic_does_not_approve_a_guess() {
    let why = "Nobody but the asker knows.";
    let guessed = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["Name it."])])
        .role("critic", [approve(), not_known(why)])
        .role("expert", [solved("eggs", "people often have eggs")])
        .ask("What did I have for breakfast?")
        .await;
    assert_no_answer(&guessed, why);
    let planned = Scene::new(&json!({"finalizer_on_failure": "model"}))
        .role("planner", [plan(&[], &["Name it."])])
        .role("critic", [not_known(why)])
        .ask("What did I have for breakfast?")
        .await;
    assert_no_answer(&planned, why);
}

/// RL-31 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn not_known_needs_a_reason_and_does_not_end_research() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", [not_known(" "), not_known("the king of France does not exist")])
        .ask("How old is the king of France?")
        .await;
    assert_no_answer(&run, "the king of France does not exist");
    let research = Scene::new(&json!({"answer_format": "plain"}))
        .role("planner", [plan(&["r"], &["e"])])
        .role("critic", [approve(), not_known("no source"), approve(), approve()])
        .role("researcher", [found("a guess"), found("It was not found.")])
        .role("expert", [solved("x", "why")])
        .ask("q")
        .await;
    assert_eq!(research.answer.outcome, Outcome::Answered);
    assert_eq!(research.answer.output.retries_by_agent.researcher, 1, "it counts as a rejection");
}

#[tokio::test]
async fn an_approval_with_null_as_feedback_is_one() {
    let null = json!({"decision": "approve", "feedback": null});
    let run = Scene::new(&json!({"answer_format": "plain"}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", [null.clone(), null])
        .role("expert", [solved("x", "why")])
        .ask("q")
        .await;
    assert_eq!(run.requests("critic").len(), 2, "it is not asked again");
    assert_eq!(run.answer.outcome, Outcome::Answered);
}

/// RL-32 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_plain_answer_is_the_experts_and_no_model_words_it() {
    let answer = "The sky is blue because air scatters short waves of light more than long ones. \
                  At sunset the way is longer, and red is left.";
    let run = Scene::new(&json!({"answer_format": "plain"}))
        .role("planner", [plan(&[], &["Explain it."])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved(answer, "Rayleigh scattering")])
        .ask("Explain in two or three sentences why the sky is blue.")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.answer.output.final_answer, answer);
    assert_eq!(run.answer.output.final_reasoning_trace, "Rayleigh scattering");
    assert_eq!(run.notes("finalized"), [json!({"outcome": "answered", "bypassed": true})]);
    let last = run.log().last().unwrap();
    assert_eq!(last.sender, Participant::Finalizer);
    assert!(last.content.contains("scatters"));
}

/// RL-33 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_short_answer_that_changes_a_number_a_date_or_a_name_is_refused() {
    for (expert, short) in SAME {
        assert_eq!(
            shortened(expert, short).await,
            ((*short).to_owned(), None),
            "{expert} | {short}"
        );
    }
    for (expert, short, changed) in CHANGED {
        let (answer, refused) = shortened(expert, short).await;
        let refused = refused.unwrap_or_default();
        assert_eq!(answer, *expert, "{expert} | {short}");
        assert!(refused.contains(changed), "{expert} | {short}: {refused}");
    }
}

/// RL-39 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_short_answer_that_leaves_out_a_part_of_a_list_is_refused() {
    for (expert, short, dropped) in LISTS {
        let (answer, refused) = shortened(expert, short).await;
        let expected = if dropped.is_empty() { short } else { expert };
        assert_eq!(answer, *expected, "{expert} | {short}");
        assert_eq!(refused.unwrap_or_default(), *dropped, "{expert} | {short}");
    }
}

/// The answer when a finalizer words the expert's, and why its wording was refused.
async fn shortened(expert: &str, short: &str) -> (String, Option<String>) {
    let run = Scene::new(&json!({"answer_format": "short"}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved(expert, "why")])
        .role("finalizer", [worded(short, "short")])
        .ask("q")
        .await;
    let refused = run.notes("final_answer_refused").first().map(|note| note["changed"].clone());
    (run.answer.output.final_answer, refused.and_then(|word| word.as_str().map(str::to_owned)))
}

/// An answer with a list, a shorter one, and the part that it drops.
const LISTS: &[(&str, &str, &str)] = &[
    ("Paris and Berlin.", "Paris", "Berlin"),
    ("Paris and Berlin.", "Berlin, Paris", ""),
    ("The capitals are Paris, New York and Berlin.", "Paris and Berlin", "New York"),
    ("The capitals are Paris and Berlin.", "Paris and Berlin", ""),
    ("It is between the Rhine and the Danube.", "the Rhine", "Danube"),
    ("Trinidad and Tobago", "Trinidad", "Tobago"),
    ("apples and ripe pears", "apples", "ripe pears"),
    ("- iron\n- copper\n- tin", "iron, tin", "copper"),
    ("132, 133, 134", "132, 134", "133"),
    ("1,234 and 5,678", "5678 and 1234", ""),
    ("St. Louis or Kansas City", "St. Louis", "Kansas City"),
    ("Paris; Rom und Bern", "Paris; Rom; Bern", ""),
    // What is about something else than the list, or is no list.
    ("Simon and Garfunkel released it in 1969.", "1969", ""),
    ("Lyon, the third-largest city in France.", "Lyon", ""),
    ("Lyon, France", "Lyon", ""),
    ("Yes, it rains and it pours.", "Yes", ""),
    ("The sum of 17 and 25 is 42.", "42", ""),
];

/// An answer, and a shorter one that says the same.
const SAME: &[(&str, &str)] = &[
    ("The answer is 42 metres.", "42"),
    ("The answer is 42 metres.", "42 metres"),
    ("It has 1,234,567 inhabitants.", "1234567"),
    ("Es sind 1.234.567 Einwohner.", "1234567"),
    ("About 3 million people.", "3,000,000"),
    ("About 2.5 million people.", "2500000"),
    ("There are five of them.", "5"),
    ("There are 5 of them.", "five"),
    ("It was on 2023-04-15.", "15 April 2023"),
    ("It was on April 15, 2023.", "2023-04-15"),
    ("The capital of Peru is Lima.", "Lima"),
    ("The capital of Peru is Lima.", "The capital is Lima"),
    ("It fell by -5 degrees.", "-5"),
    ("It rose by 5% in 1999.", "5%"),
    ("The numbers are 132, 133 and 134.", "132,133,134"),
    ("No, it is not prime.", "No"),
    ("Between 1889 and 1930 lie 41 years.", "41 years"),
    ("3.0", "3"),
    ("München", "München"),
    ("The atoms are C, H and O.", "C, H, O"),
];

/// An answer, a shorter one that says something else, and what differs.
const CHANGED: &[(&str, &str, &str)] = &[
    ("The answer is 42.", "43", "43"),
    ("The answer is 42.", "4", "4"),
    ("The answer is 42.5.", "42", "42"),
    ("About 3 million people.", "3", "3"),
    ("It is 35.6 °C.", "35.6 °F", "°F"),
    ("It is 3.14159.", "3.14", "3.14"),
    ("It has 1,234,567 inhabitants.", "1,234,576", "1,234,576"),
    ("It fell to -5 degrees.", "5 degrees", "5"),
    ("There are 5 of them.", "5%", "5"),
    ("It was on 2023-04-15.", "16 April 2023", "16"),
    ("It was on 2023-04-15.", "15 May 2023", "May"),
    ("The capital of Peru is Lima.", "Cusco", "Cusco"),
    ("It is prime.", "No", "No"),
    ("It is prime.", "not prime", "not"),
    ("It is vitamin B12.", "B6", "B6"),
    ("There are five of them.", "6", "6"),
];

/// Trimming for a benchmark leaves lists and quotations as they are.
#[tokio::test]
async fn a_list_of_numbers_and_two_quotations_keep_their_signs() {
    let trimmed = async |answer: &str| {
        let run = Scene::new(&json!({"answer_format": "gaia"}))
            .role("planner", [plan(&[], &["e"])])
            .role("critic", [approve(), approve()])
            .role("expert", [solved(answer, "why")])
            .role("finalizer", [worded(answer, "t")])
            .ask("q")
            .await;
        run.answer.output.final_answer
    };
    for same in ["132,133,134", "\"A\" and \"B\"", "U.S.", "1,23", "12,3456", "a,b"] {
        assert_eq!(trimmed(same).await, same);
    }
    for (answer, bare) in
        [("12,345", "12345"), ("$1,234,567.50", "$1234567.50"), ("“A”", "A"), ("'x.'", "x")]
    {
        assert_eq!(trimmed(answer).await, bare);
    }
}

#[tokio::test]
async fn a_spent_budget_says_which_limit_it_was_and_what_raises_it() {
    let run = Scene::new(&json!({"recursion_limit": 3}))
        .role("planner", [plan(&[], &["e"])])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Budget);
    let error = run.answer.error.unwrap();
    assert_eq!(error.code, "budget_exhausted");
    assert_eq!(error.message, "the question reached its limit of supersteps: 3");
    assert_eq!(error.hint.as_deref(), Some("raise `recursion_limit`"));
    assert_eq!(error.details["dimension"], BudgetDimension::Supersteps.as_str());
}
