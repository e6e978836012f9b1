//! The result of a node: typed writes to the state, and events.

use std::marker::PhantomData;

use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::command::{Route, Update};
use antiphon_core::event::EventKind;
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Attachments, TaskReporter};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::state::{ATTACHMENTS, Field, Merge, TOOL_RESULTS};
use crate::stored_attachments;
use crate::tool_cache::ToolCache;

/// Writes to the state `S` and events of one node, before the engine has them.
#[derive(Debug)]
pub struct Patch<S> {
    writes: Vec<(&'static str, WriteOp<Json>)>,
    notes: Vec<(&'static str, Json)>,
    ends: bool,
    state: PhantomData<fn() -> S>,
}

impl<S> Default for Patch<S> {
    fn default() -> Self {
        let (writes, notes) = (Vec::new(), Vec::new());
        Self { writes, notes, ends: false, state: PhantomData }
    }
}

impl<S> Patch<S> {
    /// Merges a value into a field by its reducer.
    pub fn set<M: Merge<T>, T>(
        &mut self,
        field: Field<S, M, T>,
        value: impl Into<M::Write>,
    ) -> &mut Self {
        let value: M::Write = value.into();
        self.writes.push((field.name(), WriteOp::Merge(json!(value))));
        self
    }

    /// Merges a value into a field that may be absent; takes it back to its default without one.
    pub fn set_or_reset<M: Merge<Option<T>, Write = Option<T>>, T>(
        &mut self,
        field: Field<S, M, Option<T>>,
        value: Option<T>,
    ) -> &mut Self {
        if value.is_some() { self.set(field, value) } else { self.reset(field) }
    }

    /// Replaces a field, with any reducer.
    pub fn replace<M, T: Serialize>(
        &mut self,
        field: Field<S, M, T>,
        value: impl Into<T>,
    ) -> &mut Self {
        let value: T = value.into();
        self.writes.push((field.name(), WriteOp::Replace(json!(value))));
        self
    }

    /// Takes a field back to its default.
    pub fn reset<M, T>(&mut self, field: Field<S, M, T>) -> &mut Self {
        self.writes.push((field.name(), WriteOp::Reset));
        self
    }

    /// Adds an event to the trace.
    pub fn note(&mut self, name: &'static str, data: Json) -> &mut Self {
        self.notes.push((name, data));
        self
    }

    /// Writes the tool results that came since the last call.
    pub fn save(&mut self, tools: &ToolCache) -> &mut Self {
        let results = tools.take_unsaved();
        if !results.is_empty() {
            self.writes.push((TOOL_RESULTS, WriteOp::Merge(Json::Object(results))));
        }
        self
    }

    /// Writes the attachments that came since the last call.
    pub(crate) fn store(&mut self, attachments: &Attachments) -> &mut Self {
        let unsaved = stored_attachments::take_unsaved(attachments);
        if !unsaved.is_empty() {
            self.writes.push((ATTACHMENTS, WriteOp::Merge(Json::Object(unsaved))));
        }
        self
    }

    /// Ends the graph.
    pub const fn end(&mut self) -> &mut Self {
        self.ends = true;
        self
    }

    /// Emits the events, and turns the writes into an update.
    ///
    /// # Errors
    /// An `Internal` fault if the graph lacks a field of the state.
    pub(crate) fn commit(
        self,
        reporter: &TaskReporter,
        graph: &Graph<Json>,
    ) -> Result<Update<Json>, Fault> {
        for (name, data) in self.notes {
            reporter.note(EventKind::Custom, name, data);
        }
        let mut update = Update::default();
        for (key, op) in self.writes {
            let channel = graph.channel_id(key).ok_or_else(|| {
                let message = format!("the graph has no channel for a field of the state: {key}");
                Fault::new(FaultCode::StateKeyUnknown, message)
            })?;
            update.writes.push(Write { channel, op });
        }
        if self.ends {
            update.route = Route::End;
        }
        Ok(update)
    }
}
