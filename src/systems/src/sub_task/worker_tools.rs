//! What the workers of a system can do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use antiphon_runtime::Tool;

/// Tools by role.
pub type ToolsByRole = BTreeMap<String, Vec<Arc<dyn Tool>>>;

/// The tools of the workers of a system.
#[derive(Clone, Default)]
pub struct WorkerTools {
    /// For sub-tasks without a key profile.
    pub usual: ToolsByRole,
    /// The same tools with the credentials of each key profile, by its name.
    pub profiles: BTreeMap<String, ToolsByRole>,
}

impl WorkerTools {
    /// Each tool as `change` makes it.
    #[must_use]
    pub fn map(self, change: impl Fn(Arc<dyn Tool>) -> Arc<dyn Tool>) -> Self {
        let by_role = |tools: ToolsByRole| {
            let changed =
                |(role, own): (String, Vec<_>)| (role, own.into_iter().map(&change).collect());
            tools.into_iter().map(changed).collect()
        };
        let profiles = self.profiles.into_iter();
        Self {
            usual: by_role(self.usual),
            profiles: profiles.map(|(name, tools)| (name, by_role(tools))).collect(),
        }
    }
}

impl fmt::Debug for WorkerTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (roles, profiles) = (self.usual.keys(), self.profiles.keys());
        f.debug_struct("WorkerTools")
            .field("roles", &roles.collect::<Vec<_>>())
            .field("profiles", &profiles.collect::<Vec<_>>())
            .finish()
    }
}
