//! What a run shows while it runs: only what was asked for is built.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use antiphon_core::event::{Event as CoreEvent, EventKind};
use antiphon_core::notice::EventOptions;
use antiphon_runtime::redact;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::event::Event;
use crate::driver::parent_task::ParentTask;
use crate::driver::stream_options::{Item, Mode, Modes, StreamOptions};
use crate::ffi;

/// Chunks that wait for the consumer, and the events that are kept for the result.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    options: Option<Py<StreamOptions>>,
    parent: Option<Box<ParentStream>>,
    /// What is shown to anyone.
    modes: Modes,
    /// Called with the start and the end of tasks.
    on_task: Option<Py<PyAny>>,
    /// Whether states come in their place among the other items, and those of
    /// nested graphs too.
    pub(crate) within: bool,
    chunks: VecDeque<Py<PyAny>>,
    /// Whether events are kept at all.
    record: bool,
    pub(crate) events: Vec<Py<Event>>,
    pub(crate) dropped: u64,
}

impl Stream {
    /// Events that are kept for the result of a run.
    const KEPT: usize = 10_000;

    pub(crate) fn new(
        options: Option<Py<StreamOptions>>,
        parent: Option<ParentStream>,
        record: bool,
    ) -> Self {
        let own = options.as_ref().map(|options| options.get().modes).unwrap_or_default();
        let modes = own | parent.as_ref().map(ParentStream::modes).unwrap_or_default();
        let parent = parent.map(Box::new);
        Self { options, parent, modes, record, ..Self::default() }
    }

    /// Tells `on_task` how tasks begin and end.
    pub(crate) fn listen(&mut self, on_task: Option<Py<PyAny>>) {
        self.on_task = on_task;
    }

    /// Shows the states of nested graphs too, to those who want to see them, and
    /// keeps states and tasks in order.
    pub(crate) fn look_within(&mut self, nests: bool) {
        let deep = self.parent.is_some()
            || self.options.as_ref().is_some_and(|options| options.get().subgraphs);
        self.within = self.has(Mode::Values) && ((nests && deep) || self.wants_tasks());
    }

    pub(crate) const fn has(&self, mode: Mode) -> bool {
        self.modes.has(mode)
    }

    /// What the engine is to tell.
    pub(crate) const fn notices(&self) -> EventOptions {
        let tasks = self.wants_tasks();
        EventOptions {
            nested_updates: self.has(Mode::Updates) && !tasks,
            tasks,
            states: self.within,
        }
    }

    /// Whether anybody wants to know how tasks begin and end.
    pub(crate) const fn wants_tasks(&self) -> bool {
        self.has(Mode::Tasks) || self.on_task.is_some()
    }

    /// Tells what has happened to a task.
    pub(crate) fn tell_task(&self, news: &Bound<'_, PyDict>) -> PyResult<()> {
        let on_task = self.on_task.as_ref().map(|on_task| on_task.bind(news.py()));
        on_task.map_or(Ok(()), |on_task| ffi::call(on_task, [Some(news.as_any())]).map(|_| ()))
    }

    /// Whether items can appear in the middle of a superstep.
    pub(crate) const fn is_live(&self) -> bool {
        self.has(Mode::Custom) || self.has(Mode::Events) || self.has(Mode::Messages)
    }

    /// Whether anybody wants to know of events.
    pub(crate) const fn wants_events(&self) -> bool {
        self.record || self.has(Mode::Events)
    }

    /// Shows an item to all watchers. `space` is the path to its origin.
    pub(crate) fn show(&mut self, py: Python<'_>, item: Item, space: Vec<String>) -> PyResult<()> {
        self.show_here(py, &item, &space)?;
        if let Some(parent) = &self.parent
            && parent.modes().has(item.mode())
        {
            parent.tell(py, item, space);
        }
        Ok(())
    }

    /// Shows an item to the watchers of this run only.
    pub(crate) fn show_here(
        &mut self,
        py: Python<'_>,
        item: &Item,
        space: &[String],
    ) -> PyResult<()> {
        if let Some(options) = self.options.as_ref().map(Py::get)
            && options.shows(item, space)
        {
            options.chunks(py, item, space, |chunk| self.chunks.push_back(chunk))?;
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Option<Py<PyAny>> {
        self.chunks.pop_front()
    }

    pub(crate) fn has_item(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Keeps events for the result, without pieces of replies, and shows them to who watches.
    pub(crate) fn take_events(
        &mut self,
        py: Python<'_>,
        run_id: &Arc<str>,
        events: Vec<CoreEvent>,
    ) -> PyResult<()> {
        for mut event in events {
            redact::clean_event(&mut event);
            event.pack();
            let is_piece = event.kind == EventKind::Chunk;
            let event = Py::new(py, Event::new(Arc::clone(run_id), event))?;
            if self.has(Mode::Events) {
                let item = Item::Event(event.clone_ref(py).into_any());
                self.show(py, item, Vec::new())?;
            }
            // The whole reply is in an event too.
            if is_piece {
                continue;
            }
            if self.record && self.events.len() < Self::KEPT {
                self.events.push(event);
            } else {
                self.dropped += 1;
            }
        }
        Ok(())
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.options)?;
        visit.call(&self.on_task)?;
        self.chunks.iter().try_for_each(|chunk| visit.call(chunk))
    }
}

/// The run whose node started this one, and which wants to show it too.
#[derive(Debug)]
pub(crate) struct ParentStream {
    /// The task of the node. Weak, because its run keeps this one until the node is done.
    task: Weak<dyn ParentTask>,
    modes: Modes,
    /// What this run is called there: `node:id`.
    name: String,
}

impl ParentStream {
    /// The run of `task`, in whose stream `nested` is to be seen as `name`.
    pub(crate) const fn new(
        task: Weak<dyn ParentTask>,
        nested: &NestedStreams,
        name: String,
    ) -> Self {
        Self { task, modes: nested.modes, name }
    }

    const fn modes(&self) -> Modes {
        self.modes
    }

    fn tell(&self, py: Python<'_>, item: Item, mut space: Vec<String>) {
        let Some(task) = self.task.upgrade() else { return };
        space.insert(0, self.name.clone());
        task.show(py, item, space);
    }
}

/// What runs that are started by nodes of a run are to show there.
#[derive(Debug, Default)]
pub(crate) struct NestedStreams {
    modes: Modes,
    /// The streams that want tokens.
    pub(crate) tokens: Vec<Py<PyAny>>,
}

impl NestedStreams {
    /// What a stream wants to see of nested graphs, and what those above want.
    pub(crate) fn new(
        py: Python<'_>,
        options: Option<&StreamOptions>,
        outer: Option<&Self>,
    ) -> Self {
        let mut nested = Self::default();
        if let Some(options) = options.filter(|options| options.subgraphs) {
            nested.modes = options.modes;
            nested.tokens.extend(options.tokens.as_ref().map(|tokens| tokens.clone_ref(py)));
        }
        if let Some(further) = outer {
            nested.modes = nested.modes | further.modes;
            nested.tokens.extend(further.tokens.iter().map(|tokens| tokens.clone_ref(py)));
        }
        nested
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.modes.is_empty()
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.tokens.iter().try_for_each(|tokens| visit.call(tokens))
    }
}
