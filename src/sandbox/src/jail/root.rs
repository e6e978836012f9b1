//! A root that holds what is granted and nothing else.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use super::{CACHE, DEVICES, JailFault, SCRATCH, Step};
use crate::shown::GrantedFile;
use crate::sys::{mounts, process, sockets};
use crate::wire::LONGEST;

/// Where the new root is put together. Nothing that is granted lies below it,
/// and after the change of root it is gone.
const SITE: &str = "/proc";
/// Links in a path, after which there is no end to be expected.
const MOST_LINKS: usize = 40;

/// Mounts a root with `read` in their places and room for what workers need. Of
/// the folders `hidden` only that is seen which is granted by itself.
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

/// Changes to the root that was mounted.
pub(super) fn enter() -> Result<(), JailFault> {
    mounts::change_root(Path::new(SITE)).step("change the root")
}

/// Shows in it the files that the host names next on `control`.
///
/// A fork does that, and ends: the memory of this process, which is that of all
/// workers, never holds where on the host they are.
pub(super) fn show_files(control: BorrowedFd<'_>) -> Result<(), JailFault> {
    let (mut reader, mut writer) = io::pipe().step("show files")?;
    let child = process::fork().step("show files")?;
    if child == 0 {
        if let Err(why) = show_named(control) {
            // Whoever reads it is there until this end is closed.
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
        let told = |error: io::Error| format!("{}: {error}", file.from.display());
        show(&file.from, &to).map_err(told)?;
        // Asked of what is mounted: that cannot be exchanged any more.
        if !file.is_at(&to).map_err(told)? {
            return Err(told(io::Error::other("another file is there than was granted")));
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

/// Forbids to write it, once everything is imported.
pub(super) fn freeze() -> Result<(), JailFault> {
    mounts::make_read_only(Path::new("/")).step("make the root read-only")
}

/// Shows `path` where it is on the host, with the links that lead there.
fn show_in_place(path: &Path, site: &Path) -> io::Result<()> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Some((link, target)) = first_link(&path) else {
            let to = inside(site, &path);
            // What is in a folder that is shown already is there.
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
        path = tidy(&if rest.as_os_str().is_empty() { start } else { start.join(rest) });
    }
    Err(io::Error::other("too many links"))
}

/// The first part of `path` that is a link, and where it leads.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut prefixes: Vec<_> = path.ancestors().collect();
    prefixes.reverse();
    prefixes.into_iter().find_map(|prefix| Some((prefix.to_owned(), fs::read_link(prefix).ok()?)))
}

/// The path without `.` and `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => tidied.push(name),
            Component::ParentDir => drop(tidied.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    tidied
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
