//! Editing the state of a thread from outside of runs.

use std::sync::Arc;

use antiphon_core::channel::Write;
use antiphon_core::command::Update;
use antiphon_core::graph::NodeId;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Driver, DurableRun, Snapshot, StartMode, ThreadContents, ThreadRef};
use serde_json::{Map, Value as Json};

use super::{SystemRunner, SystemStart, empty, given};
use crate::host::SystemHost;
use crate::session::Session;
use crate::state::SystemState;
use crate::system::System;

impl<S: System> SystemRunner<S> {
    /// Merges values into the state that a thread holds, in the name of a node; nothing runs.
    /// A run that is resumed there continues after that node. Returns the new checkpoint.
    ///
    /// # Errors
    /// `thread_empty` if there is no question, `target_unknown` for a node that the system does
    /// not have, `state_key_unknown` for a field that its state does not have, the fault of a
    /// value that does not fit, those of [`System::verify`], and those of [`ThreadRef::open`].
    /// The thread is as it was then.
    pub async fn edit(
        &self,
        thread: Arc<dyn ThreadRef>,
        (node, values): (&str, Map<String, Json>),
        session: Session,
    ) -> Result<u64, Fault> {
        let edit = (self.node(node)?, self.edit_of(values)?);
        let (options, now) = (self.options(&session), session.clock.now());
        let opened = thread.open(Arc::clone(&self.graph)).await?;
        let tried = match &opened.contents {
            Some(past) => self.try_edit(past, edit.clone(), &session).await,
            None => Err(empty(thread.name())),
        };
        if let Err(fault) = tried {
            opened.lease.close().await?;
            return Err(fault);
        }
        let (node, update) = edit;
        let mode = StartMode::Edit(node, update);
        let mut kept = DurableRun::start(opened, mode, (&self.graph, options), now).await?;
        self.drive_edit(&mut kept, &session).await?;
        Ok(kept.checkpoint())
    }

    /// Makes an edit that is kept nowhere, and looks at what comes of it.
    async fn try_edit(
        &self,
        past: &ThreadContents,
        edit: (NodeId, Update<Json>),
        session: &Session,
    ) -> Result<(), Fault> {
        let (options, now) = (self.options(session), session.clock.now());
        let mut trial = DurableRun::trial_of_edit(past, edit, (&self.graph, options), now);
        self.drive_edit(&mut trial, session).await?;
        S::verify(&Snapshot::of(&self.graph, trial.run.state()).read()?)
    }

    async fn drive_edit(&self, kept: &mut DurableRun, session: &Session) -> Result<(), Fault> {
        let scope = self.scope(kept, given(SystemStart::Ask(S::Input::default())), session);
        let host = SystemHost { code: Arc::clone(&self.code), scope };
        let driver = Driver::new(Arc::new(host), Arc::clone(&session.clock));
        driver.run_durable(kept).await.map(|_| ())
    }

    fn node(&self, name: &str) -> Result<NodeId, Fault> {
        self.graph.node_id(name).ok_or_else(|| {
            let message = format!("the system has no node of that name: {name}");
            let known: Vec<_> = self.graph.nodes().iter().skip(1).map(|node| &*node.name).collect();
            Fault::new(FaultCode::TargetUnknown, message)
                .hint(format!("its nodes are {}", known.join(", ")))
        })
    }

    /// What an edit writes. Only fields of the state can be edited.
    fn edit_of(&self, values: Map<String, Json>) -> Result<Update<Json>, Fault> {
        let fields = S::State::channels()?;
        let mut update = Update::default();
        for (key, value) in values {
            let is_field = fields.iter().any(|field| *field.name == *key);
            let channel = self.graph.channel_id(&key).filter(|_| is_field).ok_or_else(|| {
                let known: Vec<_> = fields.iter().map(|field| &*field.name).collect();
                let message = format!("the state of the system has no field of that name: {key}");
                Fault::new(FaultCode::StateKeyUnknown, message)
                    .hint(format!("its fields are {}", known.join(", ")))
            })?;
            update.writes.push(Write::merge(channel, value));
        }
        Ok(update)
    }
}
