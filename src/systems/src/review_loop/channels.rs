//! The channels of the graph: one per field of the state, with its rule.

use antiphon_core::channel::{Reducer, ValueKind};

use crate::channels::{ERROR, Row};

/// What the graph is started with.
pub(super) const INPUT: &str = "input";
/// What tools have returned.
pub(super) const TOOL_RESULTS: &str = "tool_results";
/// The rule of the host by which the failures of one superstep are merged.
pub(super) const WORST: u32 = 0;

/// All channels.
pub(super) const ROWS: [Row; 35] = [
    (INPUT, Reducer::Once, ValueKind::Record, false),
    ("question", Reducer::Once, ValueKind::Text, false),
    ("file", Reducer::Once, ValueKind::Any, false),
    ("agent_messages", Reducer::Extend, ValueKind::List, true),
    ("current_step", Reducer::Set, ValueKind::Text, false),
    ("next_step", Reducer::Set, ValueKind::Text, false),
    ("research_steps", Reducer::Set, ValueKind::List, true),
    ("expert_steps", Reducer::Set, ValueKind::List, true),
    ("current_research_index", Reducer::Set, ValueKind::Integer, true),
    ("research_results", Reducer::Put, ValueKind::List, true),
    ("researcher_states", Reducer::Record, ValueKind::Record, true),
    ("expert_state", Reducer::Set, ValueKind::Record, false),
    ("expert_answer", Reducer::Set, ValueKind::Text, true),
    ("expert_reasoning", Reducer::Set, ValueKind::Text, true),
    ("critic_planner_decision", Reducer::Set, ValueKind::Text, true),
    ("critic_planner_feedback", Reducer::Set, ValueKind::Text, true),
    // In a wave each critic has its say; `research_verdicts` keeps them apart.
    ("critic_researcher_decision", Reducer::Last, ValueKind::Text, true),
    ("critic_researcher_feedback", Reducer::Last, ValueKind::Text, true),
    ("critic_expert_decision", Reducer::Set, ValueKind::Text, true),
    ("critic_expert_feedback", Reducer::Set, ValueKind::Text, true),
    ("retry_count", Reducer::Set, ValueKind::Integer, true),
    ("retry_limit", Reducer::Once, ValueKind::Integer, false),
    ("retries_by_agent", Reducer::Record, ValueKind::Record, true),
    ("final_answer", Reducer::Set, ValueKind::Text, true),
    ("final_reasoning_trace", Reducer::Set, ValueKind::Text, true),
    (ERROR, Reducer::Foreign(WORST), ValueKind::Any, false),
    ("error_component", Reducer::Set, ValueKind::Text, false),
    ("outcome", Reducer::Set, ValueKind::Text, false),
    ("counted_errors", Reducer::Set, ValueKind::Integer, true),
    ("step_rejections", Reducer::Record, ValueKind::Record, true),
    ("research_verdicts", Reducer::Record, ValueKind::Record, true),
    ("wave", Reducer::Set, ValueKind::List, true),
    ("last_products", Reducer::Record, ValueKind::Record, true),
    ("bypass", Reducer::Set, ValueKind::Boolean, true),
    (TOOL_RESULTS, Reducer::Record, ValueKind::Record, false),
];
