//! Starts, resumes and concludes the runs of a system.

use std::sync::Arc;

use antiphon_core::budget::{BudgetDimension, Limits};
use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::command::Update;
use antiphon_core::effect::{Ending, Question};
use antiphon_core::graph::Graph;
use antiphon_core::run::{Options, Run};
use antiphon_core::{Category, Time};
use antiphon_core::{Fault, FaultCode};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::{
    Answers, Attachments, DriveOutcome, Driver, DurableRun, OpenedThread, Recorder, Snapshot,
    StartMode, ThreadContents, ThreadRef,
};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::builder::{CodeTable, SystemBuilder};
use crate::host::SystemHost;
use crate::node::RunScope;
use crate::resources::SystemResourcesBuilder;
use crate::result::{Outcome, SystemResult};
use crate::session::Session;
use crate::state::{ATTACHMENTS, INPUT, TOOL_RESULTS};
use crate::state_cache::StateCache;
use crate::stored_attachments;
use crate::system::{Conclusion, FinishedRun, RunEnding, System, SystemConfig, SystemInput};
use crate::tool_cache::ToolCache;

mod edit;
mod open_questions;
mod opening;
mod paused_run;
mod spent_budget;
mod storage_note;
mod unanswered_requests;

pub use paused_run::PausedRun;

use open_questions::{open_question, waiting};
use opening::open_thread;
use spent_budget::{limit_name, reported_dimension, spent_budget, spent_dimension};
use unanswered_requests::ending_of_requests;

/// A system, ready for any number of questions at once.
pub struct SystemRunner<S: System> {
    system: Arc<S>,
    graph: Arc<Graph<Json>>,
    code: Arc<CodeTable<S>>,
}

/// What a run that is started or taken up is given.
struct GivenParts<S: System> {
    input: Arc<S::Input>,
    /// The bytes that the state names.
    attachments: Attachments,
    /// What tools have returned in the run.
    tools: Arc<ToolCache>,
}

/// How a question starts.
#[derive(Debug)]
pub enum SystemStart<I> {
    /// From nothing. A thread puts aside its previous content, but no question that waits for a
    /// person.
    Ask(I),
    /// From nothing, as [`SystemStart::Ask`], unless the thread holds this very input: then it
    /// resumes that, and one that has ended returns its result.
    AskOnce(I),
    /// As [`SystemStart::AskOnce`], but a question that has ended is asked anew.
    AskAgain(I),
    /// From what the thread holds, with answers to its open questions.
    Resume(Answers),
    /// Where it paused, if no thread keeps it, with answers to its questions.
    Continue(PausedRun, Answers),
    /// From a state that came from elsewhere, after the node that ran last.
    State(Json),
}

impl<I> SystemStart<I> {
    const fn input(&self) -> Option<&I> {
        match self {
            Self::Ask(input) | Self::AskOnce(input) | Self::AskAgain(input) => Some(input),
            Self::Resume(_) | Self::Continue(..) | Self::State(_) => None,
        }
    }

    /// The same with another input.
    ///
    /// # Errors
    /// That of `change`.
    pub fn try_map<J>(
        self,
        change: impl FnOnce(I) -> Result<J, Fault>,
    ) -> Result<SystemStart<J>, Fault> {
        Ok(match self {
            Self::Ask(input) => SystemStart::Ask(change(input)?),
            Self::AskOnce(input) => SystemStart::AskOnce(change(input)?),
            Self::AskAgain(input) => SystemStart::AskAgain(change(input)?),
            Self::Resume(answers) => SystemStart::Resume(answers),
            Self::Continue(paused, answers) => SystemStart::Continue(paused, answers),
            Self::State(state) => SystemStart::State(state),
        })
    }
}

impl<S: System> SystemRunner<S> {
    /// Checks settings and resources, and builds the graph. Nothing is called.
    ///
    /// # Errors
    /// A `Validation` fault: `system_setting_invalid`, `role_missing`, `role_unknown`,
    /// `role_tools_invalid`, `role_invalid`, `prompt_unknown`, `prompt_invalid`, or
    /// `schema_invalid` for the arguments of a tool.
    pub fn new(config: S::Config, resources: SystemResourcesBuilder) -> Result<Self, Fault> {
        config.check()?;
        let system = S::new(config, resources.resolve::<S>()?)?;
        let mut builder = SystemBuilder::new(&system.resources().roles)?;
        system.build(&mut builder)?;
        let (graph, code) = builder.build()?;
        Ok(Self { system: Arc::new(system), graph, code: Arc::new(code) })
    }

    /// The graph, for drawing.
    pub const fn graph(&self) -> &Arc<Graph<Json>> {
        &self.graph
    }

    /// The system with its settings and resources.
    pub fn system(&self) -> &S {
        &self.system
    }

