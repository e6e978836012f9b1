//! Claims stand where they say, whatever is written and whatever is edited.

use antiphon_citation::{
    CitedReport, Claim, TextEdit, TextSpan, align, blocks, brackets, sentences,
};
use proptest::prelude::*;
use serde_json::json;

use crate::scene::{HARVEST, REVENUE, STAFF, Scene, TEA, check_positions};

const PIECES: [&str; 22] = [
    "Green tea steeps for two minutes",
    "Kenya harvested 570,000 tonnes of tea",
    "Ünïcödé 東京 é",
    "Acme employs 12,400 people",
    "revenue of $9 billion",
    "[0]",
    "[1]",
    "[2][3]",
    "[0, 2]",
    " [99]",
    ".",
    ". ",
    "? ",
    "\n\n",
    "\n- ",
    "\n## Heading\n",
    "\n| a | b |\n|---|---|\n| c | d |\n",
    "`code [0]`",
    "\n```\n[1]\n```\n",
    "[x](http://y.z)",
    " e.g. ",
    " “quoted words of nobody here” ",
];

fn written() -> impl Strategy<Value = String> {
    prop::collection::vec(0..PIECES.len(), 0..30)
        .prop_map(|places| places.into_iter().map(|place| PIECES[place]).collect())
}

const VERDICTS: [&str; 5] = ["supported", "partial", "unsupported", "contradicted", "none at all"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// DR-18 of `docs/systems/deep-research.md`: `Scene::run` checks the positions after each step.
    #[test]
    fn claims_stand_where_they_say_after_every_stage(
        text in written(),
        verdicts in prop::collection::vec(0..VERDICTS.len(), 1..8),
        scores in prop::collection::vec(0_u8..=10, 1..8),
    ) {
        let (mut asked, mut judged) = (0, 0);
        let run = Scene::new(&[TEA, HARVEST, REVENUE, STAFF])
            .settings(|it| it.revises = true)
            .writes_reply(move || json!(text))
            .verifies(move |_| {
                asked += 1;
                json!(VERDICTS[verdicts[asked % verdicts.len()]])
            })
            .judges(move |_| {
                judged += 1;
                json!(f64::from(scores[judged % scores.len()]) / 10.0)
            })
            .run();
        check_positions(&run.result);
        prop_assert!(run.result.audit.is_clean(), "{}\n{:?}", run.result.report, run.result.audit);
    }

}

proptest! {
    #[test]
    fn edits_keep_claims_where_they_stand(
        parts in prop::collection::vec("[a-zé东 ]{1,8}", 1..8),
        edits in prop::collection::vec((0_usize..8, "[xü ]{0,10}"), 0..8),
        claimed in prop::collection::vec(any::<bool>(), 8),
    ) {
        let mut text = String::new();
        let mut spans = Vec::new();
        for part in &parts {
            let start = text.len();
            text.push_str(part);
            spans.push(TextSpan::new(start, text.len()));
            text.push('\n');
        }
        let claims = spans.iter().zip(&claimed).filter(|(_, is_claim)| **is_claim).map(|(span, _)| Claim {
            span: Some(*span),
            sentence: span.of(&text).unwrap().to_owned(),
            ..Claim::default()
        });
        let mut report = CitedReport {
            claims: claims.collect(),
            text: text.clone(),
            ..CitedReport::default()
        };
        let count = spans.len();
        let edits: Vec<TextEdit> = edits
            .into_iter()
            .map(|(place, replacement)| TextEdit {
                span: spans[place % count],
                expected: spans[place % count].of(&text).unwrap().to_owned(),
                replacement,
            })
            .collect();
        // Of several edits of one part the first is made.
        let mut expected = parts.clone();
        let mut done = std::collections::BTreeSet::new();
        for edit in &edits {
            let place = spans.iter().position(|span| *span == edit.span).unwrap();
            if done.insert(place) {
                expected[place].clone_from(&edit.replacement);
            }
        }
        let summary = report.edit(edits);
        prop_assert!(report.is_consistent());
        prop_assert_eq!(summary.applied, done.len());
        let expected: String = expected.into_iter().map(|part| part + "\n").collect();
        prop_assert_eq!(report.text, expected);
    }

    #[test]
    fn sentences_and_blocks_cover_a_text_in_order(text in any::<String>()) {
        let mut end = 0;
        for span in sentences(&text) {
            prop_assert!(span.start >= end && span.of(&text).is_some());
            prop_assert!(text[end..span.start].trim().is_empty());
            end = span.end;
        }
        prop_assert!(text[end..].trim().is_empty());
        let mut end = 0;
        for block in blocks(&text) {
            prop_assert!(block.lines.start >= end && block.lines.holds(block.content));
            end = block.lines.end;
        }
        for bracket in brackets(&text) {
            prop_assert_eq!(bracket.span.of(&text), Some(&*format!("[{}]", bracket.label)));
        }
    }

    #[test]
    fn a_part_of_a_page_is_found_there(page in "[a-z “”\n东é.]{0,200}", start in 0_usize..100, length in 1_usize..60) {
        let part: String = page.chars().skip(start).take(length).collect();
        if !part.trim().is_empty() {
            let found = align(&part, &page).and_then(|span| span.of(&page));
            prop_assert_eq!(found, Some(part.trim()));
        }
    }
}
