//! The side of the worker: its settings and roles, and how it begins and ends.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::queue::ConsumerGuard;
use antiphon_runtime::{CancellationToken, Clock, Queue, Tool};
use tokio::task::JoinSet;

use super::handled_ids::HandledIds;
use super::name::task_topic;
use super::role_service::{RoleService, serve};
use super::role_tools::RoleTools;
use super::worker_notice::WorkerWatch;
use super::worker_tools::WorkerTools;

/// How a worker works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// How many sub-tasks of a role it carries out at a time: 4.
    pub concurrency: NonZeroUsize,
    /// How long it finishes what it has begun once it is to stop: 30 seconds.
    pub drain: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        let concurrency = NonZeroUsize::MIN.saturating_add(3);
        Self { concurrency, drain: Duration::from_secs(30) }
    }
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTally {
    /// Sub-tasks whose tool has returned a value.
    pub completed: u64,
    /// Sub-tasks whose result is a failure.
    pub failed: u64,
    /// Messages that were none, or whose sub-task was cancelled or went to another worker.
    pub dropped: u64,
}

/// Carries out the sub-tasks of some roles.
pub struct SubTaskWorker {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    settings: WorkerSettings,
    roles: BTreeMap<String, RoleTools>,
    /// Of each role, from when it has the role until it has ended.
    guards: Vec<ConsumerGuard>,
    watch: Arc<dyn WorkerWatch>,
    give_up: CancellationToken,
}

impl SubTaskWorker {
    /// A worker without roles.
    pub fn new(queue: Arc<dyn Queue>, settings: WorkerSettings, clock: Arc<dyn Clock>) -> Self {
        let (watch, give_up) = (Arc::new(|_| {}), CancellationToken::new());
        let (roles, guards) = (BTreeMap::new(), Vec::new());
        Self { queue, clock, settings, roles, guards, watch, give_up }
    }

    /// Tells somebody of its work.
    #[must_use]
    pub fn watched_by(self, watch: Arc<dyn WorkerWatch>) -> Self {
        Self { watch, ..self }
    }

    /// Once it is to stop and this is cancelled, it gives back what it has begun.
    #[must_use]
    pub fn given_up_by(self, give_up: CancellationToken) -> Self {
        Self { give_up, ..self }
    }

    /// Gives it roles with the tools of each, as a system has them, and with those of its key
    /// profiles: the roles that are named, else all that have tools.
    ///
    /// # Errors
    /// `role_unknown` for a name that has no tools; as [`SubTaskWorker::role`].
    pub fn roles(self, tools: WorkerTools, named: Option<&[String]>) -> Result<Self, Fault> {
        let WorkerTools { usual: mut tools, profiles } = tools;
        tools.retain(|_, tools| !tools.is_empty());
        if let Some(unknown) = named.into_iter().flatten().find(|role| !tools.contains_key(*role)) {
            let known: Vec<_> = tools.into_keys().collect();
            let message = format!("the worker has no tool of the role: {unknown}");
            return Err(Fault::new(FaultCode::RoleUnknown, message)
                .hint(format!("give it one; it has those of {}", known.join(", "))));
        }
        tools.retain(|role, _| named.is_none_or(|named| named.contains(role)));
        let worker =
            tools.into_iter().try_fold(self, |worker, (role, tools)| worker.role(&role, tools))?;
        profiles.into_iter().try_fold(worker, |worker, (profile, mut tools)| {
            tools.retain(|role, _| worker.roles.contains_key(role));
            let add = |worker: Self, (role, tools): (String, Vec<_>)| {
                worker.profile(&profile, &role, tools)
            };
            tools.into_iter().try_fold(worker, add)
        })
    }

    /// Its roles, each with the names of its tools.
    pub fn tool_names(&self) -> BTreeMap<String, Vec<String>> {
        let names = |(role, tools): (&String, &RoleTools)| (role.clone(), tools.names());
        self.roles.iter().map(names).collect()
    }

    /// Gives it a role with these tools.
    ///
    /// # Errors
    /// `queue_message_invalid` for a name that no topic can have, `schema_invalid` for a tool.
    pub fn role(
        self,
        role: &str,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, Fault> {
        self.with(role, None, tools)
    }

    /// Gives a role the tools that work with the credentials of a profile.
    ///
    /// # Errors
    /// As [`SubTaskWorker::role`].
    pub fn profile(
        self,
        profile: &str,
        role: &str,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, Fault> {
        self.with(role, Some(profile), tools)
    }

    fn with(
        mut self,
        role: &str,
        profile: Option<&str>,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, Fault> {
        let Some(topic) = task_topic(role) else {
            let message = format!("the role of a worker is no name: {role}");
            return Err(Fault::new(FaultCode::QueueMessageInvalid, message)
                .hint("use letters, digits, `_`, `.` and `-`, at most 48"));
        };
        if !self.roles.contains_key(role) {
            self.guards.push(self.queue.register_consumer(&topic));
        }
        self.roles.entry(role.to_owned()).or_default().add(profile, tools)?;
        Ok(self)
    }

    /// Works until it is stopped. Then it takes nothing more, and finishes what it has begun. What
    /// it cannot finish in time it gives back for another worker; if its tool must not be called
    /// twice, it sends the failure that nobody knows what came of the call.
    ///
    /// # Errors
    /// `queue_closed`. While the queue cannot be reached, the worker waits.
    pub async fn run(self, stop: CancellationToken) -> Result<WorkerTally, Fault> {
        let Self { queue, clock, settings, roles, guards, watch, give_up } = self;
        let mut serving = JoinSet::new();
        for (role, tools) in roles {
            let Some(topic) = task_topic(&role) else { continue };
            let service = RoleService {
                queue: Arc::clone(&queue),
                clock: Arc::clone(&clock),
                role,
                topic,
                tools,
                handled: HandledIds::default(),
                watch: Arc::clone(&watch),
                give_up: give_up.clone(),
            };
            serving.spawn(serve(Arc::new(service), settings, stop.clone()));
        }
        let (mut tally, mut ended) = (WorkerTally::default(), Ok(()));
        while let Some(served) = serving.join_next().await {
            match served {
                Ok((one, end)) => {
                    tally.completed += one.completed;
                    tally.failed += one.failed;
                    tally.dropped += one.dropped;
                    ended = ended.and(end);
                }
                Err(error) => {
                    let message = format!("a worker has stopped by itself: {error}");
                    ended = ended.and(Err(Fault::new(FaultCode::HostIncomplete, message)));
                }
            }
        }
        drop(guards);
        ended.map(|()| tally)
    }
}
