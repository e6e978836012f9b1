//! How a question begins, in its thread if it has one, and
//! what comes of it.

use std::sync::Arc;

use antiphon_core::budget::Limits;
use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::checkpoint::GraphSnapshot;
use antiphon_core::command::Update;
use antiphon_core::effect::Ending;
use antiphon_core::run::{Options, Run};
use antiphon_core::{Category, Fault, Time};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::{
    Answers, DriveOutcome, Driver, KeptRun, Recorder, Snapshot, StartMode, ThreadContents,
};
use serde_json::{Map, Value as Json};

use super::nodes::ReviewLoopNodes;
use super::outcome::{Answer, FAILURE_TEXT, Outcome};
use super::state::State;
use super::{ReviewLoop, corrupt};
use crate::session::Session;
use crate::state::{INPUT, TOOL_RESULTS};
use crate::tool_cache::ToolCache;

/// How a question begins.
#[derive(Debug)]
pub(super) enum QuestionStart {
    /// From nothing.
    Ask(Json),
    /// From nothing, unless the thread holds it already.
    AskOnce(Json),
    /// From nothing, unless the thread holds it already and it is not over.
    AskAgain(Json),
    /// From what the thread holds.
    Resume,
    /// From a state that came from elsewhere.
    State(Json),
}

impl ReviewLoop {
    /// Takes a question from its beginning to its answer.
    pub(super) async fn run(
        &self,
        start: QuestionStart,
        session: Session,
    ) -> Result<Answer, Fault> {
        let options = Options {
            run_id: session.run_id.clone(),
            seed: session.seed,
            limits: self.limits(&session.limits),
            events: true,
            schemas: Some(&JsonSchemas),
            ..Options::default()
        };
        let now = session.clock.now();
        let mut begun = self.begin(start, &session, options, now).await?;
        let nodes = ReviewLoopNodes {
            config: Arc::clone(&self.config),
            roles: Arc::clone(&self.roles),
            run_id: begun.run_id.as_str().into(),
            user_context: session.user_context,
            tools: ToolCache::of(self.held(&begun.run)),
        };
        let recorder = Recorder::new();
        let mut driver = Driver::new(Arc::new(nodes), session.clock).watch(recorder.clone());
        for watcher in session.watchers {
            driver = driver.watch(watcher);
        }
        if let Some(stop) = &session.stop {
            driver = driver.stop_on(stop);
        }
        let rest = Box::pin(driver.run_kept(&mut begun)).await;
        Ok(self.answer(begun, rest, &recorder))
    }

    async fn begin(
        &self,
        start: QuestionStart,
        session: &Session,
        options: Options,
        now: Time,
    ) -> Result<KeptRun, Fault> {
        let Some(place) = &session.place else {
            let input = self.input(start, false);
            return Ok(KeptRun::detached(&self.graph, input, options, now));
        };
        let opened = place.open(Arc::clone(&self.graph)).await?;
        let held = opened.contents.as_ref();
        let goes_on = match &start {
            QuestionStart::AskOnce(asked) => {
                held.is_some_and(|past| self.asked(past) == Some(asked))
            }
            QuestionStart::AskAgain(asked) => held.is_some_and(|past| {
                let is_over = matches!(past.recovered.ended, Some(Ok(Ending::Completed)));
                !is_over && self.asked(past) == Some(asked)
            }),
            start => matches!(start, QuestionStart::Resume),
        };
        let begin = if goes_on {
            held.map_or(Ok(()), |past| self.check(&past.recovered.root))?;
            StartMode::Resume(Answers::NONE)
        } else {
            StartMode::Turn(self.input(start, held.is_some()))
        };
        KeptRun::start(opened, begin, (&self.graph, options), now).await
    }

