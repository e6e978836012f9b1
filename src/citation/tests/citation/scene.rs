//! What the tests share: pages, and models that answer from a script.

use std::collections::BTreeMap;

use antiphon_citation::{
    CitationInput, CitationQuery, CitationRequest, CitationResult, CitationRun, CitationSettings,
    CitedSource, PageOrigin, Passage, VerificationItem,
};
use serde_json::{Value as Json, json};

use crate::documented_events::DocumentedEvents;

pub(crate) const TEA: &str =
    "Green tea steeps for two minutes at 80 °C, says the guild of growers.";
pub(crate) const HARVEST: &str =
    "Kenya harvested 570,000 tonnes of tea in 2023, which was 6 % more than in 2022.";
pub(crate) const REVENUE: &str =
    "Acme reported revenue of $3.19 billion in 2023 and a profit of $410 million.";
pub(crate) const STAFF: &str =
    "Acme employs 12,400 people in 14 countries, and Globex employs 9,100 people.";

/// A page that was fetched.
pub(crate) fn page(url: &str, text: &str) -> CitedSource {
    let title = "A page".to_owned();
    let (url, text) = (url.to_owned(), text.to_owned());
    CitedSource { url, title, text, origin: PageOrigin::Fetched, ..CitedSource::default() }
}

type Answer<Q> = Box<dyn FnMut(&Q) -> Json>;

/// A run with everything scripted. By default the verifier finds all claims supported.
pub(crate) struct Scene {
    pub(crate) input: CitationInput,
    write: Answer<Vec<Passage>>,
    verify: Answer<VerificationItem>,
    judge: Answer<VerificationItem>,
    rest: Answer<CitationQuery>,
}

/// A run that has ended, and what it asked and reported on the way.
pub(crate) struct ScriptedRun {
    pub(crate) result: CitationResult,
    /// The pipeline at its end.
    pub(crate) pipeline: CitationRun,
    pub(crate) requests: Vec<CitationRequest>,
    pub(crate) events: Vec<(String, Json)>,
}

impl Scene {
    pub(crate) fn new(pages: &[&str]) -> Self {
        let url = |place: usize| {
            format!("https://site{}.example/{place}", ["a", "b", "c", "d"][place % 4])
        };
        let sources =
            pages.iter().enumerate().map(|(place, text)| page(&url(place), text)).collect();
        let settings = CitationSettings {
            extracts_with_model: false,
            revises: false,
            min_relevance: 0.0,
            ..CitationSettings::default()
        };
        let question =
            "What is known of tea, Kenya, Acme and Globex: revenue, profit, people?".to_owned();
        Self {
            input: CitationInput { question, sources, settings, ..CitationInput::default() },
            write: Box::new(|_| Json::Null),
            verify: Box::new(|_| json!("supported")),
            judge: Box::new(|_| json!(0.0)),
            rest: Box::new(|_| Json::Null),
        }
    }

    pub(crate) fn settings(mut self, change: impl Fn(&mut CitationSettings)) -> Self {
        change(&mut self.input.settings);
        self
    }

    /// What is written. `{words}` is the index of the evidence that has these words.
    pub(crate) fn writes(mut self, text: &str) -> Self {
        let text = text.to_owned();
        self.write = Box::new(move |evidence| json!({"report": indexed(&text, evidence)}));
        self
    }

    /// A reply of any form in place of a report.
    pub(crate) fn writes_reply(mut self, reply: impl Fn() -> Json + 'static) -> Self {
        self.write = Box::new(move |_| reply());
        self
    }

    pub(crate) fn verifies(
        mut self,
        verify: impl FnMut(&VerificationItem) -> Json + 'static,
    ) -> Self {
        self.verify = Box::new(verify);
        self
    }

    pub(crate) fn judges(mut self, judge: impl FnMut(&VerificationItem) -> Json + 'static) -> Self {
        self.judge = Box::new(judge);
        self
    }

    pub(crate) fn answers(mut self, rest: impl FnMut(&CitationQuery) -> Json + 'static) -> Self {
        self.rest = Box::new(rest);
        self
    }

