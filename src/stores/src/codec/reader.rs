//! A `MessagePack` reader that trusts no length: it allocates only as bytes arrive.

use antiphon_core::Fault;
use rmp::Marker;

use super::{FORMATS, corrupt};

/// What a length may claim before there is anything to show for it.
const ROOM: usize = 1024;

/// Bytes on their way to becoming values.
#[derive(Debug)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
    depth: usize,
}

/// One item; what is inside an array or map follows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// Nothing.
    Nil,
    /// True or false.
    Flag(bool),
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A negative whole number.
    Signed(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// So many items follow.
    Array(usize),
    /// So many keys and values follow.
    Map(usize),
    /// Bytes of a separate type.
    Extension(i8, &'a [u8]),
}

impl<'a> ByteReader<'a> {
    /// Values may be inside one another so deeply.
    pub const DEPTH: usize = 200;

    /// Reads `bytes` from their beginning.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, depth: 0 }
    }

    /// The next item.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if there is none.
    pub fn item(&mut self) -> Result<Item<'a>, Fault> {
        let marker = Marker::from_u8(self.byte()?);
        Ok(match marker {
            Marker::Null => Item::Nil,
            Marker::True => Item::Flag(true),
            Marker::False => Item::Flag(false),
            Marker::FixPos(value) => Item::Unsigned(value.into()),
            Marker::U8 | Marker::U16 | Marker::U32 | Marker::U64 => {
                Item::Unsigned(self.unsigned(width(marker))?)
            }
            Marker::FixNeg(value) => Item::Signed(value.into()),
            Marker::I8 => Item::Signed(i8::from_be_bytes(self.fixed()?).into()),
            Marker::I16 => Item::Signed(i16::from_be_bytes(self.fixed()?).into()),
            Marker::I32 => Item::Signed(i32::from_be_bytes(self.fixed()?).into()),
            Marker::I64 => Item::Signed(i64::from_be_bytes(self.fixed()?)),
            Marker::F32 => Item::Float(f32::from_be_bytes(self.fixed()?).into()),
            Marker::F64 => Item::Float(f64::from_be_bytes(self.fixed()?)),
            Marker::FixStr(length) => Item::Text(self.characters(length.into())?),
            Marker::Str8 | Marker::Str16 | Marker::Str32 => {
                let length = self.length(width(marker))?;
                Item::Text(self.characters(length)?)
            }
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
                let length = self.length(width(marker))?;
                Item::Bytes(self.take(length)?)
            }
            Marker::FixArray(length) => Item::Array(length.into()),
            Marker::Array16 | Marker::Array32 => Item::Array(self.length(width(marker))?),
            Marker::FixMap(length) => Item::Map(length.into()),
            Marker::Map16 | Marker::Map32 => Item::Map(self.length(width(marker))?),
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            Marker::Ext8 | Marker::Ext16 | Marker::Ext32 => {
                let length = self.length(width(marker))?;
                self.extension(length)?
            }
            Marker::Reserved => return Err(corrupt("an unknown marker")),
        })
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the next item is something else; so for the others.
    pub fn number(&mut self) -> Result<u64, Fault> {
        match self.item()? {
            Item::Unsigned(value) => Ok(value),
            other => Err(unexpected("a number", &other)),
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// As [`ByteReader::number`].
    pub fn flag(&mut self) -> Result<bool, Fault> {
        match self.item()? {
            Item::Flag(value) => Ok(value),
            other => Err(unexpected("true or false", &other)),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// As [`ByteReader::number`].
    pub fn text(&mut self) -> Result<&'a str, Fault> {
        match self.item()? {
            Item::Text(value) => Ok(value),
            other => Err(unexpected("a text", &other)),
        }
    }

    /// Bytes.
    ///
    /// # Errors
    /// As [`ByteReader::number`].
    pub fn blob(&mut self) -> Result<&'a [u8], Fault> {
        match self.item()? {
            Item::Bytes(value) => Ok(value),
            other => Err(unexpected("bytes", &other)),
        }
    }

    /// The length of an array.
    ///
    /// # Errors
    /// As [`ByteReader::number`].
    pub fn array(&mut self) -> Result<usize, Fault> {
        match self.item()? {
            Item::Array(length) => Ok(length),
            other => Err(unexpected("a list", &other)),
        }
    }

    /// An array, item by item.
    ///
    /// # Errors
    /// As [`ByteReader::number`], and those of `read`.
    pub fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let length = self.array()?;
        let mut items = self.room(length);
        for _ in 0..length {
            items.push(read(self)?);
        }
        Ok(items)
    }

    /// The items of a list that `read` gives, without those that are missing from the graph.
    pub(super) fn present<T>(
        &mut self,
        read: impl FnMut(&mut Self) -> Result<Option<T>, Fault>,
    ) -> Result<Vec<T>, Fault> {
        Ok(self.list(read)?.into_iter().flatten().collect())
    }

    /// What `read` makes of the next item, unless that is nothing.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        if self.rest.first() == Some(&Marker::Null.to_u8()) {
            self.byte()?;
            return Ok(None);
        }
        read(self).map(Some)
    }

    /// Room for so many items, as far as there are bytes for them; not for many
    /// at once, because each list in a list may claim all bytes for itself.
    pub fn room<T>(&self, length: usize) -> Vec<T> {
        Vec::with_capacity(length.min(self.rest.len()).min(ROOM))
    }

    /// Reads what is inside something.
    ///
    /// # Errors
    /// Those of `read`, and `checkpoint_corrupt` if it is too deep.
    pub fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.depth >= Self::DEPTH {
            return Err(corrupt("values are nested too deeply"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Reads what is inside the bytes of an [extension](Item::Extension), to
    /// their end.
    ///
    /// # Errors
    /// As [`ByteReader::deeper`], and `checkpoint_corrupt` if `read` leaves bytes over.
    pub fn inside<T>(
        &self,
        bytes: &'a [u8],
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        Self { rest: bytes, depth: self.depth }.deeper(|inside| {
            let value = read(inside)?;
            inside.expect_end()?;
            Ok(value)
        })
    }

    /// The bytes of the next item with all that is inside it, unread.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if there is none.
    pub fn raw(&mut self) -> Result<&'a [u8], Fault> {
        let start = self.rest;
        let mut open = 1_usize;
        while open > 0 {
            let inside = match self.item()? {
                Item::Array(length) => length,
                Item::Map(length) => length.saturating_mul(2),
                _ => 0,
            };
            open = (open - 1).saturating_add(inside);
        }
        start.get(..start.len() - self.rest.len()).ok_or_else(cut)
    }

    /// How many bytes nothing has read yet.
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Whether everything was read.
    pub const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn expect_array(&mut self, length: usize) -> Result<(), Fault> {
        match self.array()? {
            found if found == length => Ok(()),
            found => Err(corrupt(&format!("found a list of {found} items, expected {length}"))),
        }
    }

    pub(super) fn expect_version(&mut self) -> Result<(), Fault> {
        match self.number()? {
            format if FORMATS.contains(&format) => Ok(()),
            other => Err(super::version(other)),
        }
    }

    /// Refuses bytes that nothing has read.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if there are any.
    pub fn expect_end(&self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(corrupt("trailing bytes")) }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(cut)?;
        self.rest = rest;
        Ok(*head)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        self.rest = rest;
        Ok(head)
    }

    fn unsigned(&mut self, width: usize) -> Result<u64, Fault> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, width: usize) -> Result<usize, Fault> {
        usize::try_from(self.unsigned(width)?).map_err(|_| cut())
    }

    fn characters(&mut self, length: usize) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.take(length)?).map_err(|_| corrupt("a text that is not UTF-8"))
    }

    fn extension(&mut self, length: usize) -> Result<Item<'a>, Fault> {
        let kind = i8::from_be_bytes(self.fixed()?);
        Ok(Item::Extension(kind, self.take(length)?))
    }
}

/// How many bytes of a number or length follow a marker.
const fn width(marker: Marker) -> usize {
    match marker {
        Marker::U8 | Marker::Str8 | Marker::Bin8 | Marker::Ext8 => 1,
        Marker::U16
        | Marker::Str16
        | Marker::Bin16
        | Marker::Array16
        | Marker::Map16
        | Marker::Ext16 => 2,
        Marker::U64 => 8,
        _ => 4,
    }
}

fn cut() -> Fault {
    corrupt("it ends too early")
}

fn unexpected(wanted: &str, found: &Item<'_>) -> Fault {
    let found = match found {
        Item::Nil => "nothing",
        Item::Flag(_) => "true or false",
        Item::Unsigned(_) | Item::Signed(_) | Item::Float(_) => "a number",
        Item::Text(_) => "a text",
        Item::Bytes(_) | Item::Extension(..) => "bytes",
        Item::Array(_) => "a list",
        Item::Map(_) => "an object",
    };
    corrupt(&format!("found {found}, expected {wanted}"))
}
