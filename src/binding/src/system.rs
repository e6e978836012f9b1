//! Ready systems, and the Python parts that they are given.

pub(crate) mod asking;
pub(crate) mod computation;
pub(crate) mod ported;
pub(crate) mod ported_sandbox;
pub(crate) mod proposal;
pub(crate) mod put;
pub(crate) mod review_loop;
pub(crate) mod role;
pub(crate) mod role_call;
pub(crate) mod role_effect;
pub(crate) mod stopper;
