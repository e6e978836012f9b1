//! Reports whose writer looks evidence up, and writes part after part.

use antiphon_citation::{
    CitationQuery, CitationRun, CitationStage, ShownPassage, SynthesisMode, Verdict,
};
use serde_json::{Value as Json, json};

use crate::scene::{HARVEST, REVENUE, STAFF, Scene, ScriptedRun, TEA};

const MINUTES: &str = "Green tea steeps for two minutes at 80 °C.";

fn search(query: &str) -> Json {
    json!({"tool": "search_evidence", "query": query})
}

fn snippet(index: usize) -> Json {
    json!({"tool": "read_snippet", "index": index})
}

fn turn(calls: &[Json], text: &str) -> Json {
    json!({"calls": calls, "text": text})
}

/// What a writer was shown.
fn shown(query: &CitationQuery) -> &[ShownPassage] {
    match query {
        CitationQuery::Compose { evidence, .. } => evidence,
        other => panic!("not a turn: {other:?}"),
    }
}

/// The index under which a passage was shown.
fn index(query: &CitationQuery, words: &str) -> usize {
    let has = |it: &&ShownPassage| it.passage.text.contains(words);
    shown(query).iter().find(has).unwrap_or_else(|| panic!("{words}: {query:#?}")).index
}

type Turn = Box<dyn Fn(&CitationQuery) -> Json>;

/// A scene of four pages with a writer of these turns; then it fails.
fn scene(turns: Vec<Turn>) -> Scene {
    let mut turns = turns.into_iter();
    Scene::new(&[TEA, HARVEST, REVENUE, STAFF])
        .settings(|it| it.synthesis_mode = SynthesisMode::React)
        .answers(move |query| turns.next().map_or(Json::Null, |turn| turn(query)))
}

fn looks_up(query: &'static str) -> Turn {
    Box::new(move |_| turn(&[search(query)], ""))
}

fn writes(text: impl Fn(&CitationQuery) -> String + 'static) -> Turn {
    Box::new(move |query| turn(&[], &text(query)))
}

fn composed(run: &ScriptedRun) -> Vec<&CitationQuery> {
    let all = run.requests.iter().map(|it| &it.query);
    all.filter(|it| matches!(it, CitationQuery::Compose { .. })).collect()
}

/// DR-40 of `docs/systems/deep-research.md`.
#[test]
fn a_report_is_written_part_after_part_from_what_was_looked_up() {
    let run = scene(vec![
        Box::new(|query| {
            assert!(shown(query).is_empty(), "nothing is shown before it is asked for");
            turn(&[search("green tea minutes")], "")
        }),
        Box::new(|query| turn(&[snippet(index(query, "Green tea"))], "")),
        Box::new(|query| {
            let tea = index(query, "Green tea");
            assert!(shown(query).iter().any(|it| it.index == tea && it.is_whole));
            let text = format!(
                "# Tea\n\n<cite key=\"{tea}\">{MINUTES}</cite> <free>So much for tea.</free>"
            );
            turn(&[search("Kenya harvest")], &text)
        }),
        writes(|query| {
            let CitationQuery::Compose { written, .. } = query else { panic!("{query:?}") };
            assert!(written.starts_with("# Tea"), "{written}");
            let harvest = index(query, "Kenya");
            format!(
                "## Kenya\n\n- <cite key=\"{harvest}\">Kenya harvested 570,000 tonnes of tea in \
                 2023.</cite>\n\n<analysis>Tea is therefore worth a look at how it is made.\
                 </analysis>"
            )
        }),
    ])
    .run();
    assert_eq!(
        run.result.report,
        "# Tea\n\nGreen tea steeps for two minutes at 80 °C [Sitea]. So much for tea.\n\n## Kenya\n\n\
         - Kenya harvested 570,000 tonnes of tea in 2023 [Siteb].\n\n\
         Tea is therefore worth a look at how it is made."
    );
    assert_eq!(composed(&run).len(), 4);
    assert!(!run.requests.iter().any(|it| matches!(it.query, CitationQuery::Write { .. })));
    assert_eq!(run.claim("Green tea").verdict, Some(Verdict::Supported));
    let (_, told) = run.events.iter().find(|it| it.0 == "grounding_validation").unwrap();
    assert_eq!(
        (&told["grounded"], &told["ungrounded"], &told["calls"]),
        (&json!(2), &json!(0), &json!(3))
    );
    run.assert_clean();
}

