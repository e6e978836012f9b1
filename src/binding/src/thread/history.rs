//! A thread's checkpoints for Python, read as they are asked for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_stores::{HistoryPage, HistoryReader};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::driver::exit_gate;
use crate::driver::wait::{awaitable, block_on_result};
use crate::fault::to_exception;
use crate::graph::engine::Engine;
use crate::thread::checkpoint_view::as_py_dict;
use crate::thread::thread_ref::ThreadRef;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// What a thread held at its checkpoints, newest first, read as far as it is asked for.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct History {
    engine: Py<Engine>,
    values: ObjectCodec,
    /// Whether the last checkpoint is shown with what has happened since.
    live: bool,
    /// Away while a page is being read.
    reader: Mutex<Option<HistoryReader<Object>>>,
}

impl History {
    pub(crate) fn open(
        engine: &Bound<'_, Engine>,
        place: &Bound<'_, ThreadRef>,
        live: bool,
    ) -> PyResult<Self> {
        let (py, place) = (place.py(), place.get());
        let reader = HistoryReader::new(place.sealed_store(py)?, &place.thread, place.checkpoint);
        let (engine, values) = (engine.clone().unbind(), place.values(py)?);
        Ok(Self { engine, values, live, reader: Mutex::new(Some(reader)) })
    }

    fn reader(&self) -> MutexGuard<'_, Option<HistoryReader<Object>>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<HistoryReader<Object>> {
        let busy = || PyRuntimeError::new_err("a page of this history is being read already");
        self.reader().take().ok_or_else(busy)
    }

    /// Checkpoints without loading more: some, or none at the end, or nothing.
    fn next(
        &self,
        py: Python<'_>,
        reader: &mut HistoryReader<Object>,
        most: usize,
    ) -> PyResult<Option<Py<PyList>>> {
        let (list, engine) = (PyList::empty(py), self.engine.bind(py));
        let page = reader.page(&engine.get().graph, &self.values, most);
        match page.map_err(|fault| to_exception(py, &fault))? {
            Some(HistoryPage { checkpoints, tip }) => {
                let mut tip = tip.filter(|_| self.live);
                for checkpoint in &checkpoints {
                    list.append(as_py_dict(engine, checkpoint, tip.take())?)?;
                }
            }
            None if !reader.is_finished() => return Ok(None),
            None => {}
        }
        Ok(Some(list.unbind()))
    }

    fn read(
        &self,
        py: Python<'_>,
        reader: &mut HistoryReader<Object>,
        most: usize,
    ) -> PyResult<Py<PyList>> {
        loop {
            block_on_result(py, reader.load())?;
            if let Some(list) = self.next(py, reader, most)? {
                return Ok(list);
            }
        }
    }

    async fn aread(&self, reader: &mut HistoryReader<Object>, most: usize) -> PyResult<Py<PyList>> {
        loop {
            let loaded = reader.load().await;
            let next = exit_gate::enter_or_park(|py| {
                loaded.map_err(|fault| to_exception(py, &fault))?;
                self.next(py, reader, most)
            })?;
            if let Some(list) = next {
                return Ok(list);
            }
        }
    }
}

#[pymethods]
impl History {
    /// The next checkpoints, each as a dict, at most so many; none at the end.
    #[pyo3(signature = (most=HistoryReader::<Object>::PAGE))]
    fn page(&self, py: Python<'_>, most: usize) -> PyResult<Py<PyList>> {
        let mut reader = self.take()?;
        let page = self.read(py, &mut reader, most);
        *self.reader() = Some(reader);
        page
    }

    /// `page` on the caller's event loop.
    #[pyo3(signature = (most=HistoryReader::<Object>::PAGE))]
    fn apage<'py>(slf: &Bound<'py, Self>, most: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut reader = slf.get().take()?;
        let this = slf.clone().unbind();
        awaitable(slf.py(), async move {
            let page = this.get().aread(&mut reader, most).await;
            *this.get().reader() = Some(reader);
            page
        })
    }
}
