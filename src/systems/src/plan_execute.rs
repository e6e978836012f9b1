//! System 1: carries out a task as a plan of stages, whose steps call tools side by side, and has
//! the plan revised when a step fails.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | plans and their steps |
//! | [`validation`] | what is wrong in a plan, and where |
//! | [`capability`] | the roles and tools that plans can use |
//! | [`mod@reference`] | references to outputs of earlier steps |
//! | [`plan_template`] | plans that need no planner |
//! | [`step_output`] | what came of a step |

pub mod capability;
mod native_tool;
mod operation;
pub mod plan;
pub mod plan_template;
pub mod reference;
mod step_input;
pub mod step_output;
pub mod validation;

pub use capability::{Capabilities, WorkerRole};
pub use plan::{PlanSource, PlanStep, StagedPlan};
pub use plan_template::{PlanTemplate, PlanTemplates};
pub use step_output::{StepError, StepErrorKind, StepOutput, StepStatus};
pub use validation::{CheckedPlan, PlanViolation};
