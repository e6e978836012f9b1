//! The ready systems: graphs of agents on the engine, with their decisions,
//! prompts and reply schemas. They reach the world through ports alone.
//!
//! | module | holds |
//! |---|---|
//! | [`review_loop`] | a question, planned, researched and answered; a critic after each product |
//! | [`agentic_search`] | a question, answered with tools by two model requests |
//! | [`computation`] | a question, answered by code that a sandbox runs |
//! | [`data_analyst`] | a question, answered by a SQL agent, an API agent and a computation |
//! | [`plan_execute`] | a task, carried out as a plan of stages that is revised when a step fails |
//! | [`deep_research`] | a question, researched in steps, and a report |
//! | [`citation`] | the stages that check the citations of a report, for any system |
//! | [`system`] | the traits of a system |
//! | [`mod@registry`] | all systems by name, with their schemas |
//! | [`runner`], [`session`], [`result`] | starting, resuming and concluding a question |
//! | [`resources`], [`role`], [`prompts`] | models, agents, tools, prompts and sandbox of a system |
//! | [`builder`], [`node`], [`drawing`] | the graph of a system, with the code of its nodes |
//! | [`partial_result`] | results of tools that are not whole |
//! | [`state`], [`patch`] | the state of a system, and what a node writes to it |
//! | [`config`], [`reply`] | reading settings, and the replies of roles |
//! | [`sub_task`] | calls of tools that workers carry out, over a queue |
//! | [`tool_cache`] | the results of tools in a run |
//! | [`json_texts`] | the texts within JSON values, and values put into them |
//! | [`template`], [`delimited_input`] | filling prompts, and untrusted text in them |

pub mod agentic_search;
pub mod base64_bytes;
pub mod builder;
pub mod citation;
pub mod computation;
pub mod config;
pub mod data_analyst;
pub mod deep_research;
pub mod delimited_input;
pub mod drawing;
#[cfg(feature = "echo")]
pub mod echo;
mod escaped_tool;
mod host;
pub mod json_texts;
mod limited_tool;
pub mod node;
pub mod partial_result;
pub mod patch;
pub mod plan_execute;
mod planned_call;
pub mod prompts;
pub mod registry;
pub mod reply;
mod request_tally;
pub mod resources;
pub mod result;
mod result_shape;
pub mod review_loop;
pub mod role;
mod role_schema;
pub mod runner;
pub mod session;
pub mod state;
mod state_cache;
mod stored_attachments;
pub mod sub_task;
pub mod system;
pub mod template;
mod tool_arguments;
pub mod tool_cache;
mod tool_name;
mod tool_text;

pub use builder::{RoleDefaults, RoleNode, SystemBuilder};
pub use drawing::Drawing;
pub use host::SystemRules;
pub use node::{NodeContext, NodeExit};
pub use patch::Patch;
pub use prompts::{ModelTier, PromptSpec, Prompts};
pub use registry::{ReadySystem, SystemEntry, find, registry};
pub use resources::{SystemResources, SystemResourcesBuilder};
pub use result::{Outcome, SystemResult};
pub use role::{
    Role, RoleContext, RoleImplementation, RoleModel, RoleSpec, Roles, TemperatureChoice,
};
pub use runner::{PausedRun, SystemRunner, SystemStart};
pub use session::Session;
pub use system::{Conclusion, FinishedRun, RunEnding, System, SystemConfig, SystemInput};
pub use tool_cache::ToolCache;
