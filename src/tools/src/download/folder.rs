//! The folder that files are stored in. It is opened once, and each name is a single part below that descriptor, without
//! following links: nothing leads out of it, also if somebody moves or replaces it meanwhile.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, flock, linkat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::file_name::numbered;

/// How many names are tried.
const NAMES: usize = 1000;

/// The most bytes of a note.
const NOTE: u64 = 4096;

/// An open folder.
#[derive(Debug)]
pub(super) struct DownloadFolder {
    descriptor: OwnedFd,
}

impl DownloadFolder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { descriptor })
    }

    /// Opens a file for one writer; `None` if another one has it.
    pub(super) fn open_exclusively(&self, name: &str) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = openat(&self.descriptor, name, flags, Mode::from_raw_mode(0o644))?;
        match flock(&descriptor, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(File::from(descriptor))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The text of a small file; empty if it cannot be read.
    pub(super) fn read_note(&self, name: &str) -> String {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut text = String::new();
        if let Ok(descriptor) = openat(&self.descriptor, name, flags, Mode::empty()) {
            // What is no text notes nothing.
            let _ = File::from(descriptor).take(NOTE).read_to_string(&mut text);
        }
        text
    }

    /// Replaces the text of a small file.
    pub(super) fn write_note(&self, name: &str, text: &str) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = openat(&self.descriptor, name, flags, Mode::from_raw_mode(0o644))?;
        File::from(descriptor).write_all(text.as_bytes())
    }

    /// Removes a file, if there is one.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.descriptor, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a complete file its name, in one step; returns the name. One that is taken is replaced, or gets a number.
    pub(super) fn publish(&self, part: &str, name: &str, overwrite: bool) -> io::Result<String> {
        let folder = &self.descriptor;
        if overwrite {
            renameat(folder, part, folder, name)?;
            return Ok(name.to_owned());
        }
        for number in 0..NAMES {
            let candidate = if number == 0 { name.to_owned() } else { numbered(name, number) };
            // Unlike a rename, a link never replaces.
            match linkat(folder, part, folder, &candidate, AtFlags::empty()) {
                Ok(()) => {
                    unlinkat(folder, part, AtFlags::empty())?;
                    return Ok(candidate);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }
}
