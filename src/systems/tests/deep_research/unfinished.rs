//! Reports that do not come to their end: what of them is delivered, and what is stored.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, FinishReason, ModelRequest};
use antiphon_models::ScriptedReply;
use antiphon_runtime::{
    Answers, CancellationToken, ManualClock, OpenedThread, Snapshot, Store, ThreadRef,
};
use antiphon_systems::deep_research::{ResearchOutcome, ResearchReport, ResearchRequest, State};
use antiphon_systems::{Outcome, Session, SystemResult};
use serde_json::json;

use crate::flow::{light, light_with, light_with_each};
use crate::scene::{Library, Scene, report, unverified};
use crate::threads::{store, thread};

/// Two sentences and the beginning of a third one, as a model that replies with JSON shows them.
const BEGINNING: &str =
    r##"{"report": "# Teas\n\nGreen takes two minutes [2]. Black four [1, 9]. White takes 1"##;
const LINKED: &str = "# Teas\n\nGreen takes two minutes [About Green](https://green.example/tea). \
                      Black four [About Black](https://black.example/tea).";
const BREAKS_OFF: &str = "the report breaks off: the model has not written its end";

fn never() -> ScriptedReply {
    ScriptedReply::text("late").after(Duration::from_secs(5))
}

/// Asks in a thread, and cancels once one of these roles was asked. The clock stands.
async fn cancelled(
    mut scene: Scene,
    (store, input): (&Arc<dyn Store>, ResearchRequest),
    roles: &[&str],
) -> SystemResult<ResearchReport, State> {
    let (system, model) = scene.system();
    let token = CancellationToken::new();
    let session =
        Session { cancel: Some(token.clone()), thread: Some(thread(store)), ..scene.watched() };
    let cancels = async {
        let shown = scene.shown.map_or("", |(_, beginning)| beginning);
        let is_asked = |request: &ModelRequest| roles.contains(&&*request.tags["role"]);
        while !model.requests().iter().any(is_asked) || !scene.onlooker.has_seen(shown) {
            tokio::task::yield_now().await;
        }
        token.cancel("enough");
        std::future::pending::<()>().await;
    };
    let asked = Box::pin(system.ask(input, session));
    let result = tokio::select! {
        biased;
        () = cancels => unreachable!("it waits"),
        result = asked => result.unwrap(),
    };
    assert_eq!(result.outcome, Outcome::Cancelled);
    assert!(result.output.answer.is_empty() && result.output.claims.is_empty());
    assert!(result.output.verification_summary.is_none());
    result
}

/// The state that a thread holds.
pub(crate) async fn stored(store: &Arc<dyn Store>) -> State {
    let (system, _) = light(Library::tea()).system();
    let graph = system.graph();
    let OpenedThread { lease, contents } = thread(store).open(Arc::clone(graph)).await.unwrap();
    let state = Snapshot::of(graph, &contents.unwrap().recovered.root.state).read().unwrap();
    lease.close().await.unwrap();
    state
}

/// DR-36 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_report_that_is_cancelled_keeps_what_was_shown_of_it() {
    let store = store();
    let scene = light_with(Library::tea(), never()).showing("synthesiser", BEGINNING);
    let asked = (&store, unverified("How long do teas steep?"));
    let result = cancelled(scene, asked, &["synthesiser"]).await;
    assert_eq!(result.output.final_report, LINKED);
    assert_eq!(result.output.warnings, [BREAKS_OFF]);
    assert_eq!((result.output.observations.len(), result.output.links_removed), (2, 1));
    let cited: Vec<bool> = result.output.sources.iter().map(|source| source.is_cited).collect();
    assert_eq!(cited, [true, true, false]);
    assert_eq!(result.state.final_report, LINKED);
    assert_eq!(stored(&store).await.all_observations, result.state.all_observations);

    // The thread is resumed with the node that was cancelled.
    let mut again = light_with(Library::tea(), ScriptedReply::json(&report("Both [1].")));
    let (system, model) = again.system();
    let session = Session::new(Arc::new(ManualClock::default()));
    let resumed = system.resume(thread(&store), Answers::NONE, session).await.unwrap();
    assert_eq!((resumed.outcome, model.requests().len()), (Outcome::Answered, 1));
    assert_eq!(resumed.output.answer, "Both [About Black](https://black.example/tea).");
    assert!(resumed.output.warnings.is_empty());
}

/// DR-36 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_research_that_is_cancelled_before_its_report_has_what_its_steps_have_found() {
    let question = || unverified("How long do teas steep?");
    for shown in ["", "{\"report\": \"Green takes tw"] {
        let scene = light_with(Library::tea(), never()).showing("synthesiser", shown);
        let result = cancelled(scene, (&store(), question()), &["synthesiser"]).await;
        let found = "\n\n## Green tea\n\nTwo minutes [About Green](https://green.example/tea).";
        assert!(result.output.final_report.contains(found), "{}", result.output.final_report);
        assert!(result.output.warnings.is_empty());
    }
    let result = cancelled(light(Library::tea()), (&store(), question()), &["coordinator"]).await;
    assert_eq!(result.output.final_report, "");
}

