//! Engines on systems where they cannot be built.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::sandbox::{
    GuestFault, GuestFaultKind, HostCalls, Isolation, JobOutcome, Sandbox, SandboxJob,
    SandboxProbe, Session, StopCheck,
};

use crate::spec::{EngineName, EngineSettings};

const WHY: &str = "it needs Linux on x86-64 or aarch64";

/// An engine that only reports that it is unavailable.
#[derive(Debug)]
pub struct AbsentEngine(EngineName);

impl AbsentEngine {
    /// An engine that cannot run anything on this system.
    ///
    /// # Errors
    /// `sandbox_setting_invalid`, `sandbox_limit_invalid`.
    pub fn new(settings: EngineSettings) -> Result<Self, Fault> {
        settings.check()?;
        settings.limits()?;
        Ok(Self(settings.engine))
    }

    /// No isolation, because nothing runs.
    pub fn isolation(&self) -> Isolation {
        Isolation::None
    }

    /// Its name.
    pub fn name(&self) -> EngineName {
        self.0
    }
}

impl Sandbox for AbsentEngine {
    fn probe(&self) -> SandboxProbe {
        SandboxProbe::refused(self.0.as_str(), WHY)
    }

    fn run(&self, _: &SandboxJob, _: Option<Arc<dyn HostCalls>>, _: StopCheck<'_>) -> JobOutcome {
        JobOutcome::failed(GuestFaultKind::Unavailable, WHY)
    }

    fn open(&self) -> Result<Box<dyn Session>, Box<GuestFault>> {
        Err(Box::new(GuestFault::new(GuestFaultKind::Unavailable, WHY)))
    }
}
