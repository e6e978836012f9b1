//! The standing instructions of each role, from the prompt files.

use antiphon_core::{Fault, ToolSpec};

use super::config::Config;
use super::roles::{RoleImplementation, Roles};
use super::step::StepName;
use crate::template::fill;

const PLANNER: &str = include_str!("../../prompts/review_loop/planner.md");
const PLANNER_WITHOUT_RESEARCH: &str =
    include_str!("../../prompts/review_loop/planner_without_research.md");
const RESEARCHER: &str = include_str!("../../prompts/review_loop/researcher.md");
const EXPERT: &str = include_str!("../../prompts/review_loop/expert.md");
const CRITIC_PLANNER: &str = include_str!("../../prompts/review_loop/critic_planner.md");
const CRITIC_RESEARCHER: &str = include_str!("../../prompts/review_loop/critic_researcher.md");
const CRITIC_EXPERT: &str = include_str!("../../prompts/review_loop/critic_expert.md");
const FINALIZER: &str = include_str!("../../prompts/review_loop/finalizer.md");
const NO_TOOLS: &str = include_str!("../../prompts/review_loop/no_tools.md");

/// Characters of a tool's description that prompts show.
const DESCRIPTION: usize = 200;

/// The instructions of a step, its fields filled; those that an agent brings
/// along come first, so that the form of the reply has the last word.
pub(super) fn instructions(
    step: StepName,
    roles: &Roles,
    config: &Config,
) -> Result<String, Fault> {
    let filled = match step {
        StepName::Input | StepName::Planner => planner(roles, config),
        StepName::Researcher => fill(RESEARCHER, &[("tools", &list(&roles.tool_specs(step)))]),
        StepName::Expert => fill(EXPERT, &[("tools", &list(&roles.tool_specs(step)))]),
        StepName::CriticPlanner => fill(CRITIC_PLANNER, &[]),
        StepName::CriticResearcher => fill(CRITIC_RESEARCHER, &[]),
        StepName::CriticExpert => fill(CRITIC_EXPERT, &[]),
        StepName::Finalizer => fill(FINALIZER, &[]),
    };
    let filled = filled?;
    let ours = filled.trim_end();
    let own = match roles.implementation(step) {
        RoleImplementation::Model(role_model) => role_model.instructions.as_ref(),
        RoleImplementation::Own(_) => None,
    };
    Ok(own.map_or_else(|| ours.to_owned(), |own| format!("{own}\n\n{ours}")))
}

fn planner(roles: &Roles, config: &Config) -> Result<String, Fault> {
    let max_research_steps = config.max_research_steps.to_string();
    let max_expert_steps = config.max_expert_steps.to_string();
    let expert_tools = list(&roles.tool_specs(StepName::Expert));
    let mut values = vec![
        ("max_research_steps", max_research_steps.as_str()),
        ("max_expert_steps", max_expert_steps.as_str()),
        ("expert_tools", expert_tools.as_str()),
    ];
    if !roles.can_look_up() {
        return fill(PLANNER_WITHOUT_RESEARCH, &values);
    }
    let research_tools = list(&roles.tool_specs(StepName::Researcher));
    values.push(("research_tools", research_tools.as_str()));
    fill(PLANNER, &values)
}

/// One line per tool: its name and the first line of what it does.
fn list(tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return NO_TOOLS.trim_end().to_owned();
    }
    let line = |tool: &ToolSpec| {
        let first = tool.description.lines().next().unwrap_or_default();
        let first: String = first.chars().take(DESCRIPTION).collect();
        format!("- {}: {first}", tool.name)
    };
    tools.iter().map(line).collect::<Vec<_>>().join("\n")
}
