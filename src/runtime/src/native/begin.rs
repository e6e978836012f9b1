//! How a run begins in a thread.

use std::sync::Arc;

use antiphon_core::approval::Schemas;
use antiphon_core::checkpoint::{Commit, CommitChange, RecoveredRun, TaskSnapshotState, mark};
use antiphon_core::command::Update;
use antiphon_core::graph::Graph;
use antiphon_core::run::{Options, Run};
use antiphon_core::{Fault, FaultCode, Time};
use serde_json::Value as Json;

use crate::thread_ref::{OpenedThread, RunOrigin, ThreadContents, ThreadLease};

/// What is wanted of a thread.
#[derive(Clone, Debug)]
pub enum StartMode {
    /// A new run over what the thread holds, with this input.
    Turn(Update<Json>),
    /// The last run is to go on, with answers to what it asks, by the ids of
    /// the questions. Questions without one stay open.
    Resume(Vec<(String, Json)>),
}

/// A run that has found its place in a thread, for [`super::Driver::run_kept`].
pub struct StartedRun {
    /// The run.
    pub run: Run<Json>,
    /// What it is called: a run that goes on keeps its id.
    pub run_id: String,
    /// None once it has been driven, and for a run that has nothing left to do.
    pub(super) hold: Option<Box<dyn ThreadLease>>,
}

impl StartedRun {
    /// A new run that is kept nowhere.
    pub fn unkept(
        graph: &Arc<Graph<Json>>,
        input: Update<Json>,
        options: Options,
        now: Time,
    ) -> Self {
        let run_id = options.run_id.clone();
        let options = Options { mark: mark(&run_id), ..options };
        Self { run: Run::new(Arc::clone(graph), input, options, now), run_id, hold: None }
    }

    /// Begins in a thread that was opened for a run of `graph`. A run that goes
    /// on keeps the id and the seed it began with, whatever `options` say.
    ///
    /// # Errors
    /// `thread_empty` if there is nothing to go on from, `question_unknown` if
    /// no open question has an id that was answered, and those of
    /// [`ThreadLease::keep`]. The thread is let go then.
    pub async fn on(
        opened: OpenedThread,
        begin: StartMode,
        (graph, options): (&Arc<Graph<Json>>, Options),
        now: Time,
    ) -> Result<Self, Fault> {
        let OpenedThread { mut hold, past } = opened;
        let mark = mark(&options.run_id);
        let options = Options { commits: true, mark, ..options };
        match (begin, past) {
            (StartMode::Resume(_), None) => Err(nothing()),
            (StartMode::Resume(answers), Some(past)) => {
                Self::resume((hold, past), answers, (graph, options), now).await
            }
            (StartMode::Turn(input), past) => {
                hold.begin(&origin(&options));
                let (graph, run_id) = (Arc::clone(graph), options.run_id.clone());
                let run = match past {
                    None => Run::new(graph, input, options, now),
                    Some(past) => Run::turn(graph, past.memory.root, input, options, now),
                };
                Ok(Self { run, run_id, hold: Some(hold) })
            }
        }
    }

    async fn resume(
        (mut hold, past): (Box<dyn ThreadLease>, ThreadContents),
        answers: Vec<(String, Json)>,
        (graph, mut options): (&Arc<Graph<Json>>, Options),
        now: Time,
    ) -> Result<Self, Fault> {
        let ThreadContents { mut memory, run } = past;
        if let Some(RunOrigin { run_id, seed, mark }) = run {
            (options.run_id, options.seed, options.mark) = (run_id, seed, mark);
        }
        hold.begin(&origin(&options));
        let schemas = options.schemas;
        let answered =
            answers.into_iter().map(|(id, answer)| answered(&memory, &id, answer, schemas));
        // All of them or none: an answer that cannot be taken leaves the pause as it is.
        for commit in answered.collect::<Result<Vec<_>, _>>()? {
            if let Some(durable) = hold.keep(&commit, &|| None, now)? {
                durable.await?;
            }
            memory.fold(graph, commit)?;
        }
        let pending_work = &memory.root.pending_work;
        let (ready, sends) = pending_work.upcoming();
        let is_done = ready.is_empty() && sends.is_empty() && pending_work.detour.is_none();
        // What has nothing left to do but has not said so yet still says it.
        if is_done && memory.ended.is_some() {
            // What it came to is in the thread already.
            hold.close().await?;
            return Ok(Self::taken_up(graph, memory, options, None, now));
        }
        Ok(Self::taken_up(graph, memory, options, Some(hold), now))
    }

    fn taken_up(
        graph: &Arc<Graph<Json>>,
        memory: RecoveredRun<Json>,
        options: Options,
        hold: Option<Box<dyn ThreadLease>>,
        now: Time,
    ) -> Self {
        let run_id = options.run_id.clone();
        Self { run: Run::resume(Arc::clone(graph), memory, options, now), run_id, hold }
    }
}

/// The answer to an open question, as a commit.
fn answered(
    memory: &RecoveredRun<Json>,
    id: &str,
    answer: Json,
    schemas: Schemas,
) -> Result<Commit<Json>, Fault> {
    let asking = memory.tasks.values().find_map(|kept| match &kept.state {
        Some(TaskSnapshotState::Asked(question)) if question.id == id => Some((kept, question)),
        _ => None,
    });
    let (kept, question) = asking.ok_or_else(|| unknown(id))?;
    let answer = question.taken(answer, schemas)?;
    Ok(Commit {
        id: 0,
        within: kept.within.clone(),
        spent: memory.spent,
        events: memory.events,
        change: CommitChange::Answered(kept.task, answer),
    })
}

fn origin(options: &Options) -> RunOrigin {
    RunOrigin { run_id: options.run_id.clone(), seed: options.seed, mark: options.mark }
}

fn nothing() -> Fault {
    Fault::new(FaultCode::ThreadEmpty, "the thread holds nothing to go on from")
        .hint("begin with an input")
}

fn unknown(id: &str) -> Fault {
    let message = format!("no open question has the id: {id}");
    Fault::new(FaultCode::QuestionUnknown, message)
        .hint("answer the questions that the state of the thread lists")
}
