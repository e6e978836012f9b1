//! Key profiles: tools with other credentials, and the roles that work with them. The state, the
//! messages and the events of a task hold their names alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capability::{Capabilities, ORCHESTRATOR, WorkerRole};
use super::{PlanExecute, TaskInput};
use crate::resources::SystemResources;
use crate::sub_task::ToolsByRole;
use crate::sub_task::name::{LONGEST_NAME, is_name};

/// The key profile of a role, or several: the next one is tried once the credentials of one are
/// refused or used up. Without any, the role has its usual tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProfileChoice {
    /// One.
    One(String),
    /// Several, in the order in which they are tried.
    Ordered(Vec<String>),
}

/// The key profiles of roles, by role.
pub type RoleProfiles = BTreeMap<String, ProfileChoice>;

impl ProfileChoice {
    /// The names of the profiles, in their order.
    pub const fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Ordered(names) => names.as_slice(),
        }
    }
}

/// Whether the names of profiles are such that a message can carry them.
///
/// # Errors
/// What is wrong.
pub(super) fn check_names(chosen: &RoleProfiles) -> Result<(), String> {
    let mut names = chosen.values().flat_map(ProfileChoice::names);
    match names.find(|name| !is_name(name, LONGEST_NAME)) {
        Some(name) => Err(format!(
            "a key profile has a name of letters, digits, `_`, `.` and `-`, at most {LONGEST_NAME}: {name}"
        )),
        None => Ok(()),
    }
}

/// What plans can use with the credentials of each profile, by its name.
pub(super) struct KeyProfiles(BTreeMap<String, Capabilities>);

impl KeyProfiles {
    /// The tools of the system, those of each profile in their place.
    ///
    /// # Errors
    /// `system_setting_invalid` for a profile with a tool that the system does not have; as
    /// [`Capabilities::of`].
    pub(super) fn of(
        resources: &SystemResources,
        workers: &BTreeMap<String, WorkerRole>,
    ) -> Result<Self, Fault> {
        let capabilities = |(name, own): (&String, &Vec<Arc<dyn Tool>>)| {
            let known = &resources.tools;
            let is_known = |tool: &&Arc<dyn Tool>| {
                known.iter().any(|known| known.spec().name == tool.spec().name)
            };
            if let Some(unknown) = own.iter().find(|tool| !is_known(tool)) {
                return Err(unknown_tool(name, &unknown.spec().name));
            }
            let replaced = |tool: &Arc<dyn Tool>| {
                let own = own.iter().find(|own| own.spec().name == tool.spec().name);
                Arc::clone(own.unwrap_or(tool))
            };
            let tools: Vec<_> = known.iter().map(replaced).collect();
            Ok((name.clone(), Capabilities::of(&tools, workers)?))
        };
        resources.key_profiles.iter().map(capabilities).collect::<Result<_, _>>().map(Self)
    }

    fn get(&self, name: &str) -> Option<&Capabilities> {
        self.0.get(name)
    }

    /// The tools of workers, by profile and role.
    pub(super) fn worker_tools(&self) -> BTreeMap<String, ToolsByRole> {
        let tools = |(name, own): (&String, &Capabilities)| (name.clone(), own.worker_tools());
        self.0.iter().map(tools).collect()
    }
}

fn unknown_tool(profile: &str, tool: &str) -> Fault {
    let message =
        format!("the key profile `{profile}` has a tool that the system does not have: {tool}");
    Fault::new(FaultCode::SystemSettingInvalid, message).hint("pass it in `tools` too")
}

impl PlanExecute {
    /// Whether the roles of a choice are there, and those of its profiles that this process needs:
    /// the profiles of workers elsewhere are theirs.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn check_profiles(&self, chosen: &RoleProfiles) -> Result<(), String> {
        for (role, choice) in chosen {
            if !self.capabilities.has_role(role) {
                return Err(format!("`role_profiles` names a role that is not there: {role}"));
            }
            let is_elsewhere = self.resources.queue.is_some() && role != ORCHESTRATOR;
            let unknown = choice.names().iter().find(|name| self.key_profiles.get(name).is_none());
            if let Some(unknown) = unknown.filter(|_| !is_elsewhere) {
                return Err(format!("there is no key profile of that name: {unknown}"));
            }
        }
        Ok(())
    }

    /// The profiles that a role works with, in their order; one `None` for its usual tools.
    pub(super) fn profiles_of<'c>(
        &'c self,
        input: &'c TaskInput,
        role: &str,
    ) -> Vec<Option<&'c str>> {
        let chosen = input.role_profiles.get(role).or_else(|| self.config.role_profiles.get(role));
        let names = chosen.map_or(&[][..], ProfileChoice::names);
        if names.is_empty() {
            return vec![None];
        }
        names.iter().map(|name| Some(name.as_str())).collect()
    }

    /// What plans can use with the credentials of a profile. One that only workers have is
    /// described by the usual tools.
    pub(super) fn capabilities_with(&self, profile: Option<&str>) -> &Capabilities {
        profile.and_then(|name| self.key_profiles.get(name)).unwrap_or(&self.capabilities)
    }
}
