//! ZIP archives of unknown origin: nothing is unpacked beyond a limit, whatever their directory claims.

use std::io::{self, Cursor, Read};

use zip::ZipArchive;

use super::read::DocumentRefusal;

/// An archive in memory.
pub(super) struct BoundedArchive<'b> {
    inner: ZipArchive<Cursor<&'b [u8]>>,
    /// How many bytes may still be unpacked.
    left: u64,
}

impl<'b> BoundedArchive<'b> {
    /// Opens an archive of which at most `limit` bytes are unpacked.
    pub(super) fn open(bytes: &'b [u8], limit: u64) -> Result<Self, DocumentRefusal> {
        let inner = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
        Ok(Self { inner, left: limit })
    }

    /// The names of the files in it.
    pub(super) fn names(&self) -> Vec<String> {
        self.inner.file_names().filter_map(Result::ok).map(std::borrow::Cow::into_owned).collect()
    }

    /// A file as text; `None` if there is none of that name.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, DocumentRefusal> {
        let Ok(file) = self.inner.by_name(name) else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(self.left + 1).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
        self.spend(bytes.len() as u64)?;
        Ok(Some(super::decode(&bytes, None).text))
    }

    /// Unpacks all files and drops their bytes, for readers that would unpack without a limit.
    pub(super) fn measure(mut self) -> Result<(), DocumentRefusal> {
        for name in self.names() {
            let Ok(file) = self.inner.by_name(&name) else { continue };
            let size = io::copy(&mut file.take(self.left + 1), &mut io::sink());
            self.spend(size.map_err(|error| broken(&error))?)?;
        }
        Ok(())
    }

    fn spend(&mut self, bytes: u64) -> Result<(), DocumentRefusal> {
        self.left = self.left.checked_sub(bytes).ok_or(DocumentRefusal::UnpacksTooLarge)?;
        Ok(())
    }
}

/// A file that is not what its name says.
pub(super) fn broken(error: &dyn std::fmt::Display) -> DocumentRefusal {
    DocumentRefusal::Malformed(error.to_string())
}
