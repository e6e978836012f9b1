//! Ids and topics of sub-tasks.

use antiphon_core::seed::{KeySeed, Seed};

/// The longest name of a role, step or tool, in bytes.
pub(crate) const LONGEST_NAME: usize = 64;
/// The longest id of a sub-task: with a prefix and a round it is that of a message.
pub(super) const LONGEST_ID: usize = 40;
/// The longest name of a role that has a topic.
const LONGEST_ROLE: usize = 48;
const TASKS: &str = "task.";
const RESULTS: &str = "result.";
const TIMEOUTS: &str = "timeout.";

/// The id of the execution of a step: the same whenever the run comes back to it.
pub fn sub_task_id(run_id: &str, attempt: u32, step_id: &str) -> String {
    let attempt = source("sub-task").named(run_id).child(u64::from(attempt));
    attempt.named(step_id).digits()
}

fn source(purpose: &str) -> KeySeed {
    KeySeed::new(Seed::default(), 0).named(purpose)
}

/// Whether a text is a name: letters, digits, `_`, `.` and `-`, from 1 to `longest`.
pub(crate) fn is_name(text: &str, longest: usize) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=longest).contains(&text.len()) && text.bytes().all(fits)
}

/// The topic of the sub-tasks of a role; none for a name that no topic can have.
pub fn task_topic(role: &str) -> Option<String> {
    is_name(role, LONGEST_ROLE).then(|| format!("{TASKS}{role}"))
}

/// The topic of the results of a run.
pub fn result_topic(run_id: &str) -> String {
    format!("{RESULTS}{}", source("run").named(run_id).digits())
}

/// Whether a topic is one of results.
pub(super) fn is_result_topic(topic: &str) -> bool {
    topic.starts_with(RESULTS) && is_name(topic, LONGEST_NAME)
}

/// The id of the message of a sub-task. What was cancelled is sent again in another round.
pub(super) fn task_message_id(sub_task_id: &str, round: u32) -> String {
    if round == 1 { sub_task_id.to_owned() } else { format!("{sub_task_id}.{round}") }
}

/// The id of the message of its result: there is one.
pub(super) fn result_message_id(task_message: &str) -> String {
    format!("{RESULTS}{task_message}")
}

/// The id of the note that nobody waits for its result any more.
pub(super) fn timeout_message_id(task_message: &str) -> String {
    format!("{TIMEOUTS}{task_message}")
}
