//! Functions that every supported Python has, though its stable interface does not promise them:
//! entering and leaving a context, and calling with arguments that stand in a row.

use std::ffi::c_int;

use pyo3::ffi::PyObject;

#[cfg(unix)]
pub(super) use linked::{call, enter, leave};

#[cfg(not(unix))]
pub(super) use looked_up::{call, enter, leave};

/// A place that the callable may use, three arguments, and the end of them.
type Arguments = [*mut PyObject; 5];

#[cfg(unix)]
mod linked {
    use pyo3::ffi::PyObject;

    use super::{Arguments, c_int};

    /// The callable may change the place before the first argument, until it returns.
    const PLACE_BEFORE_IS_FREE: usize = 1 << (usize::BITS - 1);

    unsafe extern "C" {
        #[link_name = "PyContext_Enter"]
        pub(in super::super) fn enter(context: *mut PyObject) -> c_int;

        #[link_name = "PyContext_Exit"]
        pub(in super::super) fn leave(context: *mut PyObject) -> c_int;

        fn PyObject_Vectorcall(
            callable: *mut PyObject,
            arguments: *const *mut PyObject,
            count: usize,
            names: *mut PyObject,
        ) -> *mut PyObject;
    }

    pub(in super::super) unsafe fn call(
        callable: *mut PyObject,
        mut given: Arguments,
    ) -> *mut PyObject {
        let count = given.iter().skip(1).take_while(|argument| !argument.is_null()).count();
        // SAFETY: the caller's; as many arguments as are counted follow the free place.
        unsafe {
            let first = given.as_mut_ptr().add(1);
            PyObject_Vectorcall(callable, first, count | PLACE_BEFORE_IS_FREE, std::ptr::null_mut())
        }
    }
}

/// Windows links a module only to the stable interface.
#[cfg(not(unix))]
mod looked_up {
    use pyo3::ffi::{self, PyObject};
    use pyo3::prelude::*;
    use pyo3::sync::PyOnceLock;

    use super::{Arguments, c_int};

    type Function = unsafe extern "C" fn(*mut PyObject) -> c_int;

    pub(in super::super) unsafe fn enter(context: *mut PyObject) -> c_int {
        static ENTER: PyOnceLock<Function> = PyOnceLock::new();
        // SAFETY: the caller's.
        unsafe { apply(&ENTER, "PyContext_Enter", context) }
    }

    pub(in super::super) unsafe fn leave(context: *mut PyObject) -> c_int {
        static LEAVE: PyOnceLock<Function> = PyOnceLock::new();
        // SAFETY: the caller's.
        unsafe { apply(&LEAVE, "PyContext_Exit", context) }
    }

    /// The stable interface's way, which Python makes a row of again.
    pub(in super::super) unsafe fn call(
        callable: *mut PyObject,
        [_, one, two, three, end]: Arguments,
    ) -> *mut PyObject {
        // SAFETY: the caller's; the list ends with a null.
        unsafe { ffi::PyObject_CallFunctionObjArgs(callable, one, two, three, end) }
    }

    unsafe fn apply(known: &PyOnceLock<Function>, name: &str, context: *mut PyObject) -> c_int {
        // SAFETY: the context is borrowed from a `Bound`, which proves that the lock is held.
        let py = unsafe { Python::assume_attached() };
        match known.get_or_try_init(py, || look_up(py, name)) {
            // SAFETY: it is given what it takes.
            Ok(function) => unsafe { function(context) },
            Err(error) => {
                error.restore(py);
                -1
            }
        }
    }

    fn look_up(py: Python<'_>, name: &str) -> PyResult<Function> {
        let ctypes = py.import("ctypes")?;
        let function = ctypes.getattr("pythonapi")?.getattr(name)?;
        let pointer = ctypes.getattr("cast")?.call1((function, ctypes.getattr("c_void_p")?))?;
        let address: usize = pointer.getattr("value")?.extract()?;
        // SAFETY: the interpreter's function of that name has this type.
        Ok(unsafe { std::mem::transmute::<*const (), Function>(address as *const ()) })
    }
}
