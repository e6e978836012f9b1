//! Graphs as Python builds them, and the calls of their nodes.

pub(crate) mod agent;
pub(crate) mod builder;
pub(crate) mod call;
pub(crate) mod call_content;
pub(crate) mod call_kind;
pub(crate) mod call_trace;
pub(crate) mod context;
pub(crate) mod current_call;
pub(crate) mod effect;
pub(crate) mod engine;
pub(crate) mod engine_history;
pub(crate) mod engine_methods;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod lost_target;
pub(crate) mod model;
pub(crate) mod node_variables;
pub(crate) mod options;
pub(crate) mod question;
pub(crate) mod rules;
pub(crate) mod script;
pub(crate) mod task_context;
pub(crate) mod tool;
pub(crate) mod tool_gate;
pub(crate) mod turn_input;
pub(crate) mod update;
