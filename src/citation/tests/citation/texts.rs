//! Sentences, blocks, quotes, brackets, keys and scores of pages.

use antiphon_citation::{
    BlockKind, CitationQuery, CitationRequest, ConfidenceLevel, PageOrigin, Verdict, align, blocks,
    brackets, confidence, page_score, sentences,
};
use serde_json::{Value as Json, json};

use crate::scene::{HARVEST, REVENUE, STAFF, Scene, TEA, page};

#[test]
fn sentences_end_where_readers_end_them() {
    for (text, count) in [
        ("It is 3.5 m. It is 4 m.", 2),
        ("Dr. J. R. Smith met Mr. Jones vs. nobody.", 1),
        ("See e.g. the list, i.e. all of it.", 1),
        ("Read https://a.example/b.c?d=e. Then go.", 2),
        ("The U.S. economy grew. It did.", 2),
        ("Am 3. Mai war es so. Am 4. auch.", 2),
        ("It was 2023. Revenue rose.", 2),
        ("Really?! Yes… Perhaps.", 3),
        ("“So it is.” He left.", 2),
        ("東京は大きい。京都は古い！本当？", 3),
        ("यह है। वह है।", 2),
        ("هل هذا؟ نعم.", 2),
        ("It is so. [Tea] And so on.", 2),
        ("No. 5 is here. It said no. Then it left.", 3),
        ("Acme Inc. 5 left. acme.com stayed.", 1),
        ("", 0),
    ] {
        let found: Vec<_> = sentences(text).into_iter().filter_map(|span| span.of(text)).collect();
        assert_eq!(found.len(), count, "{text}: {found:?}");
    }
}

