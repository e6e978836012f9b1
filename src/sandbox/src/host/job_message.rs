//! The message with which a worker receives its job.

use antiphon_runtime::sandbox::{
    GuestFault, GuestFaultKind, HostFunction, JobOutput, SandboxBudget, SandboxJob, SandboxLimits,
};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::frame;

/// A job, as a worker reads it.
#[derive(Serialize)]
struct JobMessage<'a> {
    code: &'a str,
    name: &'a str,
    want: &'a [JobOutput],
    inputs: &'a Map<String, Json>,
    tables: Vec<&'a str>,
    functions: &'a [HostFunction],
    limits: &'a SandboxBudget,
}

/// The frames of a job.
pub(super) fn job_frames(
    job: &SandboxJob,
    limits: &SandboxLimits,
    budget: &SandboxBudget,
) -> Result<Vec<u8>, Box<GuestFault>> {
    const LARGEST: usize = 64 << 20;
    let too_large = |what: &str| {
        let message = format!("the input of the job is too large: {what}");
        Box::new(GuestFault::new(GuestFaultKind::ResultTooLarge, message))
    };
    if job.code.len() as u64 > limits.source {
        return Err(too_large("the source text"));
    }
    let text = serde_json::to_vec(&JobMessage {
        code: &job.code,
        name: &job.name,
        want: &job.want,
        inputs: &job.inputs,
        tables: job.tables.iter().map(|(name, _)| name.as_str()).collect(),
        functions: &job.functions,
        limits: budget,
    })
    .map_err(|_| too_large("the inputs"))?;
    let mut letter = Vec::new();
    if text.len() > LARGEST || !frame::write(&mut letter, frame::FrameKind::Job, &text) {
        return Err(too_large("the inputs"));
    }
    for (name, bytes) in &job.tables {
        let fits = bytes.len() as u64 <= limits.tables;
        if !fits || !frame::write(&mut letter, frame::FrameKind::Attachment, bytes) {
            return Err(too_large(name));
        }
    }
    Ok(letter)
}
