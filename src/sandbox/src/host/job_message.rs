//! The message with which a worker receives its job.

use std::fmt::Display;

use antiphon_runtime::sandbox::{
    GuestFault, GuestFaultKind, HostFunction, JobOutput, SandboxBudget, SandboxJob, SandboxLimits,
};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::frame;

/// The most bytes of all inputs as JSON, and how the limit is called.
const LARGEST: u64 = 64 << 20;
const JSON: &str = "for JSON";

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
    let source = job.code.len() as u64;
    if source > limits.source {
        return Err(too_large("the source text", "`source`", limits.source, &source));
    }
    let unreadable = |size: &dyn Display| too_large("the JSON of the inputs", JSON, LARGEST, size);
    let text = serde_json::to_vec(&JobMessage {
        code: &job.code,
        name: &job.name,
        want: &job.want,
        inputs: &job.inputs,
        tables: job.tables.iter().map(|(name, _)| name.as_str()).collect(),
        functions: &job.functions,
        limits: budget,
    })
    .map_err(|error| unreadable(&error))?;
    let mut letter = Vec::new();
    if text.len() as u64 > LARGEST || !frame::write(&mut letter, frame::FrameKind::Job, &text) {
        return Err(unreadable(&text.len()));
    }
    for (name, bytes) in &job.tables {
        let fits = bytes.len() as u64 <= limits.tables;
        if !fits || !frame::write(&mut letter, frame::FrameKind::Attachment, bytes) {
            let what = format!("the table `{name}`");
            return Err(too_large(&what, "`tables`", limits.tables, &bytes.len()));
        }
    }
    Ok(letter)
}

/// The fault, with the way out: callers of systems see only its message.
fn too_large(what: &str, limit: &str, most: u64, size: &dyn Display) -> Box<GuestFault> {
    let remedy = if limit == JSON {
        "pass a data frame"
    } else {
        "pass fewer rows or columns, or raise the limit with `Limits`"
    };
    let message =
        format!("{what} is larger than the limit {limit} of {most} bytes; {remedy}: {size}");
    Box::new(GuestFault::new(GuestFaultKind::ResultTooLarge, message))
}
