//! What the extension types of the format mean. A number, once given, is never
//! given to another type.

/// A whole number beyond 64 bits: two's complement, little end first.
pub(super) const INTEGER: i8 = 1;
/// A text with lone surrogates, as UTF-8 would write them.
pub(super) const SURROGATES: i8 = 2;
/// A tuple: its items.
pub(super) const TUPLE: i8 = 3;
/// A dict with other keys than texts: keys and values in turn.
pub(super) const DICT: i8 = 4;
/// A set: its items.
pub(super) const SET: i8 = 5;
/// A frozenset: its items.
pub(super) const FROZENSET: i8 = 6;
/// An object of a registered type: the type's name, and what its codec packed.
/// Numbers from 16 on are those of `antiphon._serialization.catalog`.
pub(super) const NAMED: i8 = 7;
/// What `pickle` made of an object; read and written only where the caller has asked for it.
pub(super) const PICKLE: i8 = 8;
