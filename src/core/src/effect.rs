//! What a run asks of its driver.

use serde::Serialize;
use smallvec::SmallVec;

use crate::approval::{Proposal, Schemas};
use crate::budget::Dimension;
use crate::checkpoint::Commit;
use crate::fault::Fault;
use crate::seed::Seed;
use crate::task::{Task, TaskId};
use crate::time::Time;
use crate::value::Value;

/// The next thing to do. Exhaustive on purpose: a new effect must break every
/// driver when it is compiled.
#[derive(Debug)]
pub enum Effect<V> {
    /// Begin these and answer each with [`crate::run::Run::resolve`].
    Start(SmallVec<[Task<V>; 1]>),
    /// Stop these. Each still has to be answered, by whatever outcome.
    Cancel(Vec<TaskId>),
    /// Store this, then call [`crate::run::Run::committed`]; a driver without
    /// a store calls it at once.
    Commit(Box<Commit<V>>),
    /// Nothing to do until a task is answered or this instant is reached.
    Wait(Option<Time>),
    /// Nothing runs, and these questions are open: call
    /// [`crate::run::Run::answer`], or keep the run for later.
    Paused(Vec<Question<V>>),
    /// The run is over; its state is there to be read.
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
    /// A budget was spent and no `on_budget` target was left to go to.
    Budget(Dimension),
    /// The caller cancelled, for this reason.
    Cancelled(String),
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
    /// The id of a task's own question: its first, or its next after so many answers.
    /// A question with another id is one of a run that the task has started.
    pub(crate) fn own_id(task: Seed, answers: usize) -> String {
        let asked = task.child(answers as u64);
        format!("{:016x}{:016x}", asked.child(1).number(), asked.child(2).number())
    }
}

impl<V: Value> Question<V> {
    /// What is kept of an answer: the answer, or what it decides about a call.
    ///
    /// # Errors
    /// As [`Question::accepts`].
    pub fn taken(&self, answer: V, schemas: Schemas) -> Result<V, Fault> {
        let Some(proposal) = self.proposal() else { return Ok(answer) };
        let json = answer.to_json().ok_or_else(|| formless(&proposal))?;
        proposal.seal(&json, schemas).map(V::from_json)
    }

    /// Whether this can be its answer: anything, but that a call which needs
    /// approval is approved or not.
    ///
    /// # Errors
    /// As [`Proposal::decide`].
    pub fn accepts(&self, answer: &V, schemas: Schemas) -> Result<(), Fault> {
        let Some(proposal) = self.proposal() else { return Ok(()) };
        let json = answer.to_json().ok_or_else(|| formless(&proposal))?;
        proposal.decide(&json, schemas).map(drop)
    }

    fn proposal(&self) -> Option<Proposal> {
        self.value.to_json().as_ref().and_then(Proposal::read)
    }
}

fn formless(proposal: &Proposal) -> Fault {
    proposal.unclear("a value that JSON has no form for")
}
