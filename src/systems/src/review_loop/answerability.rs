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
use crate::role::{RoleImplementation, Roles};

/// Smaller models say of what they know that nobody could know it.
const BILLION_PARAMETERS: f64 = 1.0;

#[derive(Deserialize)]
struct AnswerabilityReply {
    found: bool,
}

/// Whether the expert is a small model that can tell, and nobody can look anything up.
pub(super) fn needs_check(config: &Config, roles: &Roles) -> Result<bool, Fault> {
    let size = match roles.implementation("expert")? {
        RoleImplementation::Model(expert) => billion_parameters(expert.model.name()),
        RoleImplementation::Code(_) => None,
    };
    Ok(config.check_answerability
        && roles.tier("expert") == ModelTier::Small
        && size.is_some_and(|billions| billions >= BILLION_PARAMETERS)
        && has_only_calculators(roles)
        && !can_look_up(roles)?)
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
