//! What is exchanged under the interpreter lock alone.

use std::cell::UnsafeCell;
use std::fmt;

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

/// A cell whose content only the holder of the interpreter lock exchanges. A mutex would take two locked
/// instructions each time (decision 28).
pub(crate) struct GilCell<T>(UnsafeCell<T>);

// SAFETY: the content is reached by the methods below only, which prove that the lock is held, and give
// no reference away. There is always a lock: our wheels are for the stable interface, which interpreters
// without one do not load, and in a build for those, `gil_used` of the module makes them take it.
unsafe impl<T: Send> Sync for GilCell<T> {}

impl<T> GilCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Puts a value in the place of the present one.
    pub(crate) const fn replace(&self, _held: Python<'_>, value: T) -> T {
        // SAFETY: nobody else is here, and nothing is called meanwhile.
        std::mem::replace(unsafe { &mut *self.0.get() }, value)
    }

    /// Shows the content to the garbage collector.
    ///
    /// # Errors
    /// Its own.
    pub(crate) fn visit(
        &self,
        visit: &PyVisit<'_>,
        show: fn(&T, &PyVisit<'_>) -> Result<(), PyTraverseError>,
    ) -> Result<(), PyTraverseError> {
        // SAFETY: who visits holds the lock, and runs no code that could exchange the content.
        show(unsafe { &*self.0.get() }, visit)
    }
}

impl<T: Default> Default for GilCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> fmt::Debug for GilCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GilCell").finish_non_exhaustive()
    }
}
