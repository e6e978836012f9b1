//! Effects: what a driver has to do for a run.

use serde::Serialize;
use smallvec::SmallVec;

use crate::approval::{Proposal, Schemas};
use crate::budget::BudgetDimension;
use crate::checkpoint::Commit;
use crate::fault::Fault;
use crate::seed::Seed;
use crate::task::{Task, TaskId};
use crate::time::Time;
use crate::value::Value;

/// The next thing to do. The enum is exhaustive on purpose: a new effect must break the build of
/// every driver.
#[derive(Debug)]
pub enum Effect<V> {
    /// Start these, and resolve each with [`crate::run::Run::resolve`].
    Start(SmallVec<[Task<V>; 1]>),
    /// Cancel these. Each still must be resolved, with any outcome.
    Cancel(Vec<TaskId>),
    /// Store this, then call [`crate::run::Run::committed`]; a driver without
    /// a store calls it at once.
    Commit(Box<Commit<V>>),
    /// Nothing to do until a task is resolved or this instant is reached.
    Wait(Option<Time>),
    /// Nothing runs, and these questions are open: call [`crate::run::Run::answer`], or resume the
    /// run later.
    Paused(Vec<Question<V>>),
    /// The run has ended; its state can be read.
    Done(Ending),
    /// The run has failed; its state is that of the last superstep that was
    /// merged. A router that sees the merged state and fails does so after that.
    Failed(Fault),
}

/// How a run ended that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing was left to run.
    Completed,
    /// A budget was exhausted, and no `on_budget` target was left.
    Budget(BudgetDimension),
    /// The caller cancelled, for this reason.
    Cancelled(String),
    /// It stopped at a breakpoint between two supersteps, and can be resumed there.
    Breakpoint,
}

/// A question from inside the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question<V> {
    /// Answers are given by this id: 32 hexadecimal digits, the same whenever
    /// the same run asks the same question.
    pub id: String,
    /// The names of the nodes that lead to the one that asks.
    pub path: Vec<String>,
    /// What is asked.
    pub value: V,
}

impl<V> Question<V> {
    /// The id of a task's own question after so many answers. A question with another id comes from
    /// a run that the task has started.
    pub(crate) fn own_id(task: Seed, answers: usize) -> String {
        let asked = task.child(answers as u64);
        format!("{:016x}{:016x}", asked.child(1).number(), asked.child(2).number())
    }
}

impl<V: Value> Question<V> {
    /// The answer as it is stored: itself, or the decision about a proposed call.
    ///
    /// # Errors
    /// As [`Question::check_answer`].
    pub fn encode_answer(&self, answer: V, schemas: Schemas) -> Result<V, Fault> {
        let Some(proposal) = self.proposal() else { return Ok(answer) };
        let json = answer.to_json().ok_or_else(|| formless(&proposal))?;
        proposal.encode_answer(&json, schemas).map(V::from_json)
    }

    /// Checks an answer: the question about a proposed call takes a decision, all others take any
    /// value.
    ///
    /// # Errors
    /// As [`Proposal::decide`].
    pub fn check_answer(&self, answer: &V, schemas: Schemas) -> Result<(), Fault> {
        let Some(proposal) = self.proposal() else { return Ok(()) };
        let json = answer.to_json().ok_or_else(|| formless(&proposal))?;
        proposal.decide(&json, schemas).map(drop)
    }

    fn proposal(&self) -> Option<Proposal> {
        self.value.to_json().as_ref().and_then(Proposal::parse)
    }
}

fn formless(proposal: &Proposal) -> Fault {
    proposal.undecided("a value that JSON has no form for")
}
