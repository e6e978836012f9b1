//! Engines that run code which must be able to do no harm, behind the port
//! [`antiphon_runtime::sandbox`].
//!
//! | module | holds |
//! |---|---|
//! | [`frame`] | frames between host and worker |
//! | [`tagged`] | the values in them, counted and checked |

pub mod frame;
pub mod tagged;
