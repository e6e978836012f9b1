//! Asks a small model whether anybody could know the answer. Such a model invents an answer to
//! every question; asked this alone, it mostly tells the questions of which it knows nothing.

use antiphon_core::{Fault, Message, Schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::ReviewLoop;
use super::calculation::has_only_calculators;
use super::config::Config;
use super::patch::Patch;
use super::prompt::can_look_up;
use super::state::State;
use crate::builder::RoleNode;
use crate::delimited_input::DelimitedInput;
use crate::prompts::{ModelTier, billion_parameters};
use crate::reply::object;
use crate::resources::SystemResources;
use crate::role::RoleImplementation;

/// Smaller models say of what they know that nobody could know it.
const BILLION_PARAMETERS: f64 = 1.0;

#[derive(Deserialize)]
struct AnswerabilityReply {
    found: bool,
}

/// Whether the expert is a small model that can tell, and nobody can look anything up.
pub(super) fn needs_check(config: &Config, resources: &SystemResources) -> Result<bool, Fault> {
    let roles = &resources.roles;
    let RoleImplementation::Model(expert) = roles.implementation("expert")? else {
        return Ok(false);
    };
    let can_tell = |model: &String| {
        let size = billion_parameters(model);
        size.is_some_and(|billions| (BILLION_PARAMETERS..ModelTier::LARGE).contains(&billions))
    };
    Ok(config.check_answerability
        && roles.tier("expert") == ModelTier::Small
        && expert.model.names().iter().all(can_tell)
        && has_only_calculators(roles)
        && !can_look_up(roles)?
        && !is_told_more(resources)?)
}

/// Whether the caller has given the planner or the expert words or code of their own, which may
/// have what no book has.
fn is_told_more(resources: &SystemResources) -> Result<bool, Fault> {
    let mut prompts = ["planner", "planner_without_research", "expert"].iter();
    let is_own = |role: &RoleImplementation| match role {
        RoleImplementation::Model(model) => model.instructions.is_some(),
        RoleImplementation::Code(_) => true,
    };
    let roles = &resources.roles;
    Ok(prompts.any(|name| resources.prompts.is_replaced(name))
        || is_own(roles.implementation("planner")?)
        || is_own(roles.implementation("expert")?))
}

/// Asks whether anybody could know the answer. A reply that cannot be read is a yes.
pub(super) fn role() -> RoleNode<ReviewLoop> {
    let fields = json!({"found": {"type": "boolean"}});
    RoleNode {
        role: "expert",
        schema: Schema::new("answerability", object(&fields)),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| {
            let instructions =
                cx.system().resources.instructions("expert", "answerability", &[])?;
            let mut delimited = DelimitedInput::new();
            delimited.add("question", &cx.state.question);
            Ok(vec![Message::system(instructions), Message::user(delimited.text())])
        },
        brief: |_| Ok(Json::Null),
        conclude: |_, mut reply| {
            let is_answerable = reply.read().map_or(true, |AnswerabilityReply { found }| found);
            let mut patch = Patch::default();
            patch.set(State::is_answerable, Some(is_answerable));
            patch.note("answerability_checked", json!({ "answerable": is_answerable }));
            Ok(patch)
        },
    }
}
