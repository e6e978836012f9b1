//! The instructions of each role, from the prompt files.

use antiphon_core::{Fault, ToolSpec};

use super::ReviewLoop;
use super::config::ResearchMode;
use super::graph::{CRITIC, role_of};
use super::step::StepName;
use crate::prompts::PromptSpec;
use crate::resources::SystemResources;
use crate::role::{RoleImplementation, Roles};

/// The prompt files.
pub(super) const PROMPTS: &[PromptSpec] = &[
    PromptSpec {
        name: "planner",
        text: include_str!("../../prompts/review_loop/planner.md"),
        large: Some(include_str!("../../prompts/review_loop/planner.large.md")),
    },
    PromptSpec {
        name: "planner_without_research",
        text: include_str!("../../prompts/review_loop/planner_without_research.md"),
        large: Some(include_str!("../../prompts/review_loop/planner_without_research.large.md")),
    },
    PromptSpec {
        name: "researcher",
        text: include_str!("../../prompts/review_loop/researcher.md"),
        large: Some(include_str!("../../prompts/review_loop/researcher.large.md")),
    },
    PromptSpec {
        name: "expert",
        text: include_str!("../../prompts/review_loop/expert.md"),
        large: Some(include_str!("../../prompts/review_loop/expert.large.md")),
    },
    PromptSpec {
        name: "answerability",
        text: include_str!("../../prompts/review_loop/answerability.md"),
        large: None,
    },
    PromptSpec {
        name: "calculation",
        text: include_str!("../../prompts/review_loop/calculation.md"),
        large: None,
    },
    PromptSpec {
        name: "critic_planner",
        text: include_str!("../../prompts/review_loop/critic_planner.md"),
        large: Some(include_str!("../../prompts/review_loop/critic_planner.large.md")),
    },
    PromptSpec {
        name: "critic_researcher",
        text: include_str!("../../prompts/review_loop/critic_researcher.md"),
        large: Some(include_str!("../../prompts/review_loop/critic_researcher.large.md")),
    },
    PromptSpec {
        name: "critic_expert",
        text: include_str!("../../prompts/review_loop/critic_expert.md"),
        large: Some(include_str!("../../prompts/review_loop/critic_expert.large.md")),
    },
    PromptSpec {
        name: "needs_research",
        text: include_str!("../../prompts/review_loop/needs_research.md"),
        large: Some(include_str!("../../prompts/review_loop/needs_research.large.md")),
    },
    PromptSpec {
        name: "plan_more_research",
        text: include_str!("../../prompts/review_loop/plan_more_research.md"),
        large: None,
    },
    PromptSpec {
        name: "finalizer",
        text: include_str!("../../prompts/review_loop/finalizer.md"),
        large: None,
    },
    PromptSpec {
        name: "no_tools",
        text: include_str!("../../prompts/review_loop/no_tools.md"),
        large: None,
    },
    PromptSpec {
        name: "steps_in_order",
        text: include_str!("../../prompts/review_loop/steps_in_order.md"),
        large: None,
    },
    PromptSpec {
        name: "steps_in_waves",
        text: include_str!("../../prompts/review_loop/steps_in_waves.md"),
        large: None,
    },
];

/// Characters of a tool's description that prompts show.
const DESCRIPTION: usize = 200;

/// The instructions of a step, their fields filled. An expert may have to do without its tools.
pub(super) fn instructions(
    step: StepName,
    system: &ReviewLoop,
    has_tools: bool,
    today: &str,
) -> Result<String, Fault> {
    let resources = &system.resources;
    let fill = |prompt: &str, values: &[(&str, &str)]| {
        resources.instructions(role_of(step), prompt, values)
    };
    let today = ("today", today);
    match step {
        StepName::Input | StepName::Planner => planner(system, today),
        StepName::Researcher | StepName::Expert => {
            let tools = tool_list(resources, step.as_str(), has_tools)?;
            fill(step.as_str(), &[("tools", &tools), today])
        }
        StepName::Finalizer => fill(step.as_str(), &[]),
        StepName::CriticExpert => {
            let escalation = escalation(system, CRITIC, "needs_research")?;
            fill(step.as_str(), &[("needs_research", &escalation), today])
        }
        step => fill(step.as_str(), &[today]),
    }
}

fn planner(system: &ReviewLoop, today: (&str, &str)) -> Result<String, Fault> {
    let ReviewLoop { resources, config, .. } = system;
    let tier = resources.roles.tier("planner");
    let order = match config.research_mode {
        ResearchMode::Sequential => "steps_in_order",
        ResearchMode::Parallel => "steps_in_waves",
    };
    let order = resources.prompts.fill(order, tier, &[])?;
    let max_research_steps = config.max_research_steps.to_string();
    let max_expert_steps = config.max_expert_steps.to_string();
    let expert_tools = tool_list(resources, "expert", true)?;
    let mut values = vec![
        ("max_research_steps", max_research_steps.as_str()),
        ("max_expert_steps", max_expert_steps.as_str()),
        ("expert_tools", expert_tools.as_str()),
        ("order", order.as_str()),
        today,
    ];
    if !can_look_up(&resources.roles)? {
        return resources.instructions("planner", "planner_without_research", &values);
    }
    let research_tools = tool_list(resources, "researcher", true)?;
    values.push(("research_tools", research_tools.as_str()));
    let escalation = escalation(system, "planner", "plan_more_research")?;
    values.push(("plan_more_research", escalation.as_str()));
    resources.instructions("planner", "planner", &values)
}

/// What a role reads of the way from the answer back to the plan, if there is one.
fn escalation(system: &ReviewLoop, role: &str, prompt: &str) -> Result<String, Fault> {
    let ReviewLoop { resources, critic, .. } = system;
    if !critic.escalates {
        return Ok(String::new());
    }
    Ok(format!("\n{}", resources.prompts.fill(prompt, resources.roles.tier(role), &[])?))
}

/// Whether the researcher may find what the expert does not know anyway: by
/// a tool, by separate instructions, as another model, or as code.
pub(super) fn can_look_up(roles: &Roles) -> Result<bool, Fault> {
    let pair = (roles.implementation("researcher")?, roles.implementation("expert")?);
    Ok(match pair {
        (RoleImplementation::Model(researcher), RoleImplementation::Model(expert)) => {
            !roles.tools("researcher").is_empty()
                || researcher.instructions.is_some()
                || researcher.model.name() != expert.model.name()
        }
        _ => true,
    })
}

/// One line per tool of a role: its name and the first line of its description.
fn tool_list(resources: &SystemResources, role: &str, has_tools: bool) -> Result<String, Fault> {
    let tools = resources.roles.tool_specs(role);
    if tools.is_empty() || !has_tools {
        return resources.prompts.fill("no_tools", resources.roles.tier(role), &[]);
    }
    let line = |tool: &ToolSpec| {
        let first = tool.description.lines().next().unwrap_or_default();
        let first: String = first.chars().take(DESCRIPTION).collect();
        format!("- {}: {first}", tool.name)
    };
    Ok(tools.iter().map(line).collect::<Vec<_>>().join("\n"))
}
