//! System 2: researches a question in steps and writes a report whose links all lead to pages that
//! it has found. Here are its settings, its values and its decisions, which are pure functions.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings, and how thorough each depth is |
//! | [`classification`] | what kind of question it is, and the depth that follows |
//! | [`plan`] | plans, and what stays of one when it changes |
//! | [`reflection`] | how the research goes on after a step |
//! | [`source`] | pages, each under a number that does not change |
//! | [`information_gain`] | when further calls are not worth their time |
//! | [`deadline`] | the times of a question |
//! | [`links`] | holding the links of a report to the sources |

pub mod classification;
pub mod config;
pub mod deadline;
pub mod information_gain;
pub mod links;
pub mod plan;
pub mod reflection;
pub mod source;

pub use classification::{
    Complexity, Depth, FollowUp, QueryClassification, QueryMode, ResearchDepth,
};
pub use config::{Config, DepthSettings, ResearcherMode};
pub use plan::{PlanStep, ResearchPlan, StepStatus, StepType};
pub use reflection::{ReflectionDecision, ReflectionResult};
pub use source::{CrawlStatus, ResearchSource, SourceRegistry};
