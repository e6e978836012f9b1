//! The few calls of the C interface that PyO3 does not wrap, or not as they are needed
//! here: code of a user runs inside of them for a long time, perhaps until the
//! interpreter goes down. Before Python 3.14 that ends every other thread by
//! `pthread_exit` as soon as it wants to go on, which unwinds the thread's stack. Rust
//! aborts the process when it meets such unwinding, or frees Python objects without the
//! interpreter. So each call here stops the unwinding where it begins, and the thread
//! waits for the end of the process, as threads do from 3.14 on.
#![expect(unsafe_code, reason = "reference counts and generator steps have no safe wrapper")]

use std::ffi::{c_int, c_void};

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

// Declared again, because PyO3 says of them that they never unwind.
unsafe extern "C-unwind" {
    fn PyObject_CallFunctionObjArgs(callable: *mut ffi::PyObject, ...) -> *mut ffi::PyObject;
    fn PyObject_CallMethodObjArgs(
        object: *mut ffi::PyObject,
        name: *mut ffi::PyObject,
        ...
    ) -> *mut ffi::PyObject;
    fn PyIter_Send(
        iterator: *mut ffi::PyObject,
        value: *mut ffi::PyObject,
        result: *mut *mut ffi::PyObject,
    ) -> c_int;
}

/// What `PyIter_Send` answers when the iterator has yielded.
const NEXT: c_int = 1;

/// Dropped only when the thread is being ended: stops it there instead.
struct StopUnwinding;

impl Drop for StopUnwinding {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

/// Whether nobody but `object` holds the object, so that it may be changed in place.
pub(crate) fn is_sole(object: &Bound<'_, PyAny>) -> bool {
    references(object) == 1
}

/// How often an object is held.
pub(crate) fn references<T>(object: &Bound<'_, T>) -> isize {
    // SAFETY: the pointer is valid for as long as `object` is borrowed, and
    // the interpreter lock that a `Bound` implies keeps the count still.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// The one object that another tells the garbage collector of; none if it tells of
/// several, or of none.
pub(crate) fn sole_referent<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    /// What is visited, as long as it is one object.
    struct Visited {
        first: *mut ffi::PyObject,
        count: usize,
    }

    unsafe extern "C" fn visit(object: *mut ffi::PyObject, visited: *mut c_void) -> c_int {
        // SAFETY: it is the one that is given below, and nobody else has it meanwhile.
        let visited = unsafe { &mut *visited.cast::<Visited>() };
        visited.first = object;
        visited.count += 1;
        0
    }

    let mut visited = Visited { first: std::ptr::null_mut(), count: 0 };
    // SAFETY: the type is that of a living object, and what it has in this slot is such a
    // function, or nothing. It only calls `visit`, with objects that `object` holds.
    unsafe {
        let slot = ffi::PyType_GetSlot(object.get_type_ptr(), ffi::Py_tp_traverse);
        let traverse: Option<ffi::traverseproc> = std::mem::transmute(slot);
        traverse?(object.as_ptr(), visit, (&raw mut visited).cast());
        let is_one = visited.count == 1;
        is_one.then(|| Bound::from_borrowed_ptr(object.py(), visited.first))
    }
}

/// Calls with up to six arguments; the first that is missing ends them. The
/// stable interface before Python 3.12 has no other way to call without a
/// tuple in between.
pub(crate) fn call<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    arguments: [Option<&Bound<'py, PyAny>>; N],
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(N <= 6, "a call takes six arguments at most") };
    let end = std::ptr::null_mut::<ffi::PyObject>();
    let at = |place: usize| arguments.get(place).copied().flatten().map_or(end, Bound::as_ptr);
    // SAFETY: all pointers are valid while borrowed, and the list ends with a
    // null; the result is a new reference, or null with an exception set,
    // which `from_owned_ptr_or_err` takes over.
    unsafe {
        let guard = StopUnwinding;
        let called = PyObject_CallFunctionObjArgs(
            callable.as_ptr(),
            at(0),
            at(1),
            at(2),
            at(3),
            at(4),
            at(5),
            end,
        );
        std::mem::forget(guard);
        Bound::from_owned_ptr_or_err(callable.py(), called)
    }
}

/// The same for a method, with up to four arguments.
pub(crate) fn call_method<'py, const N: usize>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    arguments: [Option<&Bound<'py, PyAny>>; N],
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(N <= 4, "a method takes four arguments at most") };
    let end = std::ptr::null_mut::<ffi::PyObject>();
    let at = |place: usize| arguments.get(place).copied().flatten().map_or(end, Bound::as_ptr);
    // SAFETY: as in `call`.
    unsafe {
        let guard = StopUnwinding;
        let called = PyObject_CallMethodObjArgs(
            object.as_ptr(),
            name.as_ptr(),
            at(0),
            at(1),
            at(2),
            at(3),
            end,
        );
        std::mem::forget(guard);
        Bound::from_owned_ptr_or_err(object.py(), called)
    }
}

/// What one step of a coroutine came to.
pub(crate) enum Step<'py> {
    /// It waits, and gives this to the event loop.
    Yield(Bound<'py, PyAny>),
    /// It is done.
    Return(Bound<'py, PyAny>),
}

/// Goes one step further in a coroutine, generator or iterator.
pub(crate) fn send<'py>(
    coroutine: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Step<'py>> {
    let py = coroutine.py();
    let mut result = std::ptr::null_mut();
    // SAFETY: both pointers are valid while borrowed; on success `result` is a
    // new reference, which `from_owned_ptr_or_err` takes over, and on failure
    // it is null with an exception set, which the same call turns into an error.
    let (status, result) = unsafe {
        let guard = StopUnwinding;
        let status = PyIter_Send(coroutine.as_ptr(), value.as_ptr(), &raw mut result);
        std::mem::forget(guard);
        (status, Bound::from_owned_ptr_or_err(py, result))
    };
    let result = result?;
    Ok(match status {
        NEXT => Step::Yield(result),
        _ => Step::Return(result),
    })
}

/// Sets the exception by which an iterator's last step hands a value to whoever
/// awaits it; the step itself then gives nothing. PyO3 would make an exception
/// object, which takes longer than the step.
pub(crate) fn stop(value: &Bound<'_, PyAny>) {
    if value.is_exact_instance_of::<PyDict>() {
        return set(value);
    }
    // A tuple would be taken for several arguments, an exception for the one to raise.
    match PyTuple::new(value.py(), [value]) {
        Ok(wrapped) => set(wrapped.as_any()),
        Err(error) => error.restore(value.py()),
    }
}

fn set(value: &Bound<'_, PyAny>) {
    let kind = value.py().get_type::<PyStopIteration>();
    // SAFETY: both pointers are valid while borrowed, and the call takes no reference over.
    unsafe { ffi::PyErr_SetObject(kind.as_ptr(), value.as_ptr()) }
}
