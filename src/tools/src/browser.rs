//! A headless Chromium that shows pages which scripts make, behind the address policy.
//!
//! | module | holds |
//! |---|---|
//! | [`chromium`] | one process for one page |
//! | [`proxy`] | the only way out of it, which enforces the policy |

pub mod chromium;
pub mod proxy;

pub use chromium::{BrowserError, ChromiumBrowser};
pub use proxy::PolicyProxy;
