//! The host files that an interpreter needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::spec::JailPlan;

/// The folders of the system's shared libraries.
const SYSTEM: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
/// The files that the loader and the C library read.
const DATA: [&str; 2] = ["/etc/ld.so.cache", "/usr/share/zoneinfo"];

/// All paths to show, each once. Those that do not exist are left out, unless a user named them.
pub(super) fn granted(plan: &JailPlan, library: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    let base = library.iter().cloned().chain(libraries()?).chain(DATA.map(PathBuf::from));
    for path in base.filter(|path| path.exists()) {
        add(&mut found, path);
    }
    for path in plan.mounts.read.iter().chain([&plan.guest]) {
        // A path that a user named must exist.
        fs::metadata(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        add(&mut found, path.clone());
    }
    Ok(found)
}

/// Site-packages folders within the standard library, whose packages are granted one by one.
pub(super) fn sites(library: &[PathBuf]) -> Vec<PathBuf> {
    let inside = library.iter().flat_map(|path| {
        ["site-packages", "dist-packages"].into_iter().map(|name| path.join(name))
    });
    inside.filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// The folders of the loaded shared libraries, or the single files where such a folder contains
/// more than libraries.
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
        // The same folder where one is a link to the other; not on every system.
        let other = parent.strip_prefix("/usr").map_or_else(
            |_| Path::new("/usr").join(parent.strip_prefix("/").unwrap_or(parent)),
            |rest| Path::new("/").join(rest),
        );
        add(&mut found, other);
    }
    // The path of the loader leads through these.
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
