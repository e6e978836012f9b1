//! A question that is answered by code: a model writes Python, the sandbox
//! runs it, what went wrong goes back to the model, and the result is put into
//! words, as `docs/systems/computation.md` specifies. Nothing of what the model
//! wrote runs outside of the sandbox.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings |
//! | [`task`] | what is asked, and of what |
//! | [`outcome`] | what comes of it |

use std::sync::Arc;

use antiphon_core::command::Update;
use antiphon_core::effect::Ending;
use antiphon_core::graph::Graph;
use antiphon_core::run::Options;
use antiphon_core::{Category, Fault};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::sandbox::Sandbox;
use antiphon_runtime::{DriveOutcome, Driver, KeptRun, Model, Recorder, Snapshot};
use serde_json::Value as Json;

pub mod config;
mod conversation;
mod graph;
mod nodes;
pub mod outcome;
mod reply;
mod sandbox_runner;
mod shown;
mod state;
pub mod task;

pub use crate::session::Session;
pub use config::Config;
pub use outcome::{Answer, Attempt, Outcome};
pub use task::Task;

use nodes::ComputationNodes;
use sandbox_runner::SandboxRunner;
use state::State;

/// Answers questions by computing, any number of them at once.
pub struct Computation {
    graph: Arc<Graph<Json>>,
    config: Arc<Config>,
    model: Arc<dyn Model>,
    sandbox: Arc<dyn Sandbox>,
}

impl Computation {
    /// Checks the settings. Nothing is called.
    ///
    /// # Errors
    /// A `Validation` fault `system_setting_invalid`.
    pub fn new(
        config: Config,
        model: Arc<dyn Model>,
        sandbox: Arc<dyn Sandbox>,
    ) -> Result<Self, Fault> {
        config.check()?;
        let graph = graph::build(&config)?;
        Ok(Self { graph, config: Arc::new(config), model, sandbox })
    }

    /// The graph, for drawing.
    pub const fn graph(&self) -> &Arc<Graph<Json>> {
        &self.graph
    }

    /// Answers a question. Needs a tokio runtime with its timer. Dropping the
    /// future kills whatever code is running.
    ///
    /// # Errors
    /// Only for a task that cannot be begun, before anything is called: the
    /// faults of [`Task::check`]. Whatever happens later is an [`Answer`] with
    /// its outcome.
    pub async fn answer(&self, task: Task, session: Session) -> Result<Answer, Fault> {
        task.check()?;
        let now = session.clock.now();
        let options = Options {
            run_id: session.run_id,
            seed: session.seed,
            limits: self.config.limits(&session.limits),
            events: true,
            schemas: Some(&JsonSchemas),
            ..Options::default()
        };
        let nodes = Arc::new(ComputationNodes {
            config: Arc::clone(&self.config),
            model: Arc::clone(&self.model),
            runner: SandboxRunner::new(Arc::clone(&self.sandbox), task),
        });
        let recorder = Recorder::new();
        let mut driver = Driver::new(Arc::clone(&nodes), session.clock).watch(recorder.clone());
        for watcher in session.watchers {
            driver = driver.watch(watcher);
        }
        if let Some(stop) = &session.stop {
            driver = driver.stop_on(stop);
        }
        let mut begun = KeptRun::detached(&self.graph, Update::default(), options, now);
        let rest = Box::pin(driver.run_kept(&mut begun)).await;
        Ok(self.conclude(&begun, rest, &recorder, &nodes))
    }

    fn conclude(
        &self,
        begun: &KeptRun,
        rest: Result<DriveOutcome, Fault>,
        recorder: &Recorder,
        nodes: &ComputationNodes,
    ) -> Answer {
        let read = Snapshot::of(&self.graph, begun.run.state()).read::<State>();
        let (state, unread) = match read {
            Ok(state) => (state, None),
            Err(fault) => (State::default(), Some(fault)),
        };
        let (outcome, fault) = ended(rest, &state);
        let computed = nodes.runner.take_computed().filter(|_| state.has_computed());
        let summary = state.summary;
        Answer {
            answer: match &summary {
                Some(summary) => summary.answer.clone(),
                None if outcome == Outcome::Answered => state.shown.clone(),
                None => String::new(),
            },
            is_summarised: summary.is_some(),
            highlights: summary.map(|summary| summary.highlights).unwrap_or_default(),
            outcome,
            attempts: state.attempts,
            computed,
            fault: fault.or(unread).or(state.error),
            trace: recorder.events(),
            trace_dropped: recorder.dropped(),
            usage: begun.run.budget().spent().usage,
            run_id: begun.run_id.clone(),
        }
    }
}

/// How a task ended, and the fault that ended it, if one did.
fn ended(rest: Result<DriveOutcome, Fault>, state: &State) -> (Outcome, Option<Fault>) {
    match rest {
        Ok(DriveOutcome::Ended(Ending::Completed)) if state.has_computed() => {
            (Outcome::Answered, None)
        }
        Ok(DriveOutcome::Ended(Ending::Completed)) => (Outcome::Failed, None),
        Ok(DriveOutcome::Ended(Ending::Budget(_))) => (Outcome::Budget, None),
        Ok(DriveOutcome::Ended(Ending::Cancelled(_))) => (Outcome::Cancelled, None),
        // No node of this graph asks.
        Ok(DriveOutcome::Paused(_)) => (Outcome::Error, None),
        Err(fault) if fault.category == Category::Budget => (Outcome::Budget, Some(fault)),
        Err(fault) => (Outcome::Error, Some(fault)),
    }
}
