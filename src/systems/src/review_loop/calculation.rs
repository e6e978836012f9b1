//! Asks a small model whether a question needs a calculation. Such a model runs code for every
//! question, and an error of this code makes it doubt what it knows. Asked this alone, its reply is
//! mostly right.

use antiphon_core::{Message, Schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::ReviewLoop;
use super::conversation::add_file;
use super::state::State;
use super::step::StepName;
use crate::builder::RoleNode;
use crate::delimited_input::DelimitedInput;
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::reply::object;
use crate::role::Roles;

/// The tools that an expert has only for a calculation, by their names.
const CALCULATORS: [&str; 2] = ["calculate", "compute"];

#[derive(Deserialize)]
struct CalculationReply {
    calculate: bool,
}

/// Whether the expert is a small model that has calculators and no other tools.
pub(super) fn needs_check(roles: &Roles) -> bool {
    roles.tier("expert") == ModelTier::Small
        && !roles.tool_specs("expert").is_empty()
        && has_only_calculators(roles)
}

/// Whether all tools of the expert, if it has any, are calculators.
pub(super) fn has_only_calculators(roles: &Roles) -> bool {
    let tools = roles.tool_specs("expert");
    tools.iter().all(|tool| CALCULATORS.contains(&&*tool.name))
}

/// Asks whether there is something to calculate. A reply that cannot be read is a yes.
pub(super) fn role() -> RoleNode<ReviewLoop> {
    let fields = json!({"calculate": {"type": "boolean"}});
    RoleNode {
        role: "expert",
        schema: Schema::new("calculation", object(&fields)),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| {
            let instructions = cx.system().resources.instructions("expert", "calculation", &[])?;
            let mut delimited = DelimitedInput::new();
            add_file(StepName::Expert, &cx.state, &mut delimited);
            delimited.add("question", &cx.state.question);
            Ok(vec![Message::system(instructions), Message::user(delimited.text())])
        },
        brief: |_| Ok(Json::Null),
        conclude: |_, mut reply| {
            let calculates = reply.read().map_or(true, |CalculationReply { calculate }| calculate);
            let mut patch = Patch::default();
            patch.set(State::needs_calculation, Some(calculates));
            patch.note("calculation_checked", json!({ "needed": calculates }));
            Ok(patch)
        },
    }
}
