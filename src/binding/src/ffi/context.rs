//! Entering and leaving a context: two functions that every supported Python has, though its stable
//! interface does not promise them.

#[cfg(unix)]
pub(super) use linked::{enter, leave};

#[cfg(not(unix))]
pub(super) use looked_up::{enter, leave};

#[cfg(unix)]
mod linked {
    use std::ffi::c_int;

    use pyo3::ffi::PyObject;

    unsafe extern "C" {
        #[link_name = "PyContext_Enter"]
        pub(in super::super) fn enter(context: *mut PyObject) -> c_int;

        #[link_name = "PyContext_Exit"]
        pub(in super::super) fn leave(context: *mut PyObject) -> c_int;
    }
}

/// Windows links a module only to the stable interface.
#[cfg(not(unix))]
mod looked_up {
    use std::ffi::c_int;

    use pyo3::ffi::PyObject;
    use pyo3::prelude::*;
    use pyo3::sync::PyOnceLock;

    type Function = unsafe extern "C" fn(*mut PyObject) -> c_int;

    pub(in super::super) unsafe fn enter(context: *mut PyObject) -> c_int {
        static ENTER: PyOnceLock<Function> = PyOnceLock::new();
        // SAFETY: the caller's.
        unsafe { call(&ENTER, "PyContext_Enter", context) }
    }

    pub(in super::super) unsafe fn leave(context: *mut PyObject) -> c_int {
        static LEAVE: PyOnceLock<Function> = PyOnceLock::new();
        // SAFETY: the caller's.
        unsafe { call(&LEAVE, "PyContext_Exit", context) }
    }

    unsafe fn call(known: &PyOnceLock<Function>, name: &str, context: *mut PyObject) -> c_int {
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
