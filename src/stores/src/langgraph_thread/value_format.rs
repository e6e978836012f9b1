//! The bytes of a value.
//!
//! The first byte says which serializer wrote the rest, and whether the rest is one value or the
//! items of a list, one after the other. So the bytes of a list are the beginning of those of a
//! longer one.

use super::CacheClient;
use crate::codec::{ByteReader, ByteWriter, corrupt};

/// What values are encoded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serializer {
    /// Antiphon's own codec.
    Own,
    /// A serializer that the caller has given.
    Foreign,
}

/// The items of a list that is stored, and where in its bytes each of them ends.
#[derive(Debug)]
pub(super) struct ListItems<V> {
    pub(super) items: Vec<V>,
    pub(super) ends: Vec<usize>,
    /// How many at the beginning and at the end were taken for unchanged when it was stored.
    pub(super) unchanged: (usize, usize),
}

/// Some items of a list as bytes.
pub(super) struct EncodedItems {
    pub(super) bytes: Vec<u8>,
    /// Where in them each item ends.
    pub(super) ends: Vec<usize>,
}

impl Serializer {
    const fn tag(self, is_list: bool) -> u64 {
        match (self, is_list) {
            (Self::Own, false) => 0,
            (Self::Own, true) => 1,
            (Self::Foreign, false) => 2,
            (Self::Foreign, true) => 3,
        }
    }

    const fn of_tag(tag: u64) -> Option<(Self, bool)> {
        match tag {
            0 => Some((Self::Own, false)),
            1 => Some((Self::Own, true)),
            2 => Some((Self::Foreign, false)),
            3 => Some((Self::Foreign, true)),
            _ => None,
        }
    }
}

impl<V> ListItems<V> {
    /// A list of which all items were encoded or decoded.
    pub(super) const fn new(items: Vec<V>, ends: Vec<usize>) -> Self {
        Self { items, ends, unchanged: (0, 0) }
    }

    /// The items that were taken for unchanged.
    pub(super) fn unchanged(&self) -> impl Iterator<Item = &V> {
        let (head, tail) = self.unchanged;
        self.items.iter().take(head).chain(self.items.iter().rev().take(tail))
    }

    /// Where the first `count` items end; the bytes begin with a tag.
    pub(super) fn end(&self, count: usize) -> usize {
        let last = count.checked_sub(1).and_then(|last| self.ends.get(last));
        last.copied().unwrap_or(1)
    }
}

/// Encodes a value that is not a list.
pub(super) fn encode_one<C: CacheClient>(
    client: &C,
    name: &str,
    value: &C::Value,
) -> Result<Vec<u8>, C::Error> {
    let mut out = ByteWriter::new();
    out.number(client.serializer().tag(false));
    client.encode(name, value, &mut out)?;
    Ok(out.into_bytes())
}

/// Encodes a list.
pub(super) fn encode_list<C: CacheClient>(
    client: &C,
    name: &str,
    items: &[C::Value],
) -> Result<EncodedItems, C::Error> {
    let mut out = ByteWriter::new();
    out.number(client.serializer().tag(true));
    encode_into(client, name, items, out)
}

/// Encodes items from within a list.
pub(super) fn encode_items<C: CacheClient>(
    client: &C,
    name: &str,
    items: &[C::Value],
) -> Result<EncodedItems, C::Error> {
    encode_into(client, name, items, ByteWriter::new())
}

fn encode_into<C: CacheClient>(
    client: &C,
    name: &str,
    items: &[C::Value],
    mut out: ByteWriter,
) -> Result<EncodedItems, C::Error> {
    let mut ends = Vec::with_capacity(items.len());
    for item in items {
        client.encode(name, item, &mut out)?;
        ends.push(out.size());
    }
    Ok(EncodedItems { bytes: out.into_bytes(), ends })
}

/// A value, and its items if it is a list.
type DecodedValue<V> = (V, Option<ListItems<V>>);

pub(super) fn decode<C: CacheClient>(
    client: &C,
    bytes: &[u8],
) -> Result<DecodedValue<C::Value>, C::Error> {
    let raised = |fault| client.error(fault);
    let mut from = ByteReader::new(bytes);
    let tag = from.number().map_err(raised)?;
    let Some((serializer, is_list)) = Serializer::of_tag(tag) else {
        return Err(raised(corrupt("a value in an unknown form")));
    };
    let (items, left): (Vec<_>, Vec<_>) = client.decode(serializer, from)?.into_iter().unzip();
    if is_list {
        let ends = left.into_iter().map(|left| bytes.len() - left).collect();
        return Ok((client.list(&items)?, Some(ListItems::new(items, ends))));
    }
    let [value] = <[_; 1]>::try_from(items)
        .map_err(|_| raised(corrupt("no value, or several, in place of one")))?;
    Ok((value, None))
}
