//! A tiny system for tests and for the guide: it asks a person whether to continue, and has its one
//! role repeat the question.

use std::sync::Arc;

use antiphon_core::budget::Limits;
use antiphon_core::graph::{END, START};
use antiphon_core::{Fault, FaultCode, Message, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::builder::{RoleNode, SystemBuilder};
use crate::config::at_least_one;
use crate::delimited_input::DelimitedInput;
use crate::node::{NodeContext, NodeExit};
use crate::patch::Patch;
use crate::prompts::PromptSpec;
use crate::reply::{object, text};
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::state::state;
use crate::system::{Conclusion, FinishedRun, System, SystemConfig, SystemInput};

/// Says a question again, once a person has agreed.
pub struct Echo {
    config: Config,
    resources: SystemResources,
}

/// How it is said again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The words to use, by default `the same`.
    pub manner: String,
    /// How often it is said, by default once.
    pub times: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { manner: "the same".to_owned(), times: 1 }
    }
}

impl SystemConfig for Config {
    const LABEL: &'static str = "echo";

    fn check(&self) -> Result<(), Fault> {
        at_least_one("times", u64::from(self.times))
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// The text to say again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The text.
    pub question: String,
}

impl SystemInput for Input {
    fn check(&self) -> Result<(), Fault> {
        let blank = self.question.trim().is_empty();
        let fault = || Fault::new(FaultCode::QuestionBlank, "the question is blank");
        if blank { Err(fault()) } else { Ok(()) }
    }
}

state! {
    /// The state between two nodes.
    pub struct State {
        /// What the person answered.
        [Set] consent: Option<bool>,
        /// What was said.
        [Set] said: String,
    }
}

/// What was said.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The text; empty if the person did not agree.
    pub answer: String,
}

impl System for Echo {
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Says a question again, once a person has agreed.";
    const ROLES: &'static [RoleSpec] =
        &[RoleSpec { name: "speaker", description: "Says it.", has_tools: false }];
    const PROMPTS: &'static [PromptSpec] = &[PromptSpec {
        name: "speaker",
        text: include_str!("../prompts/echo/speaker.md"),
        large: None,
    }];

    type Config = Config;
    type Input = Input;
    type State = State;
    type Output = Output;
    type RunData = ();

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        Ok(Self { config, resources })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn resources(&self) -> &SystemResources {
        &self.resources
    }

    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault> {
        graph.node("ask", ask).role("speak", speak())?;
        graph.edge(START, "ask").edge("speak", END);
        graph.branch("ask", "consent", &[("yes", "speak"), ("no", END)], |view| {
            Ok(crate::node::goto(if view.get(State::consent)? == Some(true) {
                "yes"
            } else {
                "no"
            }))
        });
        Ok(())
    }

    fn open(&self, _: &Arc<Input>, _: &Session) {}

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<Output> {
        let said = finished.state.said.as_str();
        let answer = vec![said; self.config.times as usize].join(" ");
        let outcome = finished.ending.outcome().unwrap_or(Outcome::Answered);
        Conclusion {
            output: Output { answer },
            outcome,
            reason: None,
            error: finished.fault.take(),
        }
    }
}

async fn ask(cx: NodeContext<Echo>) -> Result<NodeExit<State>, Fault> {
    let Some(answer) = cx.answers().first() else {
        let question = format!("Shall I say it again: {}?", cx.input().question);
        return Ok(NodeExit::Ask(json!(question)));
    };
    let mut patch = Patch::default();
    patch.set(State::consent, Some(answer == &Json::Bool(true)));
    Ok(patch.into())
}

fn speak() -> RoleNode<Echo> {
    RoleNode {
        role: "speaker",
        schema: Schema::new("said", object(&json!({"said": text()}))),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| {
            let Echo { config, resources } = cx.system();
            let fields = [("manner", config.manner.as_str())];
            let instructions = resources.instructions("speaker", "speaker", &fields)?;
            let mut input = DelimitedInput::new();
            input.add("text", &cx.input().question);
            Ok(vec![Message::system(instructions), Message::user(input.text())])
        },
        brief: |cx| Ok(json!({"question": cx.input().question})),
        conclude: |_, mut reply| {
            let said: SaidReply = reply.read()?;
            let mut patch = Patch::default();
            patch.set(State::said, said.said);
            Ok(patch)
        },
    }
}

#[derive(Deserialize)]
struct SaidReply {
    said: String,
}