#[test]
fn blocks_of_markdown_are_told_apart() {
    let text = "# A\nOne\ntwo\n\n- item\n  more\n1. first\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n[0] code\n```\n> quote\n";
    let kinds: Vec<_> = blocks(text).into_iter().map(|block| block.kind).collect();
    let expected = [
        BlockKind::Heading(1),
        BlockKind::Paragraph,
        BlockKind::Item,
        BlockKind::Item,
        BlockKind::TableHead,
        BlockKind::TableHead,
        BlockKind::TableRow,
        BlockKind::Code,
        BlockKind::Paragraph,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_quote_is_the_text_of_the_page_whatever_the_model_says() {
    let text = "Intro. The  harvest\nof “green” tea failed in 2023 because of the late rain. End.";
    let found = |quote: &str| align(quote, text).and_then(|span| span.of(text));
    assert_eq!(
        found("The harvest of \"green\" tea failed"),
        Some("The  harvest\nof “green” tea failed")
    );
    // One word of many differs, and the page decides.
    let near = found("The harvest of green tea failed in 2022 because of the late rain").unwrap();
    assert!(near.contains("2023"), "{near}");
    assert_eq!(found("The harvest of black coffee succeeded in 2022 because of sun"), None);
    assert_eq!(found(""), None);
}

#[test]
fn brackets_in_code_links_and_task_lists_are_no_citations() {
    let text = "A [1].\n\n```\n[2]\n```\n`[3]` [four](http://x.y) - see [5, 6]\n\n- [ ] task\n- [x] done\n";
    let labels: Vec<_> = brackets(text).into_iter().map(|it| it.label).collect();
    assert_eq!(labels, ["1", "5, 6"]);
}

#[test]
fn what_only_looks_like_code_is_checked() {
    let lie = "Acme killed 45,000 people in 2021, see https://evil.example/x [Smith].";
    for text in [
        format!("```pip install tea```\n\n{lie}"),
        format!("    ```\n\n{lie}\n\n    ```"),
        format!("```\n\n{lie}"),
        format!("Escaped \\` back-ticks. {lie} Are \\` no code."),
        format!("Runs `` of back-ticks. {lie} Differ ` in length."),
    ] {
        let run = Scene::new(&[TEA]).writes(&text).run();
        let report = &run.result.report;
        assert!(!report.contains("evil.example") && !report.contains("[Smith]"), "{report}");
        assert!(report.contains("(not confirmed by the sources)"), "{report}");
        run.assert_clean();
    }
}

#[test]
fn many_fences_that_nothing_closes_cost_no_more_than_one() {
    let text = "~~~a\n".repeat(200_000);
    assert_eq!(blocks(&text).len(), 1, "a paragraph");
}

#[test]
fn pages_behind_a_wall_are_no_good_sources() {
    assert!(page_score("Subscribe to continue reading this article about tea.") < 0.5);
    assert!(page_score("Abstract. We study tea.") < 0.5);
    assert!(page_score(&[TEA, HARVEST, REVENUE].join(" ").repeat(4)) >= 0.5);
}

/// DR-19 of `docs/systems/deep-research.md`.
#[test]
fn a_mayor_is_no_hedge_and_two_hedges_count_twice() {
    let score = |claim: &str| format!("{:.2}", confidence(claim, &[]).0);
    assert_eq!(score("The Mayor spoke in May 2021."), score("The clerk spoke in June 2021."));
    assert_eq!(score("It might possibly rain."), "0.20");
    assert_eq!(score("It is about tea."), "0.50");
    assert_eq!(score("It costs about 5 dollars."), "0.35");
}

/// DR-19 of `docs/systems/deep-research.md`: who checks which claim.
#[test]
fn a_claim_that_names_its_source_and_repeats_it_is_checked_quickly() {
    let level_of = |text: &str| {
        let run = Scene::new(&[TEA]).writes(text).run();
        let level = |request: &CitationRequest| match &request.query {
            CitationQuery::Verify { level, .. } => Some(*level),
            _ => None,
        };
        run.requests.iter().find_map(level)
    };
    let quoted = "According to the guild, green tea steeps {Green tea}.";
    assert_eq!(level_of(quoted), Some(ConfidenceLevel::High));
    let hedged = "Green tea might possibly be seen to steep in a pot of glass {Green tea}.";
    assert_ne!(level_of(hedged), Some(ConfidenceLevel::High));
}

/// DR-20 of `docs/systems/deep-research.md`.
#[test]
fn a_verdict_in_words_is_read_with_its_negation() {
    for (text, verdict) in [
        ("partially supported", Verdict::Partial),
        ("The claim is not supported.", Verdict::Unsupported),
        ("UNSUPPORTED", Verdict::Unsupported),
        ("Supported by the evidence", Verdict::Supported),
        ("It contradicts a supported claim.", Verdict::Contradicted),
    ] {
        assert_eq!(Verdict::parse(text), Some(verdict), "{text}");
    }
    assert_eq!(Verdict::parse("perhaps"), None);
}

/// DR-17 of `docs/systems/deep-research.md`.
#[test]
fn indices_become_keys_of_sources_and_unknown_ones_go() {
    let mut scene = Scene::new(&[TEA, HARVEST, REVENUE]);
    scene.input.sources[1] = page("https://www.sitea.example/2", HARVEST);
    let text = "Green tea steeps for two minutes {Green tea}{Kenya}. Kenya grows tea {Kenya} [99].";
    let run = scene.writes(text).run();
    let report = &run.result.report;
    assert!(report.starts_with("Green tea steeps for two minutes [Sitea][Sitea-2]."), "{report}");
    assert!(report.ends_with("Kenya grows tea [Sitea-2]."), "{report}");
    assert_eq!(run.result.summary.removed_markers, 1);
    assert_eq!(run.result.references.len(), 2);
    run.assert_clean();
}

/// DR-17 of `docs/systems/deep-research.md`: a sentence says that its citation stood for nothing.
#[test]
fn a_sentence_without_its_invented_citation_says_that_nothing_confirms_it() {
    let unmarked = "Tea is (sic) a drink. Green tea steeps for two minutes [Sitea].";
    for (invented, marked) in [
        ("Tea heals [99].", "Tea heals (not confirmed by the sources)."),
        ("Tea heals. [99]", "Tea heals (not confirmed by the sources)."),
        ("[99] Tea heals.", "Tea heals (not confirmed by the sources)."),
        ("Tea heals [^1].", "Tea heals (not confirmed by the sources)."),
        ("Tea heals [Reuters].", "Tea heals (Reuters) (not confirmed by the sources)."),
        ("Tea [heals](https://a.example/b).", "Tea heals (not confirmed by the sources)."),
    ] {
        let text = format!(
            "{invented} Tea is [sic] a drink. Green tea steeps for two minutes {{Green tea}} [99]."
        );
        let run = Scene::new(&[TEA, HARVEST]).writes(&text).run();
        assert_eq!(run.result.report, format!("{marked} {unmarked}"));
        assert!(run.claim("Tea heals").is_abstained, "{invented}");
        assert_eq!(run.result.summary.verdicts.abstained_count, 1);
        run.assert_clean();
    }
    // Where a passage says so, the sentence cites that one.
    let text = "Kenya harvested 570,000 tonnes of tea in 2023 [99].";
    let run = Scene::new(&[TEA, HARVEST]).writes(text).run();
    assert_eq!(run.result.report, "Kenya harvested 570,000 tonnes of tea in 2023 [Siteb].");
}

#[test]
fn references_show_documents_by_their_paths() {
    let mut scene = Scene::new(&[TEA, HARVEST, REVENUE]);
    let [first, second, third] = &mut scene.input.sources[..] else { unreachable!() };
    first.url = "drinks/green_tea.md".to_owned();
    second.url = "kenya.md".to_owned();
    second.title = second.url.clone();
    third.url = "file:///docs/acme.md".to_owned();
    let text = "Tea steeps {Green tea}. Kenya grows tea {Kenya}. Acme reported revenue {Acme}.";
    let run = scene.writes(text).run();
    let expected = "## References\n\n- [APage] A page, `drinks/green_tea.md`\n- [KenyaMd] `kenya.md`\n- [APage-2] A page, `/docs/acme.md`";
    assert!(run.result.markdown().ends_with(expected), "{}", run.result.markdown());
}

#[test]
fn keys_come_from_hosts_and_from_titles_where_many_share_a_host() {
    let mut scene = Scene::new(&[TEA, HARVEST, REVENUE]);
    let sources = &mut scene.input.sources;
    sources[0].url = "https://www.bbc.co.uk/tea".to_owned();
    sources[1].url = "https://en.wikipedia.org/wiki/Tea".to_owned();
    sources[1].title = "Tea in Kenya - Wikipedia".to_owned();
    sources[2].url = "file:///docs/annual-report.md".to_owned();
    sources[2].title = String::new();
    let text = "Tea steeps two minutes {Green tea}. Kenya harvested tea {Kenya}. Acme reported revenue {Acme}.";
    let run = scene.writes(text).run();
    let keys: Vec<_> = run.result.references.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(keys, ["Bbc", "TeaInKenya", "Annualreport"]);
    run.assert_clean();
}

/// DR-15 of `docs/systems/deep-research.md`.
#[test]
fn snippets_are_evidence_where_no_page_could_be_fetched() {
    let mut scene = Scene::new(&["", ""]);
    for source in &mut scene.input.sources {
        source.origin = PageOrigin::Found;
        source.snippet = HARVEST.to_owned();
    }
    let run = scene.writes("Kenya harvested 570,000 tonnes of tea in 2023 {Kenya}.").run();
    assert!(run.result.evidence.iter().all(|one| one.is_snippet && one.span.is_none()));
    assert_eq!(run.result.references.len(), 1);
    let markdown = run.result.markdown();
    assert!(markdown.ends_with(" (not read, a snippet of it)"), "{markdown}");
    run.assert_clean();
}

/// Where one page was read and the others were only found, one of which cannot be read.
fn half_read() -> Scene {
    let mut scene = Scene::new(&[TEA, "", "", REVENUE]);
    let sources = &mut scene.input.sources;
    for source in &mut sources[1..3] {
        source.origin = PageOrigin::Found;
        HARVEST.clone_into(&mut source.snippet);
    }
    STAFF.clone_into(&mut sources[2].snippet);
    scene
}

/// DR-15 of `docs/systems/deep-research.md`.
#[test]
fn a_page_that_was_only_found_is_read_before_it_is_cited() {
    let harvest = format!("{HARVEST} The rest was sold to the guild.");
    let read = page("https://siteb.example/1", &harvest);
    let run = half_read()
        .writes("Kenya harvested 570,000 tonnes of tea in 2023 {Kenya}. Acme employs 12,400 people {Acme employs}.")
        .answers(move |query| match query {
            CitationQuery::Read { url, .. } if *url == read.url => json!(read),
            _ => Json::Null,
        })
        .run();
    let asked = run.requests.iter().filter(|it| matches!(it.query, CitationQuery::Read { .. }));
    assert_eq!(asked.count(), 2);
    let snippets: Vec<_> = run.result.evidence.iter().filter(|one| one.is_snippet).collect();
    assert_eq!(snippets.iter().map(|one| one.source).collect::<Vec<_>>(), [2]);
    assert_eq!(run.result.sources[1].origin, PageOrigin::Fetched);
    assert!(run.result.sources[2].is_unreadable && !run.result.sources[1].is_unreadable);
    let markdown = run.result.markdown();
    let told = markdown.lines().filter(|line| line.ends_with("(not read, a snippet of it)"));
    assert_eq!(told.count(), 1, "{markdown}");
    run.assert_clean();
}

/// DR-15 of `docs/systems/deep-research.md`.
#[test]
fn a_snippet_of_a_page_that_nobody_has_tried_to_read_is_no_evidence() {
    let mut scene = half_read();
    // Nothing of them bears on the question, so that they are not read.
    scene.input.question = "What is known of green steeping?".to_owned();
    let run = scene.writes("Green tea steeps for two minutes {Green}.").run();
    assert!(run.result.evidence.iter().all(|one| !one.is_snippet), "{:#?}", run.result.evidence);
    run.assert_clean();
}

#[test]
fn a_short_quotation_is_evidence_as_the_sentence_that_it_stands_in() {
    let text = "# Notice periods in Europe\nIn Germany the notice period is 4 weeks. In France it is 3 months. \
                It was agreed. Sales: 12 tonnes a year. Prices rose, they say; prices rose, he says. \
                He said “It is \
                over.” Never. He is in the harbour, she is in the harbour. The rest is unknown.";
    for (quote, kept) in [
        ("In France it is 3 months.", Some("In France it is 3 months.")),
        ("It was agreed.", Some("It was agreed.")),
        ("Never.", Some("Never.")),
        ("He said “It is over.”", Some("He said “It is over.”")),
        ("12 tonnes", Some("Sales: 12 tonnes a year.")),
        ("France it is", Some("In France it is 3 months.")),
        ("rose, they say", Some("Prices rose, they say; prices rose, he says.")),
        ("prices rose", None),
        ("they say; prices", Some("Prices rose, they say; prices rose, he says.")),
        ("in the harbour", None),
        ("Sales", None),
        ("months", None),
        ("periods in Europe", None),
        ("# Notice periods in Europe", None),
        ("In Spain it is 15 days.", None),
    ] {
        let scene = Scene::new(&[text]).settings(|it| it.extracts_with_model = true);
        let spans = json!({"spans": [{"quote": quote, "relevance": 1}]});
        let run = scene.answers(move |_| spans.clone()).run();
        let quotes: Vec<_> = run.result.evidence.iter().map(|it| it.quote.as_str()).collect();
        match kept {
            Some(kept) => assert!(quotes.contains(&kept), "{quote}: {quotes:?}"),
            None => assert!(!quotes.contains(&quote), "{quote}: {quotes:?}"),
        }
    }
}

#[test]
fn passages_that_a_model_makes_up_are_no_evidence() {
    let scene = Scene::new(&[TEA]).settings(|it| it.extracts_with_model = true);
    let spans = json!({"spans": [
        {"quote": "Green tea steeps for two minutes at 80 °C", "relevance": 0.9},
        {"quote": "Green tea cures all known diseases of the heart.", "relevance": 1.0},
    ]});
    let run = scene.answers(move |_| spans.clone()).run();
    let quotes: Vec<_> = run.result.evidence.iter().map(|one| one.quote.as_str()).collect();
    assert_eq!(quotes, ["Green tea steeps for two minutes at 80 °C"]);
    // No model has written, so the passage is the report.
    assert!(run.result.is_degraded);
    assert!(run.result.report.contains("two minutes at 80 °C [Sitea]"));
    run.assert_clean();
}
