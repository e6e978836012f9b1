//! Landlock: limits a worker's access to files, for any root, and denies ports,
//! signals and abstract sockets.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::{CACHE, DEVICES, JailFault, SCRATCH, Step};

/// The newest ABI that is used; older kernels enforce what they know.
const NEWEST: ABI = ABI::V6;

/// Restricts this process permanently.
pub(super) fn restrict(read: &[PathBuf], has_scratch: bool) -> Result<(), JailFault> {
    rules(read, has_scratch).step("restrict files")
}

fn rules(read: &[PathBuf], has_scratch: bool) -> io::Result<()> {
    let readable = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)?;
    for path in read {
        rules = grant(rules, path, readable)?;
    }
    for device in DEVICES {
        rules = grant(rules, Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    if has_scratch {
        rules = grant(rules, Path::new(CACHE), readable)?;
        rules = grant(rules, Path::new(SCRATCH), in_scratch())?;
    }
    let status = rules.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("the kernel does not enforce it"));
    }
    Ok(())
}

/// Plain files and folders; nothing executable or special.
fn in_scratch() -> BitFlags<AccessFs> {
    AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Truncate
}

fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    let folder = path.is_dir();
    // The kernel refuses rights for folders on a file.
    let access = if folder { access } else { access & AccessFs::from_file(NEWEST) };
    let place = PathFd::new(path).map_err(io::Error::other)?;
    rules.add_rule(PathBeneath::new(place, access)).map_err(io::Error::other)
}
