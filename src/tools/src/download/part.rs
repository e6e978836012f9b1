//! A file on its way.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::{Url, without_secrets};
use ring::digest::{Context, SHA256};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::folder::DownloadFolder;
use crate::page_reader::{hexadecimal, text_id};

/// The beginning of a file, which nobody else writes to.
pub(super) struct OpenPart {
    folder: Arc<DownloadFolder>,
    name: String,
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
    pub(super) async fn open(
        folder: Arc<DownloadFolder>,
        url: &Url,
        limit: u64,
    ) -> Result<Self, Fault> {
        let id = text_id(url.as_str());
        let name = format!(".antiphon-{}.part", id.get(..32).unwrap_or(&id));
        let opening = {
            let (folder, name) = (Arc::clone(&folder), name.clone());
            tokio::task::spawn_blocking(move || open_and_read(&folder, &name, limit))
        };
        let opened = opening.await.map_err(|error| storage_failed(&error.into()))?;
        let (file, length, validator, digest) =
            opened.map_err(|error| storage_failed(&error))?.ok_or_else(|| {
                let place = without_secrets(url);
                let message = format!("the same file is being downloaded already: {place}");
                Fault::new(FaultCode::DownloadBusy, message).hint("wait until it is complete")
            })?;
        let file = tokio::fs::File::from_std(file);
        Ok(Self { folder, name, file, length, resumed_from: length, validator, digest })
    }

    /// Begins anew, with another version of the file.
    pub(super) async fn reset(&mut self, validator: Option<String>) -> io::Result<()> {
        self.file.set_len(0).await?;
        self.file.seek(SeekFrom::Start(0)).await?;
        (self.length, self.resumed_from) = (0, 0);
        self.digest = Context::new(&SHA256);
        self.folder.write_note(&note_of(&self.name), validator.as_deref().unwrap_or_default())?;
        self.validator = validator;
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

    /// Gives it its name; returns the name.
    pub(super) async fn publish(mut self, name: &str, overwrite: bool) -> Result<String, Fault> {
        let stored = async {
            self.file.flush().await?;
            self.file.sync_all().await?;
            let name = self.folder.publish(&self.name, name, overwrite)?;
            self.folder.remove(&note_of(&self.name))?;
            Ok::<_, io::Error>(name)
        };
        stored.await.map_err(|error| storage_failed(&error))
    }

    /// Removes it.
    pub(super) fn remove(self) {
        // A part that stays is continued or replaced by the next transfer.
        let _ = self.folder.remove(&self.name);
        let _ = self.folder.remove(&note_of(&self.name));
    }
}

/// The file with the validator of a part.
fn note_of(part: &str) -> String {
    format!("{part}-of")
}

type FoundPart = (File, u64, Option<String>, Context);

/// `None` if somebody else writes to it.
fn open_and_read(folder: &DownloadFolder, name: &str, limit: u64) -> io::Result<Option<FoundPart>> {
    let Some(mut file) = folder.open_exclusively(name)? else { return Ok(None) };
    let validator = folder.read_note(&note_of(name));
    let mut digest = Context::new(&SHA256);
    // Of an unknown version, or too large already: it cannot be continued.
    if validator.is_empty() || file.metadata()?.len() > limit {
        file.set_len(0)?;
        return Ok(Some((file, 0, None, digest)));
    }
    let (mut length, mut buffer) = (0, vec![0; 64 * 1024]);
    loop {
        let read = file.read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        digest.update(piece);
        length += piece.len() as u64;
    }
    file.seek(SeekFrom::Start(length))?;
    Ok(Some((file, length, Some(validator), digest)))
}

/// The fault of the folder.
pub(super) fn storage_failed(error: &io::Error) -> Fault {
    let message = format!("the file could not be stored: {error}");
    Fault::new(FaultCode::DownloadFailed, message)
}
