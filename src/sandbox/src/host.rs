//! The outside of the jail: starts zygotes, hands out workers, and supervises each until its
//! end.

mod attachments;
mod calls;
mod cgroup;
mod classify;
mod job_message;
mod lineage;
mod output_head;
mod pool;
mod process;
mod supervise;
mod worker;
mod zygote_process;

pub use process::ProcessEngine;
