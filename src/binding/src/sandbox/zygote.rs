//! The steps of a zygote, for `boot.py` of the sandbox's guest.

use std::path::PathBuf;

use antiphon_sandbox::jail::{JailFault, SealedWorker, Zygote, ZygoteRequest};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;

/// A zygote of the sandbox. Its steps are called in the order in which they
/// stand here, by a process that has one thread.
#[pyclass(module = "antiphon._antiphon", unsendable)]
pub(crate) struct SandboxZygote(Option<Zygote>);

#[pymethods]
impl SandboxZygote {
    /// Takes the descriptor of the socket that leads to the host.
    #[new]
    fn new(control: i32) -> PyResult<Self> {
        Zygote::connect(control).map(|zygote| Self(Some(zygote))).map_err(raised)
    }

    /// Leaves the host's namespaces; true if the caller has to fork now, and
    /// to call `guard` in the parent.
    fn leave(&mut self) -> PyResult<bool> {
        self.zygote()?.leave().map_err(raised)
    }

    /// Waits for the fork, and ends like it.
    fn guard(&mut self, first: i32) -> PyResult<()> {
        self.zygote()?;
        self.0.take().map_or(Ok(()), |zygote| zygote.guard(first))
    }

    /// Changes to the private root. `library` are the interpreter's own paths.
    fn furnish(&mut self, library: Vec<PathBuf>) -> PyResult<()> {
        self.zygote()?.furnish(&library).map_err(raised)
    }

    /// Folders to look for modules in.
    fn path(&mut self) -> PyResult<Vec<String>> {
        let path = self.zygote()?.path();
        // As text: this is what `sys.path` holds.
        Ok(path.into_iter().map(|folder| folder.to_string_lossy().into_owned()).collect())
    }

    /// The folder of the guest's code.
    fn guest(&mut self) -> PyResult<String> {
        Ok(self.zygote()?.guest().to_string_lossy().into_owned())
    }

    /// Names to import.
    fn packages(&mut self) -> PyResult<Vec<String>> {
        Ok(self.zygote()?.packages().to_vec())
    }

    /// Tells the host that everything is imported.
    fn ready(&mut self, version: &str) -> PyResult<()> {
        self.zygote()?.ready(version).map_err(raised)
    }

    /// Tells the host why it will not be.
    fn fail(&mut self, why: &str) -> PyResult<()> {
        self.zygote()?.fail(why);
        Ok(())
    }

    /// Waits until a worker is wanted; false if none ever will be.
    fn next(&mut self) -> PyResult<bool> {
        self.zygote()?.wait().map(|next| next == ZygoteRequest::Fork).map_err(raised)
    }

    /// After a fork, in the parent.
    fn forked(&mut self, pid: i32) -> PyResult<()> {
        self.zygote()?.forked(pid);
        Ok(())
    }

    /// After a fork, in the child: the descriptor of its channel, its folder,
    /// and whether its job is still to come.
    fn seal(&mut self) -> PyResult<(i32, Option<String>, bool)> {
        let SealedWorker { channel, folder, waits } = self.zygote()?.seal().map_err(raised)?;
        Ok((channel, folder.map(|folder| folder.to_string_lossy().into_owned()), waits))
    }

    /// The rest of that, once libraries have started what they need.
    fn lock(&mut self) -> PyResult<()> {
        self.zygote()?.lock().map_err(raised)
    }
}

impl SandboxZygote {
    fn zygote(&mut self) -> PyResult<&mut Zygote> {
        self.0.as_mut().ok_or_else(|| PyRuntimeError::new_err("the zygote is only a guard now"))
    }
}

fn raised(failed: JailFault) -> PyErr {
    PyOSError::new_err(failed.to_string())
}
