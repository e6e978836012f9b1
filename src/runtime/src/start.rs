//! Starting and resuming runs in threads.

use std::sync::Arc;

use antiphon_core::checkpoint::{
    Commit, CommitChange, GraphSnapshot, RecoveredRun, TaskSnapshot, TaskSnapshotState, key_salt,
};
use antiphon_core::command::Update;
use antiphon_core::effect::Question;
use antiphon_core::graph::{Graph, NodeId};
use antiphon_core::run::{Options, Run};
use antiphon_core::value::Value;
use antiphon_core::{Fault, FaultCode, Time};
use serde_json::Value as Json;

use crate::committer::RunCommitter;
use crate::thread_ref::{OpenedThread, RunOrigin, ThreadContents};

/// How a run starts in its thread.
#[derive(Clone, Debug)]
pub enum StartMode<V = Json> {
    /// A new run over the state of the thread, with this input.
    Turn(Update<V>),
    /// The last run is resumed, with answers to its questions. It keeps its id and its
    /// seed; those of the options are ignored.
    Resume(Answers<V>),
    /// The same under the id of the options.
    ResumeAs(Answers<V>),
    /// These writes are merged in the name of a node, and nothing runs.
    Edit(NodeId, Update<V>),
}

/// Answers to the open questions of a run.
#[derive(Clone, Debug)]
pub enum Answers<V = Json> {
    /// By the ids of the questions. A question without an answer stays open.
    ById(Vec<(String, V)>),
    /// For the only question; dropped if none is open.
    Only(V),
}

/// A run that has started in its thread.
#[derive(Debug)]
pub struct StartedRun<V = Json> {
    /// The run.
    pub run: Run<V>,
    /// Its id.
    pub run_id: String,
    /// The supersteps of earlier runs of the thread.
    pub earlier_supersteps: u64,
}

/// A run and what stores its commits, for [`Driver::run_durable`].
///
/// [`Driver::run_durable`]: crate::Driver::run_durable
pub struct DurableRun {
    /// The run.
    pub run: Run<Json>,
    /// Its id.
    pub run_id: String,
    pub(crate) committer: RunCommitter<Json>,
}

impl DurableRun {
    /// A new run that is kept nowhere.
    pub fn detached(
        graph: &Arc<Graph<Json>>,
        input: Update<Json>,
        options: Options,
        now: Time,
    ) -> Self {
        let run_id = options.run_id.clone();
        let options = Options { key_salt: key_salt(&run_id), ..options };
        let run = Run::new(Arc::clone(graph), input, options, now);
        Self { run, run_id, committer: RunCommitter::detached() }
    }

    /// The result of an edit of a thread with these contents, without storing it.
    pub fn trial_of_edit(
        contents: &ThreadContents,
        edit: (NodeId, Update<Json>),
        (graph, options): (&Arc<Graph<Json>>, Options),
        now: Time,
    ) -> Self {
        let (run_id, root) = (options.run_id.clone(), contents.recovered.root.clone());
        let run = Run::edit(Arc::clone(graph), root, edit, options, now);
        Self { run, run_id, committer: RunCommitter::detached() }
    }

    /// Answers the questions of a run that has paused, all of them or none.
    ///
    /// # Errors
    /// `question_unknown` or `answer_invalid` if an answer fits no open question.
    pub fn answer(&mut self, answers: Answers, now: Time) -> Result<(), Fault> {
        let answers = match (answers, self.run.questions().as_slice()) {
            (Answers::ById(answers), _) => answers,
            (Answers::Only(answer), [only]) => vec![(only.id.clone(), answer)],
            (Answers::Only(_), several) => return Err(ambiguous(several.iter())),
        };
        for (id, answer) in &answers {
            self.run.check_answer(id, answer)?;
        }
        answers.into_iter().try_for_each(|(id, answer)| self.run.answer(&id, answer, now))
    }

    /// Why the thread does not have all of the run, once it was driven.
    pub const fn storage_fault(&self) -> Option<&Fault> {
        self.committer.storage_fault()
    }

