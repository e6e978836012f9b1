//! A thread's checkpoints for Python, read as they are asked for.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_core::Fault;
use antiphon_stores::{HistoryPage, HistoryReader};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::driver::exit_gate;
use crate::driver::wait::{awaitable, block_on_result};
use crate::fault::to_exception;
use crate::thread::checkpoint_view::as_py_dict;
use crate::thread::thread_ref::ThreadRef;
use crate::thread::values::ThreadValues;

/// The most checkpoints of a page.
const PAGE: usize = HistoryReader::<serde_json::Value>::PAGE;

/// What a thread held at its checkpoints, newest first, read as far as it is asked for.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct History {
    /// Away while a page is being read.
    pages: Mutex<Option<Box<dyn PageSource>>>,
}

/// Pages of checkpoints, for every type of values.
trait PageSource: Send {
    /// Reads more of the thread, if that is needed for another page.
    fn load(&mut self) -> Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + '_>>;

    /// Checkpoints without loading more: some, or none at the end, or nothing.
    fn next(&mut self, py: Python<'_>, most: usize) -> PyResult<Option<Py<PyList>>>;
}

struct PageReader<T: ThreadValues> {
    values: T,
    reader: HistoryReader<T::Value>,
    /// Whether the last checkpoint is shown with what has happened since.
    live: bool,
}

impl<T: ThreadValues> PageSource for PageReader<T> {
    fn load(&mut self) -> Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + '_>> {
        Box::pin(self.reader.load())
    }

    fn next(&mut self, py: Python<'_>, most: usize) -> PyResult<Option<Py<PyList>>> {
        let Self { values, reader, live } = self;
        let list = PyList::empty(py);
        let page = reader.page(values.graph(), values.codec(), most);
        match page.map_err(|fault| to_exception(py, &fault))? {
            Some(HistoryPage { checkpoints, tip }) => {
                let mut tip = tip.filter(|_| *live);
                for checkpoint in &checkpoints {
                    list.append(as_py_dict(py, values, checkpoint, tip.take())?)?;
                }
            }
            None if !reader.is_finished() => return Ok(None),
            None => {}
        }
        Ok(Some(list.unbind()))
    }
}

impl History {
    pub(crate) fn open(
        values: impl ThreadValues,
        place: &Bound<'_, ThreadRef>,
        live: bool,
    ) -> PyResult<Self> {
        let (py, place) = (place.py(), place.get());
        let reader = HistoryReader::new(place.sealed_store(py)?, &place.thread, place.checkpoint);
        Ok(Self { pages: Mutex::new(Some(Box::new(PageReader { values, reader, live }))) })
    }

    fn pages(&self) -> MutexGuard<'_, Option<Box<dyn PageSource>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<Box<dyn PageSource>> {
        let busy = || PyRuntimeError::new_err("a page of this history is being read already");
        self.pages().take().ok_or_else(busy)
    }
}

fn read(py: Python<'_>, pages: &mut dyn PageSource, most: usize) -> PyResult<Py<PyList>> {
    loop {
        block_on_result(py, pages.load())?;
        if let Some(list) = pages.next(py, most)? {
            return Ok(list);
        }
    }
}

async fn aread(pages: &mut dyn PageSource, most: usize) -> PyResult<Py<PyList>> {
    loop {
        let loaded = pages.load().await;
        let next = exit_gate::enter_or_park(|py| {
            loaded.map_err(|fault| to_exception(py, &fault))?;
            pages.next(py, most)
        })?;
        if let Some(list) = next {
            return Ok(list);
        }
    }
}

#[pymethods]
impl History {
    /// The next checkpoints, each as a dict, at most so many; none at the end.
    #[pyo3(signature = (most=PAGE))]
    fn page(&self, py: Python<'_>, most: usize) -> PyResult<Py<PyList>> {
        let mut pages = self.take()?;
        let page = read(py, &mut *pages, most);
        *self.pages() = Some(pages);
        page
    }

    /// `page` on the caller's event loop.
    #[pyo3(signature = (most=PAGE))]
    fn apage<'py>(slf: &Bound<'py, Self>, most: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut pages = slf.get().take()?;
        let this = slf.clone().unbind();
        awaitable(slf.py(), async move {
            let page = aread(&mut *pages, most).await;
            *this.get().pages() = Some(pages);
            page
        })
    }
}
