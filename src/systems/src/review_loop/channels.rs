//! The channels of the graph: one per field of the state, with its rule.

use antiphon_core::channel::{Kind, Merge};

use crate::channels::{ERROR, Row};

/// What the graph is started with.
pub(super) const INPUT: &str = "input";
/// What tools have returned.
pub(super) const TOOL_RESULTS: &str = "tool_results";
/// The rule of the host by which the failures of one superstep are merged.
pub(super) const WORST: u32 = 0;

/// All channels.
pub(super) const ROWS: [Row; 35] = [
    (INPUT, Merge::Once, Kind::Record, false),
    ("question", Merge::Once, Kind::Text, false),
    ("file", Merge::Once, Kind::Any, false),
    ("agent_messages", Merge::Extend, Kind::List, true),
    ("current_step", Merge::Set, Kind::Text, false),
    ("next_step", Merge::Set, Kind::Text, false),
    ("research_steps", Merge::Set, Kind::List, true),
    ("expert_steps", Merge::Set, Kind::List, true),
    ("current_research_index", Merge::Set, Kind::Integer, true),
    ("research_results", Merge::Put, Kind::List, true),
    ("researcher_states", Merge::Record, Kind::Record, true),
    ("expert_state", Merge::Set, Kind::Record, false),
    ("expert_answer", Merge::Set, Kind::Text, true),
    ("expert_reasoning", Merge::Set, Kind::Text, true),
    ("critic_planner_decision", Merge::Set, Kind::Text, true),
    ("critic_planner_feedback", Merge::Set, Kind::Text, true),
    // In a wave each critic has its say; `research_verdicts` keeps them apart.
    ("critic_researcher_decision", Merge::Last, Kind::Text, true),
    ("critic_researcher_feedback", Merge::Last, Kind::Text, true),
    ("critic_expert_decision", Merge::Set, Kind::Text, true),
    ("critic_expert_feedback", Merge::Set, Kind::Text, true),
    ("retry_count", Merge::Set, Kind::Integer, true),
    ("retry_limit", Merge::Once, Kind::Integer, false),
    ("retries_by_agent", Merge::Record, Kind::Record, true),
    ("final_answer", Merge::Set, Kind::Text, true),
    ("final_reasoning_trace", Merge::Set, Kind::Text, true),
    (ERROR, Merge::Foreign(WORST), Kind::Any, false),
    ("error_component", Merge::Set, Kind::Text, false),
    ("outcome", Merge::Set, Kind::Text, false),
    ("counted_errors", Merge::Set, Kind::Integer, true),
    ("step_rejections", Merge::Record, Kind::Record, true),
    ("research_verdicts", Merge::Record, Kind::Record, true),
    ("wave", Merge::Set, Kind::List, true),
    ("last_products", Merge::Record, Kind::Record, true),
    ("bypass", Merge::Set, Kind::Boolean, true),
    (TOOL_RESULTS, Merge::Record, Kind::Record, false),
];
