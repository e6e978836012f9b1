//! The roles of the stages, their prompts and the forms of their replies.

use antiphon_citation::{CitationQuery, ConfidenceLevel};
use antiphon_core::Schema;
use serde_json::{Value as Json, json};

use crate::prompts::PromptSpec;
use crate::reply::{object, text};
use crate::role::RoleSpec;

/// Chooses passages of pages.
pub const PASSAGE_EXTRACTOR: RoleSpec =
    spec("passage_extractor", "Chooses passages of pages that help to answer the question.");
/// Writes the report.
pub const REPORTER: RoleSpec = spec("reporter", "Writes the report from numbered evidence.");
/// Checks claims.
pub const VERIFIER: RoleSpec = spec("verifier", "Checks claims against their evidence.");
/// Checks claims that sound certain and are close to their evidence.
pub const QUICK_VERIFIER: RoleSpec =
    spec("quick_verifier", "Checks claims that are close to their evidence.");
/// Decides which citations a claim should have.
pub const CITATION_ARBITER: RoleSpec =
    spec("citation_arbiter", "Decides which evidence a claim cites where scores leave it open.");
/// Compares numbers.
pub const NUMBER_CHECKER: RoleSpec =
    spec("number_checker", "Compares the numbers of claims with those of their evidence.");
/// Takes claims apart.
pub const CLAIM_SPLITTER: RoleSpec = spec("claim_splitter", "Takes claims apart into facts.");
/// Judges facts.
pub const ENTAILMENT_JUDGE: RoleSpec =
    spec("entailment_judge", "Judges how far evidence entails facts.");
/// Rewrites sentences.
pub const REVISER: RoleSpec =
    spec("reviser", "Rewrites sentences so that they state no more than what is known.");

/// All roles, in the order in which they work.
pub const ROLES: [RoleSpec; 9] = [
    PASSAGE_EXTRACTOR,
    REPORTER,
    VERIFIER,
    QUICK_VERIFIER,
    CITATION_ARBITER,
    NUMBER_CHECKER,
    CLAIM_SPLITTER,
    ENTAILMENT_JUDGE,
    REVISER,
];

/// Their prompts. Both verifiers read the same.
pub const PROMPTS: [PromptSpec; 12] = [
    prompt("passage_extractor", include_str!("../../prompts/citation/passage_extractor.md")),
    prompt("reporter", include_str!("../../prompts/citation/reporter.md")),
    prompt("verifier", include_str!("../../prompts/citation/verifier.md")),
    PromptSpec {
        name: "citation_arbiter",
        text: include_str!("../../prompts/citation/citation_arbiter.md"),
        large: Some(include_str!("../../prompts/citation/citation_arbiter.large.md")),
    },
    prompt("number_checker", include_str!("../../prompts/citation/number_checker.md")),
    prompt("number_questions", include_str!("../../prompts/citation/number_questions.md")),
    prompt("number_answers", include_str!("../../prompts/citation/number_answers.md")),
    prompt("claim_splitter", include_str!("../../prompts/citation/claim_splitter.md")),
    prompt("entailment_judge", include_str!("../../prompts/citation/entailment_judge.md")),
    prompt("reviser", include_str!("../../prompts/citation/reviser.md")),
    PromptSpec {
        name: "composing_reporter",
        text: include_str!("../../prompts/citation/composing_reporter.md"),
        large: Some(include_str!("../../prompts/citation/composing_reporter.large.md")),
    },
    prompt("structured_reporter", include_str!("../../prompts/citation/structured_reporter.md")),
];

const fn spec(name: &'static str, description: &'static str) -> RoleSpec {
    RoleSpec { name, description, has_tools: false }
}

const fn prompt(name: &'static str, text: &'static str) -> PromptSpec {
    PromptSpec { name, text, large: None }
}

/// The role that answers a query; none for searches and pages.
pub(super) const fn role_of(query: &CitationQuery) -> Option<&'static str> {
    Some(match query {
        CitationQuery::Extract { .. } => PASSAGE_EXTRACTOR.name,
        CitationQuery::Write { .. } | CitationQuery::Compose { .. } => REPORTER.name,
        CitationQuery::Verify { level: ConfidenceLevel::High, .. } => QUICK_VERIFIER.name,
        CitationQuery::Verify { .. } => VERIFIER.name,
        CitationQuery::Arbitrate { .. } => CITATION_ARBITER.name,
        CitationQuery::Numbers { .. }
        | CitationQuery::AskNumbers { .. }
        | CitationQuery::AnswerNumbers { .. } => NUMBER_CHECKER.name,
        CitationQuery::Decompose { .. } => CLAIM_SPLITTER.name,
        CitationQuery::Judge { .. } => ENTAILMENT_JUDGE.name,
        CitationQuery::Revise { .. } => REVISER.name,
        CitationQuery::Search { .. } | CitationQuery::Read { .. } => return None,
    })
}

/// The form of a role's reply.
pub(super) fn schema(role: &str) -> Schema {
    let list = |items: Json| json!({"type": "array", "items": items});
    let score = json!({"type": "number", "minimum": 0, "maximum": 1});
    let number = json!({"type": "integer", "minimum": 0});
    let form = match role {
        "passage_extractor" => {
            let span = object(&json!({"quote": text(), "relevance": score}));
            json!({"spans": list(span)})
        }
        "reporter" => json!({"report": text()}),
        "compose" => {
            let tool = json!({"enum": ["search_evidence", "read_snippet"]});
            let query = json!({"type": ["string", "null"]});
            let index = json!({"anyOf": [number, {"type": "null"}]});
            let call = json!({
                "type": "object",
                "properties": {"tool": tool, "query": query, "index": index},
                "required": ["tool"],
            });
            let form = json!({"calls": list(call), "text": {"type": ["string", "null"]}});
            return Schema::new("part", json!({"type": "object", "properties": form}));
        }
        "citation_arbiter" => return Schema::new(role, arbitration(&number)),
        "number_checker" => {
            let answer = object(&json!({
                "question": {"type": "string"},
                "claim_answer": {"type": "string"},
                "evidence_answer": {"type": "string"},
            }));
            let operation = json!({"enum": ["sum", "difference", "ratio", "growth"]});
            let operands = list(json!({"type": "string"}));
            let computation = object(&json!({"operation": operation, "operands": operands}));
            json!({"answers": list(answer), "computation": {"anyOf": [{"type": "null"}, computation]}})
        }
        "claim_splitter" => json!({"facts": list(text())}),
        "entailment_judge" => {
            let score =
                json!({"number": number, "score": score, "is_contradicted": {"type": "boolean"}});
            json!({"scores": list(object(&score))})
        }
        "reviser" => json!({"sentence": text()}),
        _ => {
            let verdict = json!({"enum": ["supported", "partial", "unsupported", "contradicted"]});
            let mut item = object(&json!({
                "number": number,
                "reasoning": {"type": "string"},
                "verdict": verdict,
            }));
            if let Some(Json::Object(properties)) = item.get_mut("properties") {
                properties.insert("issues".to_owned(), list(json!({"type": "string"})));
            }
            json!({"verdicts": list(item)})
        }
    };
    Schema::new(role, object(&form))
}

/// Who keeps what is cited has no other number to give.
fn arbitration(number: &Json) -> Json {
    let action = json!({"enum": ["keep", "replace", "add", "remove"]});
    let option = json!({"anyOf": [number, {"type": "null"}]});
    let form = json!({"reasoning": {"type": "string"}, "action": action, "number": option});
    json!({"type": "object", "properties": form, "required": ["reasoning", "action"]})
}
