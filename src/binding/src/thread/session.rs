//! A run in its thread, from opening the thread until the thread is free again.

use std::sync::Arc;

use antiphon_core::run::Options;
use antiphon_runtime::store::StoreFuture;
use antiphon_runtime::{OpenedThread, RunCommitter, ThreadRef as _};
use antiphon_stores::{SealedStore, StoredThread, process};
use pyo3::prelude::*;

use crate::driver::phase::RunPhase;
use crate::graph::engine::Engine;
use crate::thread::run_input::RunInput;
use crate::thread::thread_ref::ThreadRef;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// A run in its thread, from opening the thread until the thread is free again.
pub(crate) struct ThreadSession {
    pub(crate) stage: Stage,
    pub(crate) committer: RunCommitter<Object>,
    values: Arc<ObjectCodec>,
    pub(crate) options: Options,
    /// The caller has given the run an id.
    pub(crate) named: bool,
    /// Why the run is to be cancelled as soon as there is one.
    pub(crate) cancelled: Option<String>,
    pub(crate) started: bool,
    /// The process that the run belongs to.
    process: u32,
    /// Dropped last, with the interpreter released: a store that closes waits for its own
    /// thread, which may wait for the interpreter.
    pub(crate) store: Option<SealedStore>,
}

/// How far it has come.
pub(crate) enum Stage {
    /// The contents of the thread decide how the run starts.
    Opening(StoreFuture<OpenedThread<Object>>, RunInput),
    Running,
    /// The run rests as soon as its commits are durable and the thread is free.
    Closing(RunPhase),
    Closed,
}

impl ThreadSession {
    /// Opens the thread of a run that is about to start. `named` says that the caller has
    /// given the run an id.
    pub(crate) fn open(
        engine: &Bound<'_, Engine>,
        input: Option<&Bound<'_, PyAny>>,
        place: &ThreadRef,
        (options, named): (&Options, bool),
    ) -> PyResult<Box<Self>> {
        let py = engine.py();
        let input = RunInput::read(engine, input, place.as_node.as_deref())?;
        let (store, values) = (place.sealed_store(py)?, Arc::new(place.values(py)?));
        let thread = StoredThread::new(store.clone(), place.thread.as_str(), place.durability);
        let thread = thread.with_codec(Arc::clone(&values)).at_checkpoint(place.checkpoint);
        let opening = thread.open(Arc::clone(&engine.get().graph));
        Ok(Box::new(Self {
            stage: Stage::Opening(opening, input),
            committer: RunCommitter::detached(),
            values,
            options: options.clone(),
            named,
            cancelled: None,
            started: false,
            process: process::id(),
            store: Some(store),
        }))
    }

    /// How values are stored.
    pub(crate) fn values(&self) -> &ObjectCodec {
        &self.values
    }

    /// Keeps the wish to cancel for later, if there is no run yet.
    pub(crate) fn defers(&mut self, reason: &str) -> bool {
        let defers = matches!(self.stage, Stage::Opening(..));
        if defers {
            self.cancelled.get_or_insert_with(|| reason.to_owned());
        }
        defers
    }

    /// The checkpoint that was written or found last, once the thread was left; 0 if there is
    /// none.
    pub(crate) const fn checkpoint(&self) -> u64 {
        self.committer.checkpoint()
    }

    /// Whether the run has started: its thread was free and fits.
    pub(crate) const fn has_started(&self) -> bool {
        self.started
    }

    /// The process that the run belongs to.
    pub(crate) const fn process(&self) -> u32 {
        self.process
    }
}

impl std::fmt::Debug for ThreadSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadSession")
            .field("committer", &self.committer)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

impl Drop for ThreadSession {
    /// Nobody will drive the run again: the thread is free for others.
    fn drop(&mut self) {
        self.stage = Stage::Closed;
        let (closing, store) = (self.committer.close(), self.store.take());
        Python::try_attach(|py| py.detach(|| drop((closing, store))));
    }
}