    /// The checkpoint that was written or found last, once the run was driven; 0 if there is
    /// none.
    pub const fn checkpoint(&self) -> u64 {
        self.committer.checkpoint()
    }

    /// Starts in a thread that was opened for a run of `graph`.
    ///
    /// # Errors
    /// Those of [`RunCommitter::start`]. The thread is released before.
    pub async fn start(
        opened: OpenedThread,
        mode: StartMode,
        (graph, options): (&Arc<Graph<Json>>, Options),
        now: Time,
    ) -> Result<Self, Fault> {
        let OpenedThread { lease, contents } = opened;
        let mut committer = RunCommitter::new(lease);
        let options = Options { commits: true, key_salt: key_salt(&options.run_id), ..options };
        match committer.start((mode, contents), (graph, options), now) {
            Ok(StartedRun { run, run_id, .. }) => Ok(Self { run, run_id, committer }),
            Err(fault) => {
                committer.closed().await?;
                Err(fault)
            }
        }
    }
}

impl<V: Value> RunCommitter<V> {
    /// Starts a run of `graph` in the thread, which holds `contents`. The run takes its first
    /// step only when [`RunCommitter::is_blocked`] is over.
    ///
    /// # Errors
    /// `thread_empty` if there is nothing to resume, `checkpoint_misfit` if the graph has lost a
    /// node with work that is still open, `question_unknown` or `answer_invalid` if an answer
    /// fits no open question, and why an answer cannot be stored. The thread is as it was, and
    /// still held.
    pub fn start(
        &mut self,
        (mode, contents): (StartMode<V>, Option<ThreadContents<V>>),
        (graph, options): (&Arc<Graph<V>>, Options),
        now: Time,
    ) -> Result<StartedRun<V>, Fault> {
        let (run_id, root) =
            (options.run_id.clone(), |held: ThreadContents<V>| held.recovered.root);
        let origin = origin(&options);
        let (earlier_supersteps, run) = match (mode, contents) {
            (StartMode::Resume(_) | StartMode::ResumeAs(_), None) => return Err(nothing_held()),
            (StartMode::Resume(answers), Some(held)) => {
                let run_id = held.origin.as_ref().map_or(run_id, |origin| origin.run_id.clone());
                let options = Options { run_id, ..options };
                return self.resume((held, answers), (graph, options), now);
            }
            (StartMode::ResumeAs(answers), Some(held)) => {
                return self.resume((held, answers), (graph, options), now);
            }
            (StartMode::Turn(input), None) => (0, Run::new(Arc::clone(graph), input, options, now)),
            (StartMode::Turn(input), Some(held)) => {
                held.recovered.lost.clone().map_or(Ok(()), Err)?;
                let root = root(held);
                (root.step + 1, Run::turn(Arc::clone(graph), root, input, options, now))
            }
            (StartMode::Edit(node, update), held) => {
                let root = held.map_or_else(|| GraphSnapshot::new(graph), root);
                let edit = (node, update);
                (root.step + 1, Run::edit(Arc::clone(graph), root, edit, options, now))
            }
        };
        self.begin(&origin);
        Ok(StartedRun { run, run_id, earlier_supersteps })
    }

    fn resume(
        &mut self,
        (held, answers): (ThreadContents<V>, Answers<V>),
        (graph, mut options): (&Arc<Graph<V>>, Options),
        now: Time,
    ) -> Result<StartedRun<V>, Fault> {
        let ThreadContents { mut recovered, origin: stored } = held;
        recovered.lost.take().map_or(Ok(()), Err)?;
        if let Some(RunOrigin { seed, key_salt, .. }) = stored {
            (options.seed, options.key_salt) = (seed, key_salt);
        }
        self.begin(&origin(&options));
        // All of them or none: an answer that does not fit leaves the pause as it is.
        let answers = answers.commits(&recovered, &options)?;
        self.commit_answers(&answers, now)?;
        for commit in answers {
            recovered.fold(graph, commit)?;
        }
        // A run that has nothing left to do but has not recorded its end still does so.
        if recovered.root.pending_work.tasks() == 0 && recovered.ended.is_some() {
            self.discard();
        }
        let earlier_supersteps = recovered.root.step.saturating_sub(recovered.spent.supersteps);
        let run_id = options.run_id.clone();
        let run = Run::resume(Arc::clone(graph), recovered, options, now);
        Ok(StartedRun { run, run_id, earlier_supersteps })
    }
}

