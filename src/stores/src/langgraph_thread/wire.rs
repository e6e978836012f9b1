//! The encoding of entries.

use std::sync::Arc;

use antiphon_core::Fault;

use super::TaskWrite;
use super::values::{VersionDelta, VersionPiece};
use crate::codec::reader::Item;
use crate::codec::{ByteReader, ByteWriter, corrupt, version};

/// The first byte of every entry.
const VERSION: u64 = 1;

/// A checkpoint as a difference from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckpointDiff {
    pub(super) space: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) run: Option<String>,
    /// The checkpoint that it is a difference from.
    pub(super) base: Option<String>,
    pub(super) head: VersionDelta,
    pub(super) changed: Vec<(String, VersionDelta)>,
    /// The names of values that the base has and this checkpoint does not.
    pub(super) gone: Vec<String>,
}

/// The writes of tasks at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskWrites {
    pub(super) space: String,
    pub(super) id: String,
    pub(super) writes: Vec<TaskWrite>,
}

/// Everything that is needed to load a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadSnapshot {
    pub(super) marks: Vec<CheckpointLocation>,
    pub(super) records: Vec<StoredCheckpoint>,
    pub(super) wrote: Vec<TaskWrites>,
}

/// The location of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckpointLocation {
    pub(super) space: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) run: Option<String>,
    pub(super) seq: u64,
    pub(super) wrote: Vec<u64>,
}

/// A checkpoint with all its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredCheckpoint {
    pub(super) space: String,
    pub(super) id: String,
    pub(super) head: Vec<u8>,
    pub(super) values: Vec<(String, Vec<u8>)>,
}

impl CheckpointDiff {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = start_entry();
        out.text(&self.space);
        for id in [Some(&self.id), self.parent.as_ref(), self.run.as_ref(), self.base.as_ref()] {
            out.optional(id, |out, id| write_id(out, id));
        }
        write_delta(&mut out, &self.head);
        out.list(&self.changed, |out, (name, delta)| {
            out.text(name);
            write_delta(out, delta);
        });
        out.list(&self.gone, |out, name| out.text(name));
        out.into_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut from = open_entry(bytes)?;
        let put = Self {
            space: from.text()?.to_owned(),
            id: read_id(&mut from)?,
            parent: from.optional(read_id)?,
            run: from.optional(read_id)?,
            base: from.optional(read_id)?,
            head: read_delta(&mut from)?,
            changed: from.list(|from| Ok((from.text()?.to_owned(), read_delta(from)?)))?,
            gone: from.list(|from| from.text().map(str::to_owned))?,
        };
        from.expect_end()?;
        Ok(put)
    }
}

impl TaskWrites {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = start_entry();
        self.write(&mut out);
        out.into_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut from = open_entry(bytes)?;
        let wrote = Self::read(&mut from)?;
        from.expect_end()?;
        Ok(wrote)
    }

    fn write(&self, out: &mut ByteWriter) {
        out.text(&self.space);
        write_id(out, &self.id);
        out.array(self.writes.len());
        let mut before: Option<&TaskWrite> = None;
        for write in &self.writes {
            // The writes of a task are adjacent, so that its id is stored once.
            let is_same = |last: &TaskWrite| last.task == write.task && last.path == write.path;
            let is_known = before.is_some_and(is_same);
            out.flag(is_known);
            if !is_known {
                write_id(out, &write.task);
                out.text(&write.path);
            }
            out.signed(write.place);
            out.text(&write.channel);
            out.bytes(&write.value);
            before = Some(write);
        }
    }

    fn read(from: &mut ByteReader<'_>) -> Result<Self, Fault> {
        let (space, id) = (from.text()?.to_owned(), read_id(from)?);
        let mut before: Option<(String, String)> = None;
        let writes = from.list(|from| {
            let (task, path) = if from.flag()? {
                before.clone().ok_or_else(|| corrupt("a write of no task"))?
            } else {
                (read_id(from)?, from.text()?.to_owned())
            };
            before = Some((task.clone(), path.clone()));
            let place = read_signed(from)?;
            let (channel, value) = (from.text()?.to_owned(), Arc::from(from.blob()?));
            Ok(TaskWrite { task, path, place, channel, value })
        })?;
        Ok(Self { space, id, writes })
    }
}

impl ThreadSnapshot {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = start_entry();
        out.list(&self.marks, |out, mark| {
            out.text(&mark.space);
            write_id(out, &mark.id);
            out.optional(mark.parent.as_ref(), |out, id| write_id(out, id));
            out.optional(mark.run.as_ref(), |out, id| write_id(out, id));
            out.number(mark.seq);
            out.list(&mark.wrote, |out, seq| out.number(*seq));
        });
        out.list(&self.records, |out, checkpoint| {
            out.text(&checkpoint.space);
            write_id(out, &checkpoint.id);
            out.bytes(&checkpoint.head);
            out.list(&checkpoint.values, |out, (name, bytes)| {
                out.text(name);
                out.bytes(bytes);
            });
        });
        out.list(&self.wrote, |out, wrote| wrote.write(out));
        out.into_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut from = open_entry(bytes)?;
        let whole = Self {
            marks: from.list(read_mark)?,
            records: from.list(read_checkpoint)?,
            wrote: from.list(TaskWrites::read)?,
        };
        from.expect_end()?;
        Ok(whole)
    }
}

