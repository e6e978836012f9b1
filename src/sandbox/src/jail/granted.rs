//! What of the host's files an interpreter needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::spec::JailPlan;

/// Where systems keep libraries for everybody.
const SYSTEM: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
/// What the loader and the C library look at.
const DATA: [&str; 2] = ["/etc/ld.so.cache", "/usr/share/zoneinfo"];

/// Everything that can be read in place, each once, those that do not exist
/// left out unless a user named them.
pub(super) fn granted(plan: &JailPlan, library: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    let base = library.iter().cloned().chain(libraries()?).chain(DATA.map(PathBuf::from));
    for path in base.filter(|path| path.exists()) {
        add(&mut found, path);
    }
    for path in plan.mounts.read.iter().chain([&plan.guest]) {
        // A grant that leads nowhere is an error of whoever granted it.
        fs::metadata(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        add(&mut found, path.clone());
    }
    Ok(found)
}

/// Folders for packages inside of the standard library's: the packages in
/// them are granted one by one.
pub(super) fn sites(library: &[PathBuf]) -> Vec<PathBuf> {
    let inside = library.iter().flat_map(|path| {
        ["site-packages", "dist-packages"].into_iter().map(|name| path.join(name))
    });
    inside.filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// Folders of the shared libraries that are loaded, and single files where
/// such a folder holds more than libraries.
fn libraries() -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for line in fs::read_to_string("/proc/self/maps")?.lines() {
        let Some(start) = line.find('/') else { continue };
        let path = Path::new(line.get(start..).unwrap_or_default());
        let is_library = path.to_string_lossy().contains(".so");
        let Some(parent) = path.parent().filter(|_| is_library) else { continue };
        if !SYSTEM.iter().any(|system| parent.starts_with(system)) {
            add(&mut found, path.to_owned());
            continue;
        }
        add(&mut found, parent.to_owned());
        // The same folder on systems where one is a link, or neither is.
        let other = parent.strip_prefix("/usr").map_or_else(
            |_| Path::new("/usr").join(parent.strip_prefix("/").unwrap_or(parent)),
            |rest| Path::new("/").join(rest),
        );
        add(&mut found, other);
    }
    // The loader's own name leads through here.
    for system in SYSTEM {
        if fs::symlink_metadata(system).is_ok_and(|meta| meta.is_symlink()) {
            let folder = fs::canonicalize(system)?;
            if found.contains(&folder) {
                add(&mut found, PathBuf::from(system));
            }
        }
    }
    Ok(found)
}

fn add(found: &mut Vec<PathBuf>, path: PathBuf) {
    if !found.contains(&path) {
        found.push(path);
    }
}
