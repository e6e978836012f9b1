//! Which agents a question is for, by the words in it. The planner's model may only choose among
//! these.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::Config;
use super::request::{AgentName, AgentRequest};

/// How a keyword is looked for in a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeywordMode {
    /// Anywhere, also within words.
    #[default]
    Substring,
    /// As whole words.
    Word,
}

/// How many of each agent's keywords are in a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CandidateSelection {
    /// The agents that the question is for, in their order.
    pub candidates: Vec<AgentName>,
    /// The number of distinct keywords that were found, by agent.
    pub scores: BTreeMap<AgentName, usize>,
}

/// The agents that a question is for: by keywords, without those that are disabled or not
/// available, those that are preferred first. With a database, SQL is always among them.
pub fn select(
    request: &AgentRequest,
    config: &Config,
    available: &BTreeSet<AgentName>,
) -> CandidateSelection {
    let scores = scores(&request.question, config);
    let score = |agent: AgentName| scores.get(&agent).copied().unwrap_or_default();
    let (sql, api, computation) =
        (score(AgentName::Sql), score(AgentName::ApiDocs), score(AgentName::Computation));
    let mut order = Vec::new();
    if api > 0 && api >= sql.max(computation) {
        order.push(AgentName::ApiDocs);
    }
    if sql > 0 && sql >= computation {
        order.push(AgentName::Sql);
    }
    if computation > 0 && computation >= sql {
        order.push(AgentName::Computation);
    }
    if order.is_empty() {
        order.push(AgentName::Sql);
    }
    // No other agent can draw.
    if asks_for_drawing(&request.question, config) && !order.contains(&AgentName::Computation) {
        order.push(AgentName::Computation);
    }
    // Code has no table but the rows that SQL has found.
    if available.contains(&AgentName::Sql) && !order.contains(&AgentName::Sql) {
        let place = order.iter().position(|agent| *agent == AgentName::Computation);
        order.insert(place.unwrap_or(order.len()), AgentName::Sql);
    }
    if config.add_preferred {
        let missing = request.prefer_agents.iter().filter(|agent| is_agent(**agent));
        let missing: Vec<_> = missing.filter(|agent| !order.contains(agent)).copied().collect();
        order.extend(missing);
    }
    let is_enabled = |agent: &AgentName| !request.disable_agents.contains(agent);
    order.retain(is_enabled);
    let usable = |agents: &[AgentName]| -> Vec<AgentName> {
        agents.iter().filter(|agent| available.contains(agent)).copied().collect()
    };
    // An agent that cannot work gives way to one that can; if none can, it says what is missing.
    let mut candidates = usable(&order);
    if candidates.is_empty() && !order.is_empty() {
        let others: Vec<_> = AgentName::AGENTS.into_iter().filter(is_enabled).collect();
        candidates = usable(&others);
        candidates.truncate(1);
        if candidates.is_empty() {
            candidates = order;
        }
    }
    let (mut preferred, rest): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|agent| request.prefer_agents.contains(agent));
    preferred.sort_by_key(|agent| request.prefer_agents.iter().position(|one| one == agent));
    preferred.extend(rest);
    CandidateSelection { candidates: preferred, scores }
}

/// The number of distinct keywords of each agent in a question.
fn scores(question: &str, config: &Config) -> BTreeMap<AgentName, usize> {
    let lower = question.to_lowercase();
    let is_in = |word: &&String| has_keyword(&lower, &word.to_lowercase(), config.keyword_mode);
    let count = |words: &Vec<String>| words.iter().filter(is_in).count();
    config.keywords.iter().map(|(agent, words)| (*agent, count(words))).collect()
}

/// Whether a question wants something to be drawn.
fn asks_for_drawing(question: &str, config: &Config) -> bool {
    const WORDS: [&str; 12] = [
        "chart",
        "charts",
        "diagram",
        "diagrams",
        "histogram",
        "histograms",
        "plot",
        "plots",
        "plotted",
        "visualise",
        "visualize",
        "visualization",
    ];
    let lower = question.to_lowercase();
    WORDS.iter().any(|word| has_keyword(&lower, word, config.keyword_mode))
}

fn has_keyword(question: &str, keyword: &str, mode: KeywordMode) -> bool {
    match mode {
        KeywordMode::Substring => question.contains(keyword),
        KeywordMode::Word => has_word(question, keyword),
    }
}

/// The keywords unless the settings have others.
pub(super) fn default_keywords() -> BTreeMap<AgentName, Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    BTreeMap::from([
        (
            AgentName::Sql,
            words(&[
                "average",
                "breakdown",
                "count",
                "database",
                "group",
                "list",
                "per",
                "report",
                "rows",
                "show",
                "sum",
                "table",
                "tables",
                "top",
                "trend",
            ]),
        ),
        (
            AgentName::ApiDocs,
            words(&[
                "api",
                "/api/",
                "endpoint",
                "http",
                "request body",
                "route",
                "status code",
                "get /",
                "post /",
                "put /",
                "patch /",
                "delete /",
                "head /",
                "options /",
            ]),
        ),
        (
            AgentName::Computation,
            words(&[
                "calculate",
                "compare",
                "compute",
                "convert",
                "difference",
                "estimate",
                "forecast",
                "percent",
                "projection",
                "ratio",
                "simulate",
                "what is",
            ]),
        ),
    ])
}

const fn is_agent(agent: AgentName) -> bool {
    matches!(agent, AgentName::Sql | AgentName::ApiDocs | AgentName::Computation)
}

/// Whether a text has a word, or several, with no letters or digits beside them.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_free = |sign: Option<char>| sign.is_none_or(|sign| !sign.is_alphanumeric());
    !word.is_empty()
        && text.match_indices(word).any(|(start, _)| {
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            let after = text.get(start + word.len()..).and_then(|text| text.chars().next());
            is_free(before) && is_free(after)
        })
}