fn read_mark(from: &mut ByteReader<'_>) -> Result<CheckpointLocation, Fault> {
    Ok(CheckpointLocation {
        space: from.text()?.to_owned(),
        id: read_id(from)?,
        parent: from.optional(read_id)?,
        run: from.optional(read_id)?,
        seq: from.number()?,
        wrote: from.list(ByteReader::number)?,
    })
}

fn read_checkpoint(from: &mut ByteReader<'_>) -> Result<StoredCheckpoint, Fault> {
    Ok(StoredCheckpoint {
        space: from.text()?.to_owned(),
        id: read_id(from)?,
        head: from.blob()?.to_vec(),
        values: from.list(|from| Ok((from.text()?.to_owned(), from.blob()?.to_vec())))?,
    })
}

fn start_entry() -> ByteWriter {
    let mut out = ByteWriter::new();
    out.number(VERSION);
    out
}

fn open_entry(bytes: &[u8]) -> Result<ByteReader<'_>, Fault> {
    let mut from = ByteReader::new(bytes);
    match from.number()? {
        VERSION => Ok(from),
        later => Err(version(later)),
    }
}

/// A whole value is bytes. Pieces are a list: new bytes; offset and length; or a list of index,
/// offset and length of a write.
fn write_delta(out: &mut ByteWriter, delta: &VersionDelta) {
    let pieces = match delta {
        VersionDelta::Whole(bytes) => return out.bytes(bytes),
        VersionDelta::Pieces(pieces) => pieces,
    };
    out.list(pieces, |out, piece| match piece {
        VersionPiece::New(bytes) => out.bytes(bytes),
        VersionPiece::Base { from, length } => {
            out.number(*from as u64);
            out.number(*length as u64);
        }
        VersionPiece::Written { nth, from, length } => {
            out.array(3);
            for number in [nth, from, length] {
                out.number(*number as u64);
            }
        }
    });
}

fn read_delta(from: &mut ByteReader<'_>) -> Result<VersionDelta, Fault> {
    match from.item()? {
        Item::Bytes(bytes) => Ok(VersionDelta::Whole(bytes.to_vec())),
        Item::Array(length) => {
            let mut pieces = from.room(length);
            for _ in 0..length {
                pieces.push(read_piece(from)?);
            }
            Ok(VersionDelta::Pieces(pieces))
        }
        _ => Err(corrupt("neither a value nor its pieces")),
    }
}

fn read_piece(from: &mut ByteReader<'_>) -> Result<VersionPiece, Fault> {
    Ok(match from.item()? {
        Item::Bytes(bytes) => VersionPiece::New(bytes.to_vec()),
        Item::Unsigned(place) => {
            VersionPiece::Base { from: size(place)?, length: read_size(from)? }
        }
        Item::Array(3) => VersionPiece::Written {
            nth: read_size(from)?,
            from: read_size(from)?,
            length: read_size(from)?,
        },
        _ => return Err(corrupt("a piece of no kind")),
    })
}

/// Most ids are UUIDs, which are shorter as bytes than as text.
fn write_id(out: &mut ByteWriter, id: &str) {
    match packed(id) {
        Some(bytes) => out.bytes(&bytes),
        None => out.text(id),
    }
}

fn read_id(from: &mut ByteReader<'_>) -> Result<String, Fault> {
    match from.item()? {
        Item::Text(id) => Ok(id.to_owned()),
        Item::Bytes(bytes) if bytes.len() == 16 => Ok(unpacked(bytes)),
        _ => Err(corrupt("an id of no kind")),
    }
}

/// The positions of hyphens in the text of a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

fn packed(id: &str) -> Option<[u8; 16]> {
    let is_shaped = id.len() == 36
        && id.bytes().enumerate().all(|(place, byte)| match byte {
            b'-' => HYPHENS.contains(&place),
            b'0'..=b'9' | b'a'..=b'f' => !HYPHENS.contains(&place),
            _ => false,
        });
    let digits: String = id.chars().filter(|letter| *letter != '-').collect();
    let number = is_shaped.then(|| u128::from_str_radix(&digits, 16).ok()).flatten()?;
    Some(number.to_be_bytes())
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for byte in bytes {
        if HYPHENS.contains(&text.len()) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    text
}

fn read_signed(from: &mut ByteReader<'_>) -> Result<i64, Fault> {
    match from.item()? {
        Item::Signed(number) => Ok(number),
        Item::Unsigned(number) => i64::try_from(number).map_err(|_| too_large()),
        _ => Err(corrupt("something else where a number belongs")),
    }
}

fn read_size(from: &mut ByteReader<'_>) -> Result<usize, Fault> {
    size(from.number()?)
}

fn size(number: u64) -> Result<usize, Fault> {
    usize::try_from(number).map_err(|_| too_large())
}

fn too_large() -> Fault {
    corrupt("a number that is too large")
}
