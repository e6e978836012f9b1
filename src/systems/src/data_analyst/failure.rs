//! Which failures an agent has, and which end the question.

use antiphon_core::{Category, Fault, FaultCode};

use super::DataAnalyst;
use crate::node::NodeContext;

/// Whether a fault is none of the agent's, so that the run has to end with it.
pub(super) fn ends_run(fault: &Fault) -> bool {
    matches!(fault.category, Category::Budget | Category::Cancelled | Category::State)
}

/// Whether another query may well succeed after this fault.
pub(super) const fn is_mended_by_another_query(code: &FaultCode) -> bool {
    matches!(
        code,
        FaultCode::QueryRefused
            | FaultCode::QueryTableForbidden
            | FaultCode::QueryFailed
            | FaultCode::QueryParametersInvalid
            | FaultCode::QueryTimeout
            // What a database behind other tools says, for instance those of an MCP server.
            | FaultCode::ToolFailed
    )
}

/// Why the role failed in whose place a node works, and the node of the role.
pub(super) fn handled(cx: &NodeContext<DataAnalyst>) -> (String, Fault) {
    let unknown = || Fault::new(FaultCode::RoleFailed, "a role has failed");
    let handles = cx.call.handles.as_ref();
    handles.map_or_else(
        || (String::new(), unknown()),
        |(node, fault)| (node.to_string(), fault.clone()),
    )
}
