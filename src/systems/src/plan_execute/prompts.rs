//! The prompt files.

use crate::prompts::PromptSpec;

pub(super) const PROMPTS: &[PromptSpec] = &[
    PromptSpec {
        name: "planner",
        text: include_str!("../../prompts/plan_execute/planner.md"),
        large: Some(include_str!("../../prompts/plan_execute/planner.large.md")),
    },
    PromptSpec {
        name: "replanner",
        text: include_str!("../../prompts/plan_execute/replanner.md"),
        large: Some(include_str!("../../prompts/plan_execute/replanner.large.md")),
    },
    prompt("step_executor", include_str!("../../prompts/plan_execute/step_executor.md")),
    prompt("summariser", include_str!("../../prompts/plan_execute/summariser.md")),
    prompt("context_keeper", include_str!("../../prompts/plan_execute/context_keeper.md")),
    prompt("synthesiser", include_str!("../../prompts/plan_execute/synthesiser.md")),
    prompt("explainer", include_str!("../../prompts/plan_execute/explainer.md")),
];

const fn prompt(name: &'static str, text: &'static str) -> PromptSpec {
    PromptSpec { name, text, large: None }
}
