//! The few calls of the C interface that PyO3 does not wrap, or not as they are needed
//! here, and what must be known of our own frames when the interpreter ends.
#![expect(
    unsafe_code,
    reason = "reference counts, contexts and generator steps have no safe wrapper"
)]

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use smallvec::SmallVec;

mod gil_cell;
mod unstable;

pub(crate) use gil_cell::GilCell;

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

/// What an object tells the garbage collector that it holds; nothing if it cannot say.
pub(crate) fn referents<'py>(object: &Bound<'py, PyAny>) -> SmallVec<[Bound<'py, PyAny>; 8]> {
    type Referents = SmallVec<[*mut ffi::PyObject; 8]>;

    unsafe extern "C" fn visit(object: *mut ffi::PyObject, visited: *mut c_void) -> c_int {
        // SAFETY: it is the one that is given below, and nobody else has it meanwhile.
        unsafe { &mut *visited.cast::<Referents>() }.push(object);
        0
    }

    let mut visited = Referents::new();
    // SAFETY: `visit` is called with objects that `object` holds.
    unsafe {
        traverse(object, visit, (&raw mut visited).cast());
        visited.iter().map(|held| Bound::from_borrowed_ptr(object.py(), *held)).collect()
    }
}

/// Whether two lists hold the same objects. To take hold of each item would cost many times as much.
pub(crate) fn is_same_list(one: &Bound<'_, PyList>, two: &Bound<'_, PyList>) -> bool {
    type Items = (Vec<usize>, usize);

    unsafe extern "C" fn note(object: *mut ffi::PyObject, items: *mut c_void) -> c_int {
        // SAFETY: it is the one that is given below, and nobody else has it meanwhile.
        unsafe { &mut *items.cast::<Items>() }.0.push(object.addr());
        0
    }

    unsafe extern "C" fn compare(object: *mut ffi::PyObject, items: *mut c_void) -> c_int {
        // SAFETY: as in `note`.
        let (items, at) = unsafe { &mut *items.cast::<Items>() };
        let is_same = items.get(*at) == Some(&object.addr());
        *at += 1;
        c_int::from(!is_same)
    }

    let mut items: Items = (Vec::with_capacity(one.len()), 0);
    let noted = (&raw mut items).cast();
    // SAFETY: the functions only read addresses, and write to `items`, which outlives the calls.
    one.len() == two.len()
        && unsafe { traverse(one, note, noted) == 0 && traverse(two, compare, noted) == 0 }
}

/// Whether an item of a container is a list, dict, set or tuple, and of no subclass.
pub(crate) fn holds_container(object: &Bound<'_, PyAny>) -> bool {
    unsafe extern "C" fn visit(object: *mut ffi::PyObject, _: *mut c_void) -> c_int {
        // SAFETY: the container holds the object while it is visited.
        let kind = unsafe { ffi::Py_TYPE(object) };
        let kinds = [
            &raw mut ffi::PyList_Type,
            &raw mut ffi::PyDict_Type,
            &raw mut ffi::PySet_Type,
            &raw mut ffi::PyTuple_Type,
        ];
        c_int::from(kinds.contains(&kind))
    }

    // SAFETY: `visit` only reads the type.
    unsafe { traverse(object, visit, std::ptr::null_mut()) != 0 }
}

/// Has `visit` called with each object that `object` holds, until it returns other than 0.
///
/// # Safety
/// `visit` must be sound with `argument`, and must change nothing.
unsafe fn traverse(
    object: &Bound<'_, PyAny>,
    visit: ffi::visitproc,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the type is that of a living object, and what it has in this slot is such a
    // function, or nothing.
    unsafe {
        let slot = ffi::PyType_GetSlot(object.get_type_ptr(), ffi::Py_tp_traverse);
        let traverse: Option<ffi::traverseproc> = std::mem::transmute(slot);
        traverse.map_or(0, |traverse| traverse(object.as_ptr(), visit, argument))
    }
}

/// Calls with up to three arguments; the first that is missing ends them.
pub(crate) fn call<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    arguments: [Option<&Bound<'py, PyAny>>; N],
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(N <= 3, "a call takes three arguments at most") };
    let end = std::ptr::null_mut::<ffi::PyObject>();
    let at = |place: usize| arguments.get(place).copied().flatten().map_or(end, Bound::as_ptr);
    // SAFETY: all pointers are valid while borrowed, and the list ends with a
    // null; the result is a new reference, or null with an exception set,
    // which `from_owned_ptr_or_err` takes over.
    unsafe {
        let called = unstable::call(callable.as_ptr(), [end, at(0), at(1), at(2), end]);
        Bound::from_owned_ptr_or_err(callable.py(), called)
    }
}

