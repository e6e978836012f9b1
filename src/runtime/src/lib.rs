//! What waits: the ports through which antiphon reaches the world, and the
//! clock it lives by.
//!
//! | module | holds |
//! |---|---|
//! | [`port`] | the traits that adapters implement: [`Model`], [`Tool`] |
//! | [`host`] | the code of whoever built a graph, as the native driver calls it |
//! | [`clock`] | system time, and time that a test moves by hand |

pub mod clock;
pub mod host;
pub mod port;

pub use clock::{Clock, ManualClock, SystemClock};
pub use host::{Host, NodeCall, Notes, Snapshot};
pub use port::{CallContext, Chunk, Model, Tool};
