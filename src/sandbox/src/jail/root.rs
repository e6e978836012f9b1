//! A root file system with nothing but the granted files.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use super::{CACHE, DEVICES, JailFault, SCRATCH, Step};
use crate::granted_files::GrantedFile;
use crate::sys::{mounts, process, sockets};
use crate::wire::LONGEST;

/// The mount point of the new root. No granted path is below it, and it does not exist in the
/// new root.
const SITE: &str = "/proc";
/// The most links in a path; more are a loop.
const MOST_LINKS: usize = 40;

/// Mounts a root with the paths `read` at their places, and the folders that workers need. Of
/// the folders `hidden`, only paths granted by themselves are visible.
pub(super) fn furnish(read: &[PathBuf], hidden: &[PathBuf]) -> Result<(), JailFault> {
    mounts::make_private().step("make mounts private")?;
    let site = Path::new(SITE);
    mounts::mount_memory(site, "mode=0755,size=64m,nr_inodes=16k").step("mount a root")?;
    let holds_hidden = |path: &&PathBuf| {
        let path = fs::canonicalize(path).unwrap_or_default();
        hidden.iter().any(|folder| folder.starts_with(&path))
    };
    let (first, rest): (Vec<_>, Vec<_>) = read.iter().partition(holds_hidden);
    show_all(&first, site)?;
    let hidden: Vec<_> = hidden.iter().map(|path| inside(site, path)).collect();
    let hidden: Vec<_> = hidden.into_iter().filter(|path| path.exists()).collect();
    for folder in &hidden {
        mounts::mount_memory(folder, "mode=0755").step("hide packages")?;
    }
    show_all(&rest, site)?;
    for folder in &hidden {
        mounts::make_read_only(folder).step("hide packages")?;
    }
    for device in DEVICES {
        let to = inside(site, Path::new(device));
        make_file(&to).and_then(|()| mounts::show(Path::new(device), &to, true)).step(device)?;
    }
    for own in [SCRATCH, CACHE] {
        fs::create_dir_all(inside(site, Path::new(own))).step(own)?;
    }
    Ok(())
}

/// Changes to the new root.
pub(super) fn enter() -> Result<(), JailFault> {
    mounts::change_root(Path::new(SITE)).step("change the root")
}

/// Shows the files whose host paths arrive on `control`.
///
/// A fork does this and exits, so that the host paths never enter the memory of this process,
/// which all workers share.
pub(super) fn show_files(control: BorrowedFd<'_>) -> Result<(), JailFault> {
    let (mut reader, mut writer) = io::pipe().step("show files")?;
    let child = process::fork().step("show files")?;
    if child == 0 {
        if let Err(why) = show_named(control) {
            // The reader exists until this end is closed.
            let _ = writer.write_all(why.as_bytes());
        }
        process::leave(0);
    }
    drop(writer);
    let mut why = String::new();
    let read = reader.read_to_string(&mut why);
    let end = process::ended(child, true).step("show files")?;
    let whole = end.is_some_and(|(_, end)| end.code == Some(0)) && read.is_ok();
    match (whole, why.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err(io::Error::other(why)).step("show files"),
        (false, _) => Err(io::Error::other("it ended early")).step("show files"),
    }
}

fn show_named(control: BorrowedFd<'_>) -> Result<(), String> {
    let mut buffer = vec![0; LONGEST];
    let (length, _) = sockets::receive(control, &mut buffer).map_err(|error| error.to_string())?;
    let text = buffer.get(..length).unwrap_or_default();
    let files: Vec<GrantedFile> =
        serde_json::from_slice(text).map_err(|error| error.to_string())?;
    for file in files {
        let to = inside(Path::new(SITE), &file.at);
        let described = |error: io::Error| format!("{}: {error}", file.from.display());
        show(&file.from, &to).map_err(described)?;
        // The check is made on the mounted file, which can no longer be exchanged.
        if !file.is_at(&to).map_err(described)? {
            return Err(described(io::Error::other("another file is there than was granted")));
        }
    }
    Ok(())
}

fn show_all(paths: &[&PathBuf], site: &Path) -> Result<(), JailFault> {
    for path in paths {
        show_in_place(path, site).step(&format!("show {}", path.display()))?;
    }
    Ok(())
}

/// Makes the caches read-only, once everything is imported.
pub(super) fn freeze() -> Result<(), JailFault> {
    mounts::make_read_only(Path::new("/")).step("make the root read-only")
}

/// Shows `path` at its own place, including the links that lead to it.
fn show_in_place(path: &Path, site: &Path) -> io::Result<()> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Some((link, target)) = first_link(&path) else {
            let to = inside(site, &path);
            // Everything in a folder that is already shown exists.
            return if to.exists() { Ok(()) } else { show(&path, &to) };
        };
        let at = inside(site, &link);
        if let Some(parent) = at.parent() {
            fs::create_dir_all(parent)?;
        }
        match symlink(&target, &at) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        let rest = path.strip_prefix(&link).unwrap_or_else(|_| Path::new("")).to_owned();
        let start = link.parent().unwrap_or_else(|| Path::new("/")).join(target);
        path = normalize(&if rest.as_os_str().is_empty() { start } else { start.join(rest) });
    }
    Err(io::Error::other("too many links"))
}

/// The first component of `path` that is a link, and its target.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut prefixes: Vec<_> = path.ancestors().collect();
    prefixes.reverse();
    prefixes.into_iter().find_map(|prefix| Some((prefix.to_owned(), fs::read_link(prefix).ok()?)))
}

/// The path without `.` and `..`.
fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => normalized.push(name),
            Component::ParentDir => drop(normalized.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    normalized
}

fn inside(site: &Path, path: &Path) -> PathBuf {
    site.join(path.strip_prefix("/").unwrap_or(path))
}

fn show(from: &Path, to: &Path) -> io::Result<()> {
    if fs::metadata(from)?.is_dir() {
        fs::create_dir_all(to)?;
    } else {
        make_file(to)?;
    }
    mounts::show(from, to, false)
}

fn make_file(at: &Path) -> io::Result<()> {
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::OpenOptions::new().create(true).append(true).open(at).map(drop)
}
