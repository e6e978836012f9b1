//! The outside of the jail: who starts zygotes, hands out workers, and watches
//! each until its end.

mod attached;
mod body;
mod calls;
mod cgroup;
mod classify;
mod head;
mod letter;
mod lineage;
mod parent;
mod pool;
mod process;
mod supervise;
mod worker;

pub use process::Engine;