impl<V> Answers<V> {
    /// No answers: all open questions stay open.
    pub const NONE: Self = Self::ById(Vec::new());

    const fn is_empty(&self) -> bool {
        matches!(self, Self::ById(answers) if answers.is_empty())
    }
}

impl<V: Value> Answers<V> {
    fn commits(
        self,
        recovered: &RecoveredRun<V>,
        options: &Options,
    ) -> Result<Vec<Commit<V>>, Fault> {
        // Where the tasks have not run yet they still have to ask, and the answer would be lost.
        let has_not_asked = recovered.tasks.is_empty() && recovered.root.pending_work.tasks() > 0;
        if has_not_asked && !self.is_empty() {
            return Err(nothing_asked());
        }
        let asked = recovered.tasks.values().filter_map(|task| match &task.state {
            Some(TaskSnapshotState::Asked(question)) => Some((task, &**question)),
            _ => None,
        });
        let open: Vec<_> = asked.collect();
        let answers = self.matched(&open)?.into_iter();
        let commit = |((task, question), answer): (OpenQuestion<'_, V>, V)| {
            question.encode_answer(answer, options.schemas).map(|answer| Commit {
                id: 0,
                within: task.within.clone(),
                spent: recovered.spent,
                events: recovered.events,
                change: CommitChange::Answered(task.task, answer),
            })
        };
        answers.map(commit).collect()
    }

    fn matched<'q>(
        self,
        open: &[OpenQuestion<'q, V>],
    ) -> Result<Vec<(OpenQuestion<'q, V>, V)>, Fault> {
        match (self, open) {
            (Self::ById(answers), open) => {
                let matched = |(id, answer): (String, V)| {
                    let question = open.iter().find(|(_, question)| question.id == id);
                    question.map(|found| (*found, answer)).ok_or_else(|| unknown_question(&id))
                };
                answers.into_iter().map(matched).collect()
            }
            // The run has ended, or has had this answer before.
            (Self::Only(_), []) => Ok(Vec::new()),
            (Self::Only(answer), [only]) => Ok(vec![(*only, answer)]),
            (Self::Only(_), several) => {
                Err(ambiguous(several.iter().map(|(_, question)| *question)))
            }
        }
    }
}

/// A question, and the task that asks it.
type OpenQuestion<'q, V> = (&'q TaskSnapshot<V>, &'q Question<V>);

fn origin(options: &Options) -> RunOrigin {
    RunOrigin { run_id: options.run_id.clone(), seed: options.seed, key_salt: options.key_salt }
}

fn nothing_held() -> Fault {
    Fault::new(FaultCode::ThreadEmpty, "the thread is empty").hint("start with an input")
}

fn nothing_asked() -> Fault {
    let message = "no question is open at this checkpoint";
    Fault::new(FaultCode::AnswerInvalid, message)
        .hint("resume from it without an answer; the question is asked again")
}

fn ambiguous<'q, V: 'q>(open: impl Iterator<Item = &'q Question<V>>) -> Fault {
    let ids: Vec<_> = open.map(|question| question.id.as_str()).collect();
    let message = format!("several questions are open, and the answer names none: {}", ids.len());
    Fault::new(FaultCode::AnswerInvalid, message)
        .with("questions", Json::from(ids))
        .hint("pass a dict from question ids to answers")
}

fn unknown_question(id: &str) -> Fault {
    let message = format!("no open question has the id: {id}");
    Fault::new(FaultCode::QuestionUnknown, message)
        .hint("answer one of the questions that the thread's state lists")
}