    /// Answers a question. Needs a tokio runtime with its timer.
    ///
    /// # Errors
    /// Only for a question that cannot be started, before any model is called: the faults of
    /// [`SystemInput::check`], `thread_paused` if the thread waits for an answer, and those of
    /// [`ThreadRef::open`]. All later failures are outcomes of the result.
    pub async fn ask(
        &self,
        input: impl Into<S::Input>,
        session: Session,
    ) -> Result<SystemResult<S::Output, S::State>, Fault> {
        self.run(SystemStart::Ask(input.into()), session).await
    }

    /// Resumes the question in a thread, after a pause, a crash or a cancellation: no stored
    /// step runs again. A question that has ended returns its result. Its time limit starts
    /// anew, and the trace has the events from now on.
    ///
    /// # Errors
    /// `thread_empty` if there is no question, `question_unknown` for the id of a question that
    /// is not open, the faults of [`System::verify`], and those of [`ThreadRef::open`].
    pub async fn resume(
        &self,
        thread: Arc<dyn ThreadRef>,
        answers: Answers,
        session: Session,
    ) -> Result<SystemResult<S::Output, S::State>, Fault> {
        let session = Session { thread: Some(thread), ..session };
        self.run(SystemStart::Resume(answers), session).await
    }

    /// Continues a question from a state, after the node that ran last.
    ///
    /// # Errors
    /// The faults of [`System::verify`], and those of [`ThreadRef::open`].
    pub async fn resume_from(
        &self,
        state: &S::State,
        session: Session,
    ) -> Result<SystemResult<S::Output, S::State>, Fault> {
        S::verify(state)?;
        self.run(SystemStart::State(json!(state)), session).await
    }

    /// Starts a question in one of all ways, and takes it to where it rests.
    ///
    /// # Errors
    /// As [`SystemRunner::ask`] and [`SystemRunner::resume`].
    pub async fn run(
        &self,
        start: SystemStart<S::Input>,
        session: Session,
    ) -> Result<SystemResult<S::Output, S::State>, Fault> {
        start.input().map_or(Ok(()), SystemInput::check)?;
        let (mut started, given) = self.start(start, &session).await?;
        let scope = self.scope(&started, given, &session);
        let host = SystemHost { code: Arc::clone(&self.code), scope: Arc::clone(&scope) };
        let (recorder, limits) = (Recorder::new(), session.limits.clone());
        let clock = Arc::clone(&session.clock);
        let mut driver = Driver::new(Arc::new(host), clock).watch(recorder.clone());
        for watcher in session.watchers.iter().cloned().chain(S::watcher(&scope.data)) {
            driver = driver.watch(watcher);
        }
        if let Some(token) = &session.cancel {
            driver = driver.cancel_on(token);
        }
        let rest = Box::pin(driver.run_durable(&mut started)).await;
        if session.thread.is_some() {
            self.tell_of_storage(&started, &recorder, &session);
        }
        Ok(self.conclude(started, (rest, &recorder), &scope, &limits))
    }

    /// Adds the event of a system that has one for the last commit.
    fn tell_of_storage(&self, started: &DurableRun, recorder: &Recorder, session: &Session) {
        let Ok(state) = Snapshot::of(&self.graph, started.run.state()).read() else { return };
        if let Some(note) = S::storage_note(&state, started.storage_fault()) {
            let place = (started.run.event_count() + 1, session.clock.now());
            storage_note::publish(note, place, recorder, &session.watchers);
        }
    }

    fn scope(
        &self,
        kept: &DurableRun,
        given: GivenParts<S>,
        session: &Session,
    ) -> Arc<RunScope<S>> {
        let GivenParts { input, attachments, tools } = given;
        Arc::new(RunScope {
            system: Arc::clone(&self.system),
            data: self.system.open(&input, session),
            input,
            run_id: kept.run_id.as_str().into(),
            attachments,
            is_kept: session.thread.is_some(),
            tools,
            requests: Arc::default(),
            state: StateCache::default(),
            user_context: session.user_context.clone(),
        })
    }

    fn options(&self, session: &Session) -> Options {
        Options {
            run_id: session.run_id.clone(),
            seed: session.seed,
            limits: self.system.config().limits().lowest(&session.limits),
            events: true,
            schemas: Some(&JsonSchemas),
            ..Options::default()
        }
    }

