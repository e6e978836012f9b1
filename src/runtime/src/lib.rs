//! What waits: the ports through which antiphon reaches the world, and the
//! clock it lives by.
//!
//! | module | holds |
//! |---|---|
//! | [`port`] | the traits that adapters implement: [`Model`], [`Tool`] |
//! | [`host`] | the code of whoever built a graph, as the native driver calls it |
//! | [`native`] | the driver for runs whose code is Rust; [`stop`] cancels them |
//! | [`watch`] | who watches a run |
//! | [`store`] | the port for what must outlive a process |
//! | [`place`] | the port for where native runs are kept, of which stores have many |
//! | [`sandbox`] | the port for code that nobody trusts |
//! | [`clock`] | system time, and time that a test moves by hand |

pub mod clock;
pub mod host;
pub mod native;
pub mod place;
pub mod port;
pub mod sandbox;
pub mod stop;
pub mod store;
pub mod watch;

pub use clock::{Clock, ManualClock, SystemClock};
pub use host::{Host, NodeCall, Notes, Snapshot};
pub use native::{Begin, Begun, Driver, Rest};
pub use place::{Hold, Opened, Origin, Past, Place};
pub use port::{CallContext, Chunk, Model, Tool};
pub use stop::Stop;
pub use store::Store;
pub use watch::{Recorder, Subscription, Watcher, subscribe};