/// What one step of a coroutine came to.
pub(crate) enum Step<'py> {
    /// It waits, and gives this to the event loop.
    Yield(Bound<'py, PyAny>),
    /// It is done.
    Return(Bound<'py, PyAny>),
}

/// Does `work` in a context, as `Context.run` does, but without a callable of Python, which that wants.
///
/// # Errors
/// Those of `work`, and `RuntimeError` if the context is entered already, or another one is not left.
pub(crate) fn within<T>(
    context: &Bound<'_, PyAny>,
    work: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let (py, pointer) = (context.py(), context.as_ptr());
    // SAFETY: the pointer is valid while borrowed; what is no context is refused with an exception.
    if unsafe { unstable::enter(pointer) } != 0 {
        return Err(PyErr::fetch(py));
    }
    let done = catch_unwind(AssertUnwindSafe(work));
    // SAFETY: as above.
    let left = match unsafe { unstable::leave(pointer) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(py)),
    };
    done.unwrap_or_else(|panic| resume_unwind(panic)).and_then(|done| left.map(|()| done))
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
        let status = ffi::PyIter_Send(coroutine.as_ptr(), value.as_ptr(), &raw mut result);
        (status, Bound::from_owned_ptr_or_err(py, result))
    };
    let result = result?;
    Ok(match status {
        ffi::PySendResult::PYGEN_NEXT => Step::Yield(result),
        _ => Step::Return(result),
    })
}

/// Sets the exception by which an iterator's last step hands a value to its
/// awaiter; the step itself then gives nothing. PyO3 would make an exception
/// object, which takes longer than the step.
pub(crate) fn stop(value: &Bound<'_, PyAny>) {
    if value.is_exact_instance_of::<PyDict>() || value.is_exact_instance_of::<PyString>() {
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

/// As long as this lives, the garbage collector does not start by itself.
pub(crate) struct CollectionPause<'py> {
    was_enabled: bool,
    _held: Python<'py>,
}

impl<'py> CollectionPause<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        // SAFETY: the call only sets a flag, under the interpreter lock.
        Self { was_enabled: unsafe { ffi::PyGC_Disable() } != 0, _held: py }
    }
}

impl Drop for CollectionPause<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the call only sets a flag, under the interpreter lock, which is still held.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

/// Makes an unwinder take the first frame of ours for the end of the stack. For the
/// last moments of the interpreter: before Python 3.14 it ends every other thread by
/// `pthread_exit`, at any place, and the C library unwinds the thread.
/// Where that meets Rust, which called the Python code above, it would free objects
/// without the interpreter, or abort. At the end of a stack it ends the thread instead.
///
/// Nothing of ours may panic any more. Elsewhere than under glibc no thread is unwound.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
pub(crate) fn hide_frames() {
    /// The version of a table of frames that exists, and what no table has.
    const NO_VERSION: u8 = 0;

    unsafe extern "C" fn visit(
        module: *mut libc::dl_phdr_info,
        _: libc::size_t,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic linker gives a module that stays while it is visited.
        let (start, parts) = unsafe {
            let module = &*module;
            let count = usize::from(module.dlpi_phnum);
            (address(module.dlpi_addr), std::slice::from_raw_parts(module.dlpi_phdr, count))
        };
        let begin = |part: &libc::Elf64_Phdr| start + address(part.p_vaddr);
        let holding = |place: usize| {
            let holds = |part: &&libc::Elf64_Phdr| {
                let size = address(part.p_memsz);
                part.p_type == libc::PT_LOAD && (begin(part)..begin(part) + size).contains(&place)
            };
            parts.iter().find(holds)
        };
        if holding(hide_frames as *const () as usize).is_none() {
            return 0;
        }
        let table = parts.iter().find(|part| part.p_type == libc::PT_GNU_EH_FRAME).map(begin);
        if let Some((table, part)) = table.and_then(|table| Some((table, holding(table)?))) {
            let executed = if part.p_flags & libc::PF_X == 0 { 0 } else { libc::PROT_EXEC };
            let rights = libc::PROT_READ | executed;
            // SAFETY: the byte is part of our own module, and only unwinders read it. Its
            // page keeps its rights, and is copied by the first change.
            unsafe {
                let size = address(libc::sysconf(libc::_SC_PAGESIZE).cast_unsigned());
                let page = (table & !(size - 1)) as *mut c_void;
                if libc::mprotect(page, size, rights | libc::PROT_WRITE) == 0 {
                    (table as *mut u8).write_volatile(NO_VERSION);
                    libc::mprotect(page, size, rights);
                }
            }
        }
        1
    }

    fn address(number: u64) -> usize {
        usize::try_from(number).unwrap_or_default()
    }

    // SAFETY: `visit` keeps nothing of what it is given.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::null_mut()) };
}

/// There are no threads to be unwound.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
pub(crate) const fn hide_frames() {}