    async fn start(
        &self,
        start: SystemStart<S::Input>,
        session: &Session,
    ) -> Result<(DurableRun, GivenParts<S>), Fault> {
        let (options, now) = (self.options(session), session.clock.now());
        if let SystemStart::Continue(paused, answers) = start {
            let (run, given) = paused.resume(answers, &self.graph, now)?;
            return Ok(self.resumed(run, given));
        }
        let Some(thread) = &session.thread else {
            // Only a thread has to hold the input: it may be large.
            let marked = start.input().is_some().then(|| json!({}));
            let update = self.update(&start, marked, false);
            let run = DurableRun::detached(&self.graph, update, options, now);
            return Ok((run, given(start)));
        };
        // One that is resumed by another process at the same time must not wait for it.
        let busy_timeout = start.input().and_then(|_| self.system.thread_busy_timeout());
        let opened = open_thread(&**thread, &self.graph, (busy_timeout, session)).await?;
        let refused = match (&start, &opened.contents) {
            (SystemStart::Resume(_), None) => Some(empty(thread.name())),
            (SystemStart::Ask(_), Some(past)) => waiting(thread.name(), past),
            (SystemStart::AskOnce(input) | SystemStart::AskAgain(input), Some(past))
                if self.stored_input(past) != Some(&json!(input)) =>
            {
                waiting(thread.name(), past)
            }
            _ => None,
        };
        if let Some(fault) = refused {
            opened.lease.close().await?;
            return Err(fault);
        }
        self.start_in_thread(start, opened, (options, now)).await
    }

    async fn start_in_thread(
        &self,
        start: SystemStart<S::Input>,
        opened: OpenedThread,
        (options, now): (Options, Time),
    ) -> Result<(DurableRun, GivenParts<S>), Fault> {
        let input = start.input().map(|input| json!(input));
        let past = opened.contents.as_ref();
        let is_same = past.is_some_and(|past| self.stored_input(past) == input.as_ref());
        let is_over =
            past.is_some_and(|past| matches!(past.recovered.ended, Some(Ok(Ending::Completed))));
        let resumes = match &start {
            SystemStart::AskOnce(_) => is_same,
            SystemStart::AskAgain(_) => is_same && !is_over,
            SystemStart::Resume(_) => true,
            SystemStart::Ask(_) | SystemStart::Continue(..) | SystemStart::State(_) => false,
        };
        if !resumes {
            let update = self.update(&start, input, past.is_some());
            let mode = StartMode::Turn(update);
            let run = DurableRun::start(opened, mode, (&self.graph, options), now).await?;
            return Ok((run, given(start)));
        }
        past.map_or(Ok(()), |past| self.verify(past))?;
        let input = match past.and_then(|past| self.stored_input(past)) {
            Some(stored) => S::Input::deserialize(stored).map_err(|error| {
                let message = format!("the input in the thread cannot be read: {error}");
                Fault::new(FaultCode::CheckpointMisfit, message)
            })?,
            None => S::Input::default(),
        };
        let answers = match (start, past) {
            (SystemStart::Resume(answers), Some(past)) => open_question(answers, past)?,
            _ => Answers::NONE,
        };
        let mode = StartMode::Resume(answers);
        let run = DurableRun::start(opened, mode, (&self.graph, options), now).await?;
        Ok(self.resumed(run, (Arc::new(input), Attachments::default())))
    }

    fn resumed(
        &self,
        run: DurableRun,
        (input, attachments): (Arc<S::Input>, Attachments),
    ) -> (DurableRun, GivenParts<S>) {
        let tools = ToolCache::of(self.channel(&run.run, TOOL_RESULTS));
        (run, GivenParts { input, attachments, tools })
    }

    /// What the run starts with. What a thread held before is not for it, but for the fields that
    /// the system keeps.
    fn update(
        &self,
        start: &SystemStart<S::Input>,
        input: Option<Json>,
        is_held: bool,
    ) -> Update<Json> {
        let mut fields = match start {
            SystemStart::State(Json::Object(fields)) => fields.clone(),
            _ => Map::new(),
        };
        fields.extend(input.map(|input| (INPUT.to_owned(), input)));
        let mut update = Update::default();
        for channel in self.graph.channels() {
            let Some(id) = self.graph.channel_id(&channel.name) else { continue };
            let op = match fields.remove(&*channel.name).filter(|value| !value.is_null()) {
                Some(value) => WriteOp::Replace(value),
                None if is_held && !S::KEPT_FIELDS.contains(&&*channel.name) => WriteOp::Reset,
                None => continue,
            };
            update.writes.push(Write { channel: id, op });
        }
        update
    }

