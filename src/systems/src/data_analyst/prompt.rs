//! The prompt files.

use crate::prompts::PromptSpec;

pub(super) const PROMPTS: &[PromptSpec] = &[
    prompt("planner", include_str!("../../prompts/data_analyst/planner.md")),
    prompt("sql_writer", include_str!("../../prompts/data_analyst/sql_writer.md")),
    prompt("sql_reviewer", include_str!("../../prompts/data_analyst/sql_reviewer.md")),
    prompt("sql_answerer", include_str!("../../prompts/data_analyst/sql_answerer.md")),
    prompt("api_planner", include_str!("../../prompts/data_analyst/api_planner.md")),
    prompt("api_answerer", include_str!("../../prompts/data_analyst/api_answerer.md")),
    // The computation is the ready system of that name, with its own prompts.
    prompt("coder", include_str!("../../prompts/computation/planner.md")),
    prompt("summariser", include_str!("../../prompts/computation/summariser.md")),
    prompt("composer", include_str!("../../prompts/data_analyst/composer.md")),
];

const fn prompt(name: &'static str, text: &'static str) -> PromptSpec {
    PromptSpec { name, text, large: None }
}