    /// What tools have returned so far.
    fn held<'r>(&self, run: &'r Run<Json>) -> Option<&'r Json> {
        run.state().get(self.graph.channel_id(TOOL_RESULTS)?)
    }

    /// What was asked in a thread last.
    fn asked<'p>(&self, past: &'p ThreadContents) -> Option<&'p Json> {
        past.recovered.root.state.get(self.graph.channel_id(INPUT)?)
    }

    /// Whether a state that was stored holds together.
    fn check(&self, graph_snapshot: &GraphSnapshot<Json>) -> Result<(), Fault> {
        let state = Snapshot::of(&self.graph, &graph_snapshot.state).read::<State>()?;
        state.check().map_err(corrupt)
    }

    /// What a question begins with. What a thread held before is not for it.
    fn input(&self, start: QuestionStart, is_held: bool) -> Update<Json> {
        let fields = match start {
            QuestionStart::Ask(asked)
            | QuestionStart::AskOnce(asked)
            | QuestionStart::AskAgain(asked) => Map::from_iter([(INPUT.to_owned(), asked)]),
            QuestionStart::State(Json::Object(fields)) => fields,
            QuestionStart::State(_) | QuestionStart::Resume => Map::new(),
        };
        let mut input = Update::default();
        for channel in self.graph.channels() {
            let Some(id) = self.graph.channel_id(&channel.name) else { continue };
            match fields.get(&*channel.name).filter(|value| !value.is_null()) {
                Some(value) => {
                    input.writes.push(Write { channel: id, op: WriteOp::Replace(value.clone()) });
                }
                None if is_held => input.writes.push(Write { channel: id, op: WriteOp::Reset }),
                None => {}
            }
        }
        input
    }

    fn limits(&self, own: &Limits) -> Limits {
        let config = &self.config;
        let narrower = |one: u64, other: Option<u64>| Some(other.map_or(one, |o| o.min(one)));
        let timeout = config.question_timeout();
        Limits {
            supersteps: narrower(config.recursion_limit, own.supersteps),
            wall_time: Some(own.wall_time.map_or(timeout, |limit| limit.min(timeout))),
            ..own.clone()
        }
    }

    fn answer(
        &self,
        begun: KeptRun,
        rest: Result<DriveOutcome, Fault>,
        recorder: &Recorder,
    ) -> Answer {
        let KeptRun { run, run_id, .. } = begun;
        let (mut state, unread) = self.state_of(&run);
        let (ended, fault) = ended(rest);
        if let Some(fault) = fault.or(unread) {
            state.error = Some(fault);
        }
        let outcome = ended.or(state.outcome).unwrap_or(Outcome::Error);
        if ended.is_some() || state.outcome.is_none() {
            FAILURE_TEXT.clone_into(&mut state.final_answer);
            FAILURE_TEXT.clone_into(&mut state.final_reasoning_trace);
            state.error_component.get_or_insert_with(|| state.current_step.clone());
            state.outcome = Some(outcome);
        }
        Answer {
            final_answer: state.final_answer.clone(),
            final_reasoning_trace: state.final_reasoning_trace.clone(),
            outcome,
            retry_count: state.retry_count,
            retries_by_agent: state.retries_by_agent,
            error: state.error.clone(),
            error_component: state.error_component.clone(),
            trace: recorder.events(),
            trace_dropped: recorder.dropped(),
            models: self.roles.models(),
            usage: run.budget().spent().usage,
            state,
            run_id,
        }
    }

    /// What is known of the question, or why that cannot be read.
    fn state_of(&self, run: &Run<Json>) -> (State, Option<Fault>) {
        match Snapshot::of(&self.graph, run.state()).read::<State>() {
            Ok(state) => (state, None),
            Err(fault) => (State::default(), Some(fault)),
        }
    }
}

/// How a run ended that the graph itself did not bring to its end.
fn ended(rest: Result<DriveOutcome, Fault>) -> (Option<Outcome>, Option<Fault>) {
    match rest {
        Ok(DriveOutcome::Ended(Ending::Completed)) => (None, None),
        Ok(DriveOutcome::Ended(Ending::Budget(_))) => (Some(Outcome::Budget), None),
        Ok(DriveOutcome::Ended(Ending::Cancelled(_))) => (Some(Outcome::Cancelled), None),
        // No node of this graph asks.
        Ok(DriveOutcome::Paused(_)) => (Some(Outcome::Error), None),
        Err(fault) if fault.category == Category::Budget => (Some(Outcome::Budget), Some(fault)),
        Err(fault) => (Some(Outcome::Error), Some(fault)),
    }
}