#[test]
fn sentences_are_claims_unless_they_only_argue() {
    let run = scene(vec![
        looks_up("green tea minutes"),
        writes(|query| {
            let tea = index(query, "Green tea");
            format!(
                "<cite key=\"{tea}\">{MINUTES}</cite> \
                 <analysis>Patience is rewarded by such a drink.</analysis> \
                 <analysis>It costs 99 dollars for each single cup.</analysis> \
                 <free>Growers of tea live to an old age.</free> \
                 The harbour of Lima is open to ships.\n\n\
                 <unverified>Growers sing while they pick the leaves.</unverified>"
            )
        }),
    ])
    .run();
    let texts: Vec<&str> = run.result.claims.iter().map(|claim| claim.text.as_str()).collect();
    let has = |words: &str| texts.iter().any(|text| text.contains(words));
    assert!(!has("Patience") && has("old age") && has("Lima"), "{texts:?}");
    assert!(has("99 dollars"), "a number is a claim, whatever the block");
    let report = &run.result.report;
    assert!(report.contains("Reportedly, Growers sing while they pick the leaves."), "{report}");
    assert!(
        report.contains("99 dollars for each single cup (not confirmed by the sources)."),
        "{report}"
    );
    assert!(report.contains("Patience is rewarded by such a drink."), "{report}");
    run.assert_clean();
}

/// DR-40 of `docs/systems/deep-research.md`.
#[test]
fn only_what_was_shown_and_fits_is_cited() {
    let run = scene(vec![
        looks_up("green tea minutes"),
        writes(|query| {
            let tea = index(query, "Green tea");
            let other = (0..4).find(|place| !shown(query).iter().any(|it| it.index == *place));
            let other = other.expect("one was not shown");
            format!(
                "<cite key=\"{tea}\">{MINUTES}</cite> \
                 <cite key=\"{other}\">The guild of growers is old and proud of it.</cite> \
                 <cite key=\"77\">Its members meet in the spring of each year.</cite> \
                 The harbour of Lima was painted white [{other}]. \
                 <cite key=\"{tea}\">Ships carry wool across an ocean.</cite>"
            )
        }),
    ])
    .settings(|it| it.corrects = false)
    .run();
    let report = &run.result.report;
    assert_eq!(report.matches('[').count(), 1, "{report}");
    assert!(report.contains("at 80 °C [Sitea]."), "{report}");
    for words in ["proud of it", "spring of each year", "painted white", "across an ocean"] {
        assert!(report.contains(&format!("{words} (not confirmed by the sources).")), "{report}");
    }
    let (_, told) = run.events.iter().find(|it| it.0 == "grounding_validation").unwrap();
    assert_eq!((&told["grounded"], &told["ungrounded"]), (&json!(1), &json!(3)));
    run.assert_clean();
}

#[test]
fn a_table_and_a_broken_tag_leave_a_report_that_can_be_read() {
    let run = scene(vec![
        looks_up("green tea minutes"),
        writes(|query| {
            let tea = index(query, "Green tea");
            format!(
                "<cite key=\"{tea}\">\n\n| Tea | Minutes |\n|---|---:|\n| Green tea steeps | two minutes |\n\n\
                 </cite>\n\nFewer than 3 < 4 <b>words</b> </cite>\n\n<CITE key='{tea}'>Green tea steeps \
                 for two minutes."
            )
        }),
    ])
    .run();
    let report = &run.result.report;
    let rows = "|\n|---|---:|\n| Green tea steeps | two minutes [Sitea] |\n";
    assert!(report.contains(rows), "{report}");
    assert!(report.ends_with("Green tea steeps for two minutes [Sitea]."), "{report}");
    assert!(!report.contains("cite") && !report.contains("CITE"), "{report}");
}

