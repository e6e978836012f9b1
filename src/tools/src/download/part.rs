//! A file on its way.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use antiphon_core::{Fault, FaultCode};
use antiphon_net::{Url, without_secrets};
use ring::digest::{Context, SHA256};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::file_name::numbered;
use crate::files::{RelativePath, Root};
use crate::page_reader::{hexadecimal, text_id};

/// How many names are tried for a file whose name is taken.
const NAMES: usize = 1000;

/// The most bytes of a note.
const NOTE: u64 = 4096;

/// The beginning of a file, which nobody else writes to.
pub(super) struct OpenPart {
    root: Root,
    path: RelativePath,
    file: tokio::fs::File,
    /// How many bytes it has.
    pub(super) length: u64,
    /// How many of them an earlier transfer had left.
    pub(super) resumed_from: u64,
    /// What the server called the version that they are of.
    pub(super) validator: Option<String>,
    digest: Context,
}

impl OpenPart {
    /// What an earlier transfer of `url` has left, or nothing yet.
    pub(super) async fn open(root: Root, url: &Url, limit: u64) -> Result<Self, Fault> {
        let id = text_id(url.as_str());
        let path = RelativePath::parse(&format!(".antiphon-{}.part", id.get(..32).unwrap_or(&id)))?;
        let opening = {
            let (root, path) = (root.clone(), path.clone());
            tokio::task::spawn_blocking(move || open_and_read(&root, &path, limit))
        };
        let opened = opening.await.map_err(|error| storage_failed(&error.to_string()))?;
        let (file, length, validator, digest) = opened?.ok_or_else(|| {
            let place = without_secrets(url);
            let message = format!("the same file is being downloaded already: {place}");
            Fault::new(FaultCode::DownloadBusy, message).hint("wait until it is complete")
        })?;
        let file = tokio::fs::File::from_std(file);
        Ok(Self { root, path, file, length, resumed_from: length, validator, digest })
    }

    /// Begins anew, with another version of the file.
    pub(super) async fn reset(&mut self, validator: Option<String>) -> Result<(), Fault> {
        self.clear().await.map_err(|error| storage_failed(&error.to_string()))?;
        let note = validator.as_deref().unwrap_or_default();
        write_note(&self.root, &self.path, note).map_err(|fault| unstored(&fault))?;
        self.validator = validator;
        Ok(())
    }

    async fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0).await?;
        self.file.seek(SeekFrom::Start(0)).await?;
        (self.length, self.resumed_from) = (0, 0);
        self.digest = Context::new(&SHA256);
        Ok(())
    }

    pub(super) async fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece).await?;
        self.digest.update(piece);
        self.length += piece.len() as u64;
        Ok(())
    }

    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub(super) fn sha256(&self) -> String {
        hexadecimal(self.digest.clone().finish().as_ref())
    }

    /// Gives it its name; returns the name. One that is taken is replaced, or gets a number.
    pub(super) async fn publish(mut self, name: &str, overwrite: bool) -> Result<String, Fault> {
        let written = async {
            self.file.flush().await?;
            self.file.sync_all().await
        };
        written.await.map_err(|error| storage_failed(&error.to_string()))?;
        for number in 0..NAMES {
            let candidate = if number == 0 { name.to_owned() } else { numbered(name, number) };
            let path = RelativePath::parse(&candidate)?;
            match self.root.publish(&self.path, &path, overwrite) {
                Ok(()) => {
                    remove(&self.root, &note_of(&self.path))?;
                    return Ok(path.as_str().to_owned());
                }
                Err(fault) if fault.code == FaultCode::FileExists => {}
                Err(fault) => return Err(unstored(&fault)),
            }
        }
        Err(storage_failed(&format!("all of its names are taken: {name}")))
    }

    /// Leaves what is here for the next transfer; nothing if nothing has come.
    pub(super) async fn leave(mut self) {
        // A write that is under way would keep the lock of the file.
        let _ = self.file.flush().await;
        if self.length == 0 {
            self.remove();
        }
    }

    /// Removes it.
    pub(super) fn remove(self) {
        // A part that stays is continued or replaced by the next transfer.
        let _ = remove(&self.root, &self.path);
        let _ = remove(&self.root, &note_of(&self.path));
    }
}

/// The file with the validator of a part.
fn note_of(part: &RelativePath) -> RelativePath {
    RelativePath::default().join(&format!("{part}-of"))
}

/// The version that a part is of; empty if it is not known.
fn read_note(root: &Root, part: &RelativePath) -> String {
    let note = root.read(&note_of(part), NOTE).unwrap_or_default();
    String::from_utf8(note).unwrap_or_default()
}

fn write_note(root: &Root, part: &RelativePath, text: &str) -> Result<(), Fault> {
    let mut file = root.create(&note_of(part), NOTE)?;
    file.write(text.as_bytes())?;
    file.commit(true)
}

/// Removes a file, if there is one.
fn remove(root: &Root, path: &RelativePath) -> Result<(), Fault> {
    match root.remove_file(path) {
        Err(fault) if fault.code != FaultCode::FileMissing => Err(unstored(&fault)),
        _ => Ok(()),
    }
}

type FoundPart = (File, u64, Option<String>, Context);

/// `None` if somebody else writes to it.
fn open_and_read(root: &Root, path: &RelativePath, limit: u64) -> Result<Option<FoundPart>, Fault> {
    let Some(file) = root.open_exclusively(path).map_err(|fault| unstored(&fault))? else {
        return Ok(None);
    };
    let validator = read_note(root, path);
    let read = read_part(file, validator, limit);
    read.map(Some).map_err(|error| storage_failed(&error.to_string()))
}

fn read_part(mut file: File, validator: String, limit: u64) -> io::Result<FoundPart> {
    let mut digest = Context::new(&SHA256);
    // Of an unknown version, or too large already: it cannot be continued.
    if validator.is_empty() || file.metadata()?.len() > limit {
        file.set_len(0)?;
        return Ok((file, 0, None, digest));
    }
    let (mut length, mut buffer) = (0, vec![0; 64 * 1024]);
    loop {
        let read = file.read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        digest.update(piece);
        length += piece.len() as u64;
    }
    file.seek(SeekFrom::Start(length))?;
    Ok((file, length, Some(validator), digest))
}

/// The fault of the folder.
pub(super) fn storage_failed(cause: &str) -> Fault {
    let message = format!("the file could not be stored: {cause}");
    Fault::new(FaultCode::DownloadFailed, message)
}

/// A fault of the folder as one of the download.
fn unstored(fault: &Fault) -> Fault {
    storage_failed(&fault.message)
}
