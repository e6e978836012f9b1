//! What each role gets to read. All of it but the instructions is data between tags.

use antiphon_citation::{CitationQuery, GenerationMode, Passage, VerificationItem};
use antiphon_core::{Fault, Message};
use serde_json::{Value as Json, json};

use super::role::role_of;
use crate::delimited_input::DelimitedInput;
use crate::resources::SystemResources;

/// How a report is written whose factual sentences all have a citation.
const STRICT: &str =
    "Every sentence that states a fact ends with a citation. Leave out what no evidence says.";
/// How it is written otherwise.
const NATURAL: &str =
    "Every sentence that states a fact ends with a citation. Transitions and summaries need none.";

/// The conversation with the role that answers a query.
pub(super) fn conversation(
    resources: &SystemResources,
    query: &CitationQuery,
) -> Result<Vec<Message>, Fault> {
    let role = role_of(query).unwrap_or_default();
    let prompt = match (query, role) {
        (CitationQuery::Write { output: Some(_), .. }, _) => "structured_reporter",
        (CitationQuery::Compose { .. }, _) => "composing_reporter",
        (CitationQuery::AskNumbers { .. }, _) => "number_questions",
        (CitationQuery::AnswerNumbers { .. }, _) => "number_answers",
        (_, "quick_verifier") => "verifier",
        _ => role,
    };
    let fields = fields(query);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, text)| (*name, &**text)).collect();
    let instructions = resources.instructions(role, prompt, &fields)?;
    let data = data(query);
    let asked = request(query).map_or_else(|| data.text(), |request| data.then(&request));
    Ok(vec![Message::system(instructions), Message::user(asked)])
}

/// What comes last because it changes from one request to the next: a server that keeps what it has
/// read does not read the rest again.
fn request(query: &CitationQuery) -> Option<String> {
    match query {
        CitationQuery::Write { correction: Some(correction), output: None, .. } => {
            Some(format!("Write the report again. What was wrong with your last one: {correction}"))
        }
        CitationQuery::Compose { calls_left: 0, .. } => Some(
            "No call is left: write the rest of the report, with an empty list of calls."
                .to_owned(),
        ),
        CitationQuery::Compose { calls_left, .. } => Some(format!("{calls_left} calls are left.")),
        _ => None,
    }
}

/// What a role that is code gets.
pub(super) fn brief(query: &CitationQuery) -> Json {
    json!(query)
}

/// The values of a prompt's fields.
fn fields(query: &CitationQuery) -> Vec<(&'static str, String)> {
    match query {
        CitationQuery::Write { mode, min_words, max_words, instructions, output, .. } => {
            let mode = match mode {
                GenerationMode::Strict => STRICT,
                GenerationMode::Natural => NATURAL,
            };
            let length = length(*min_words, *max_words);
            let guidance = guidance(instructions.as_deref());
            if let Some(schema) = output {
                let schema = format!("{schema:#}");
                return vec![("length", length), ("guidance", guidance), ("schema", schema)];
            }
            vec![("mode", mode.to_owned()), ("length", length), ("guidance", guidance)]
        }
        CitationQuery::Compose { min_words, max_words, instructions, .. } => vec![
            ("length", length(*min_words, *max_words)),
            ("guidance", guidance(instructions.as_deref())),
        ],
        CitationQuery::Decompose { most, .. } => vec![("most", most.to_string())],
        _ => Vec::new(),
    }
}

fn length(least: usize, most: usize) -> String {
    format!("Write {least} to {most} words, and fewer if the evidence says less.")
}

fn guidance(instructions: Option<&str>) -> String {
    instructions.map_or_else(String::new, |text| format!("\n{}\n", text.trim()))
}

/// The data of a query.
fn data(query: &CitationQuery) -> DelimitedInput {
    let mut input = DelimitedInput::new();
    match query {
        CitationQuery::Extract { question, title, text } => {
            input.add_named("page", title, text).add("question", question);
        }
        CitationQuery::Write { question, observations, evidence, output, .. } => {
            for (index, one) in evidence.iter().enumerate() {
                // A value names sources, and a text cites the evidence itself.
                let number = if output.is_some() { one.source } else { index };
                input.add_numbered("evidence", number, &shown(one));
            }
            for observation in observations {
                input.add("observation", observation);
            }
            input.add("question", question);
        }
        CitationQuery::Compose { .. } => add_turn(&mut input, query),
        CitationQuery::Verify { items, .. } => add_items(&mut input, "claim", items),
        CitationQuery::Arbitrate { claim, verdict, options } => {
            for option in options {
                let tag = if option.is_cited { "cited_evidence" } else { "other_evidence" };
                input.add_numbered(tag, option.number, &shown(&option.passage));
            }
            input.add("verdict", verdict.as_str()).add("claim", claim);
        }
        CitationQuery::Judge { items } => add_items(&mut input, "fact", items),
        CitationQuery::Numbers { claim, evidence } => {
            for one in evidence {
                input.add("evidence", &shown(one));
            }
            input.add("claim", claim);
        }
        CitationQuery::AnswerNumbers { questions, evidence } => {
            for one in evidence {
                input.add("evidence", &shown(one));
            }
            for question in questions {
                input.add("question", question);
            }
        }
        CitationQuery::AskNumbers { claim } | CitationQuery::Decompose { claim, .. } => {
            input.add("claim", claim);
        }
        CitationQuery::Revise { sentence, verified, uncertain } => {
            for fact in verified {
                input.add("verified_fact", fact);
            }
            for fact in uncertain {
                input.add("uncertain_fact", fact);
            }
            input.add("sentence", sentence);
        }
        CitationQuery::Search { .. } | CitationQuery::Read { .. } => {}
    }
    input
}

/// What a reporter who writes in turns knows so far.
fn add_turn(input: &mut DelimitedInput, query: &CitationQuery) {
    let CitationQuery::Compose { question, observations, evidence, calls, written, .. } = query
    else {
        return;
    };
    // What stays the same comes first, what grows next, and what changes last.
    for observation in observations {
        input.add("observation", observation);
    }
    input.add("question", question);
    for one in evidence {
        let tag = if one.is_whole { "evidence" } else { "beginning_of_evidence" };
        input.add_numbered(tag, one.index, &shown(&one.passage));
    }
    input.add("report_so_far", written).add("calls", &calls.join("\n"));
}

/// Statements, each with its own evidence.
fn add_items(input: &mut DelimitedInput, tag: &str, items: &[VerificationItem]) {
    for item in items {
        input.add_numbered(tag, item.number, &item.claim);
        for one in &item.evidence {
            input.add_numbered("evidence", item.number, &shown(one));
        }
    }
}

fn shown(passage: &Passage) -> String {
    match passage.title.trim() {
        "" => passage.text.clone(),
        title => format!("{title}: {}", passage.text),
    }
}