/// DR-40 of `docs/systems/deep-research.md`.
#[test]
fn calls_are_limited_and_known_ones_cost_nothing() {
    let asks: Turn =
        Box::new(|_| turn(&[search("tea"), search(" tea "), snippet(0), snippet(99)], ""));
    let over: Turn = Box::new(|query| {
        let CitationQuery::Compose { calls, calls_left, .. } = query else { panic!("{query:?}") };
        assert_eq!((calls.len(), *calls_left), (3, 0), "{calls:?}");
        assert!(calls[0].starts_with("search_evidence tea: ["), "{calls:?}");
        assert_eq!(calls[1..], ["read_snippet 0: [0]", "read_snippet 99: nothing"]);
        // No call is left, so that this turn is the last one.
        turn(&[search("Kenya")], MINUTES)
    });
    let run = scene(vec![asks, over]).settings(|it| it.max_synthesis_calls = 3).run();
    assert_eq!(composed(&run).len(), 2);
    assert!(run.result.report.starts_with("Green tea steeps"), "{}", run.result.report);

    // A writer that asks the same for ever.
    let same = std::iter::repeat_with(|| looks_up("tea")).take(50).collect();
    let run = scene(same).settings(|it| it.max_synthesis_calls = 3).run();
    assert!(composed(&run).len() <= 8, "{}", composed(&run).len());
}

#[test]
fn a_writer_that_fails_or_writes_nothing_is_followed_by_one_that_writes_in_one_go() {
    let nothing: Turn = Box::new(|_| turn(&[], " "));
    let broken: Turn = Box::new(|_| json!({"calls": [{"tool": "shell"}]}));
    let half: Turn = Box::new(|_| turn(&[search("tea")], "Half of a report."));
    for turns in [vec![], vec![nothing], vec![broken], vec![half]] {
        let text = "Green tea steeps for two minutes {Green tea}.";
        let run = scene(turns).writes(text).run();
        assert_eq!(run.result.report, "Green tea steeps for two minutes [Sitea].");
        assert!(!run.result.is_degraded);
        run.assert_clean();
    }
    let run = scene(vec![]).run();
    assert!(run.result.is_degraded, "without any writer the passages are the report");
}

#[test]
fn a_run_that_is_cut_short_has_the_parts_that_are_written() {
    let turns = vec![
        looks_up("green tea minutes"),
        Box::new(|query: &CitationQuery| {
            let text = format!("<cite key=\"{}\">{MINUTES}</cite>", index(query, "Green tea"));
            turn(&[search("Kenya")], &text)
        }) as Turn,
    ];
    let (mut run, _) = scene(turns).run_until(CitationRun::is_composing);
    assert_eq!(run.stage(), CitationStage::Write);
    assert!(run.text().starts_with("Green tea steeps"), "{}", run.text());
    run.conclude();
    assert!(run.is_finished() && !run.is_degraded());
    assert_eq!(run.result().report, "Green tea steeps for two minutes at 80 °C [Sitea].");
    assert_eq!(run.result().summary.verification_skipped.as_deref(), Some("not_finished"));
}

#[test]
fn without_evidence_or_with_a_form_the_report_is_written_in_one_go() {
    let bare = Scene::new(&[]).settings(|it| it.synthesis_mode = SynthesisMode::React);
    let run = bare.writes("Tea is a drink.").run();
    assert_eq!(run.result.report, "Tea is a drink.");
    let mut formed =
        scene(vec![]).writes_reply(|| json!({"tea": "Green tea steeps for two minutes."}));
    formed.input.output = Some(json!({"type": "object"}));
    let run = formed.run();
    assert!(composed(&run).is_empty());
    assert!(run.result.report.contains("two minutes"), "{}", run.result.report);
}