    /// Runs to the end. After each step each claim stands where it should, and the run can be
    /// stored.
    pub(crate) fn run(mut self) -> ScriptedRun {
        let mut run = CitationRun::new(self.input.clone());
        let (mut requests, mut events) = (Vec::new(), Vec::new());
        let mut next = run.advance(&BTreeMap::new());
        loop {
            let taken = run.take_events().into_iter().map(|event| (event.name, event.data));
            events.extend(taken);
            check_positions(&run.result());
            if next.is_empty() {
                break;
            }
            let stored = serde_json::to_string(&run).unwrap();
            run = serde_json::from_str(&stored).unwrap();
            let replies = next.iter().map(|it| (it.id.clone(), self.reply(&it.query))).collect();
            requests.extend(next);
            next = run.advance(&replies);
        }
        let page = include_str!("../../../../docs/systems/citation.md");
        let told = events.iter().map(|(name, data)| (name.as_str(), data));
        DocumentedEvents::of(page).check(told);
        ScriptedRun { result: run.result(), pipeline: run, requests, events }
    }

    /// Runs until it is as far as that, with the requests that are open then.
    pub(crate) fn run_until(
        mut self,
        is_there: impl Fn(&CitationRun) -> bool,
    ) -> (CitationRun, Vec<CitationRequest>) {
        let mut run = CitationRun::new(self.input.clone());
        let mut next = run.advance(&BTreeMap::new());
        while !is_there(&run) {
            let replies = next.iter().map(|it| (it.id.clone(), self.reply(&it.query))).collect();
            next = run.advance(&replies);
        }
        (run, next)
    }

    fn reply(&mut self, query: &CitationQuery) -> Json {
        match query {
            CitationQuery::Write { evidence, .. } => (self.write)(evidence),
            CitationQuery::Verify { items, .. } => {
                let verdicts = items.iter().map(|item| {
                    let verdict = (self.verify)(item);
                    json!({"number": item.number, "verdict": verdict, "reasoning": "so it is"})
                });
                let known = verdicts.filter(|item| !item["verdict"].is_null());
                json!({"verdicts": known.collect::<Vec<_>>()})
            }
            CitationQuery::Judge { items } => {
                let score = |item: &VerificationItem| {
                    let score = (self.judge)(item);
                    json!({"number": item.number, "score": score, "is_contradicted": score == json!(-1.0)})
                };
                json!({"scores": items.iter().map(score).collect::<Vec<_>>()})
            }
            other => (self.rest)(other),
        }
    }
}

impl ScriptedRun {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.events.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The claim whose sentence has these words.
    pub(crate) fn claim(&self, words: &str) -> &antiphon_citation::Claim {
        let found = self.result.claims.iter().find(|claim| claim.text.contains(words));
        found.unwrap_or_else(|| panic!("{words}: {:#?}", self.result.claims))
    }

    pub(crate) fn assert_clean(&self) {
        assert!(self.result.audit.is_clean(), "{}\n{:#?}", self.result.report, self.result.audit);
    }
}

/// Puts the indices of evidence in place of its words in braces.
fn indexed(text: &str, evidence: &[Passage]) -> String {
    let mut text = text.to_owned();
    while let Some((start, end)) = text.find('{').zip(text.find('}')) {
        let words = text[start + 1..end].to_owned();
        let place = evidence.iter().position(|one| one.text.contains(&words));
        let place = place.unwrap_or_else(|| panic!("no evidence has: {words}: {evidence:#?}"));
        text.replace_range(start..=end, &format!("[{place}]"));
    }
    text
}

/// Each claim stands at its span, in bytes and in characters.
pub(crate) fn check_positions(result: &CitationResult) {
    for claim in &result.claims {
        let Some(span) = claim.span else { continue };
        assert_eq!(span.of(&result.report), Some(claim.sentence.as_str()), "{claim:?}");
        let chars = span.in_chars(&result.report);
        let found: String =
            result.report.chars().skip(chars.start).take(chars.end - chars.start).collect();
        assert_eq!(found, claim.sentence);
    }
    for one in &result.evidence {
        if let Some(span) = one.span {
            assert_eq!(span.of(&result.sources[one.source].text), Some(one.quote.as_str()));
        }
    }
}