/// DR-36 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_report_that_is_cancelled_while_it_is_verified_is_stored_without_claims() {
    let store = store();
    let scene = light(Library::tea())
        .role("reporter", [json!({"report": "Green tea steeps for two minutes [0]."})])
        .always("verifier", never())
        .always("quick_verifier", never());
    let result = cancelled(
        scene,
        (&store, "How long does green tea steep?".into()),
        &["verifier", "quick_verifier"],
    )
    .await;
    let text = "Green tea steeps for two minutes [Green]";
    assert!(result.output.final_report.starts_with(text), "{}", result.output.final_report);
    assert!(result.output.warnings.is_empty());

    let stored = stored(&store).await;
    assert_eq!(stored.citation.text(), "Green tea steeps for two minutes [Green].");
    assert_eq!(stored.all_observations, result.state.all_observations);
}

/// A report whose claims would have been verified, and that nobody has written to its end.
#[tokio::test]
async fn a_cited_report_that_is_cancelled_while_it_is_written_has_its_references() {
    let beginning = "Green tea steeps for two minutes [0]. Black tea steeps for 4";
    let scene = light(Library::tea()).always("reporter", never()).showing("reporter", beginning);
    let asked = (&store(), "How long does green tea steep?".into());
    let result = cancelled(scene, asked, &["reporter"]).await;
    let written = &result.output.final_report;
    assert!(written.starts_with("Green tea steeps for two minutes [Green]."), "{written}");
    assert!(written.contains("https://green.example/tea") && !written.contains("Black tea"));
    assert_eq!(result.output.warnings, [BREAKS_OFF]);
}

#[tokio::test]
async fn a_cited_report_that_takes_too_long_to_be_written_keeps_what_was_shown_of_it() {
    let beginning = "Green tea steeps for two minutes [0]. Black tea steeps for 4";
    let late = ScriptedReply::text("late").after(Duration::from_secs(400));
    let scene = light(Library::tea()).always("reporter", late).showing("reporter", beginning);
    let question = "How long does green tea steep?".into();
    let run = scene.ask(ResearchRequest { verify_sources: Some(true), ..question }).await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::TimeoutPartial);
    let written = &output.final_report;
    assert!(written.starts_with("Green tea steeps for two minutes [Green]."), "{written}");
    assert_eq!(output.warnings, [BREAKS_OFF, "the claims of the report were not verified"]);
    assert!(output.claims.is_empty());
    assert!(run.notes("content_reset").is_empty());
}

#[tokio::test]
async fn a_report_that_takes_too_long_or_fails_keeps_what_was_shown_of_it() {
    let late = ScriptedReply::text("late").after(Duration::from_secs(400));
    let lost = Fault::foreign(Category::ModelTransport, "model_unavailable", "gone");
    let ends = [
        (late, Outcome::Budget, ResearchOutcome::TimeoutPartial),
        (ScriptedReply::fault(lost), Outcome::NoAnswer, ResearchOutcome::Degraded),
    ];
    for (reply, outcome, research_outcome) in ends {
        let shows = |beginning| {
            let scene = light_with(Library::tea(), reply.clone());
            scene.showing("synthesiser", beginning).ask("How long do teas steep?")
        };
        let run = shows(BEGINNING).await;
        let output = &run.result.output;
        assert_eq!((run.result.outcome, output.research_outcome), (outcome, research_outcome));
        assert_eq!(
            (&*output.final_report, &output.warnings[..]),
            (LINKED, &[BREAKS_OFF.to_owned()][..])
        );
        assert!(run.notes("content_reset").is_empty());

        // What was shown is no whole sentence: something else takes its place, and that is told.
        let run = shows("{\"report\": \"Green").await;
        assert!(run.result.output.final_report.starts_with("No report was written."));
        assert_eq!(run.notes("content_reset").len(), 1);
    }
}

/// A reply that the limit of tokens cut off is asked for again, once.
#[tokio::test]
async fn a_report_that_a_limit_cuts_off_is_asked_for_again_and_then_said_to_break_off() {
    let half = || ScriptedReply::text(BEGINNING).finish(FinishReason::Length);
    let whole = ScriptedReply::json(&report("Both [1]."));
    let scene = |second| light_with_each(Library::tea(), [half(), second]);
    let run = scene(whole).ask(unverified("How long do teas steep?")).await;
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert_eq!(run.result.output.answer, "Both [About Black](https://black.example/tea).");

    let run = scene(half()).ask(unverified("How long do teas steep?")).await;
    let output = &run.result.output;
    assert_eq!(run.result.outcome, Outcome::NoAnswer);
    assert_eq!(output.research_outcome, ResearchOutcome::Degraded);
    assert_eq!((&*output.final_report, &*output.answer), (LINKED, ""));
    assert_eq!(output.warnings, [BREAKS_OFF]);
}