    /// What a thread was asked last.
    fn stored_input<'p>(&self, past: &'p ThreadContents) -> Option<&'p Json> {
        past.recovered.root.state.get(self.graph.channel_id(INPUT)?)
    }

    /// Whether a state that was stored holds together.
    fn verify(&self, past: &ThreadContents) -> Result<(), Fault> {
        S::verify(&Snapshot::of(&self.graph, &past.recovered.root.state).read()?)
    }

    fn channel<'r>(&self, run: &'r Run<Json>, name: &str) -> Option<&'r Json> {
        run.state().get(self.graph.channel_id(name)?)
    }

    fn conclude(
        &self,
        started: DurableRun,
        (rest, recorder): (Result<DriveOutcome, Fault>, &Recorder),
        scope: &RunScope<S>,
        own: &Limits,
    ) -> SystemResult<S::Output, S::State> {
        let (run, run_id) = (&started.run, started.run_id.clone());
        let spent = match &rest {
            Ok(DriveOutcome::Ended(Ending::Budget(dimension))) => Some(*dimension),
            _ => None,
        };
        let stopped = cancel_reason(&rest);
        let (ending, questions, fault) = rest_parts(rest);
        let (state, unread) = match scope.state.take(&Snapshot::of(&self.graph, run.state())) {
            Ok(state) => (state, None),
            Err(fault) => (S::State::default(), Some(fault)),
        };
        let (ending, fault, unasked) =
            ending_of_requests((&self.graph, run, &state), (ending, fault.or(unread)), scope);
        let storage_fault = started.storage_fault();
        let events = recorder.events();
        let spent = spent.or_else(|| reported_dimension(&events));
        let mut finished = FinishedRun { state, ending, fault, spent, storage_fault, run: scope };
        let Conclusion { output, outcome, reason, error } = self.system.conclude(&mut finished);
        let error = error.or_else(|| {
            let spent = spent.or_else(|| spent_dimension(run.budget()));
            let is_spent = outcome == Outcome::Budget;
            let fault =
                |spent: BudgetDimension| spent_budget::<S::Config>(spent, run.budget(), own);
            spent.filter(|_| is_spent).map(fault)
        });
        let reason =
            unasked.or(reason).or(stopped).or_else(|| limit_name(outcome, error.as_ref()?));
        let spent = *run.budget().spent();
        // A thread has a checkpoint by now, and is resumed from that.
        let checkpoint = Some(started.checkpoint()).filter(|checkpoint| *checkpoint > 0);
        let is_resumable = ending == RunEnding::Paused && checkpoint.is_none();
        let attachments = scope.attachments.clone();
        stored_attachments::restore(&attachments, self.channel(run, ATTACHMENTS));
        let given = (Arc::clone(&scope.input), attachments.clone());
        SystemResult {
            output,
            state: finished.state,
            outcome,
            reason,
            questions,
            error,
            events,
            events_dropped: recorder.dropped(),
            models: self.system.resources().roles.models(),
            spent,
            run_id,
            checkpoint,
            paused: is_resumable.then(|| PausedRun::new(started, &self.graph, given)),
            attachments,
        }
    }
}

/// What a question that begins is given: what its thread has of the tools of an earlier one is old.
fn given<S: System>(start: SystemStart<S::Input>) -> GivenParts<S> {
    let input = match start {
        SystemStart::Ask(input) | SystemStart::AskOnce(input) | SystemStart::AskAgain(input) => {
            input
        }
        SystemStart::Resume(_) | SystemStart::Continue(..) | SystemStart::State(_) => {
            S::Input::default()
        }
    };
    GivenParts {
        input: Arc::new(input),
        attachments: Attachments::default(),
        tools: ToolCache::of(None),
    }
}

/// Why the caller cancelled.
fn cancel_reason(rest: &Result<DriveOutcome, Fault>) -> Option<String> {
    match rest {
        Ok(DriveOutcome::Ended(Ending::Cancelled(reason))) => Some(reason.clone()),
        _ => None,
    }
}

fn empty(thread: &str) -> Fault {
    Fault::new(FaultCode::ThreadEmpty, format!("the thread is empty: {thread}"))
        .with("thread", thread)
        .hint("check its name, or ask a question in it first")
}

/// How a run came to rest, what it asks, and the fault that ended it.
fn rest_parts(
    rest: Result<DriveOutcome, Fault>,
) -> (RunEnding, Vec<Question<Json>>, Option<Fault>) {
    match rest {
        Ok(DriveOutcome::Ended(Ending::Completed)) => (RunEnding::Completed, Vec::new(), None),
        Ok(DriveOutcome::Ended(Ending::Budget(_))) => (RunEnding::Budget, Vec::new(), None),
        Ok(DriveOutcome::Ended(Ending::Cancelled(_))) => (RunEnding::Cancelled, Vec::new(), None),
        // Systems set no breakpoints; a run that stopped at one would wait to be resumed.
        Ok(DriveOutcome::Ended(Ending::Breakpoint)) => (RunEnding::Paused, Vec::new(), None),
        Ok(DriveOutcome::Paused(questions)) => (RunEnding::Paused, questions, None),
        Err(fault) if fault.category == Category::Budget => {
            (RunEnding::Budget, Vec::new(), Some(fault))
        }
        Err(fault) => (RunEnding::Failed, Vec::new(), Some(fault)),
    }
}
