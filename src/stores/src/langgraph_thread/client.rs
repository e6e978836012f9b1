//! What the cache of threads needs of the code that uses it.

use std::sync::Mutex;

use antiphon_core::Fault;

use super::Serializer;
use crate::codec::{ByteReader, ByteWriter};
use crate::sealed_store::SealedStore;

/// The code that uses a cache of threads: its store, its values, and its errors.
pub trait CacheClient: Send + Sync {
    /// A value of a checkpoint. Clones are cheap, and are the same object.
    type Value: Clone + Send + Sync;
    /// What its code fails with.
    type Error: Send;

    /// The store of the threads.
    ///
    /// # Errors
    /// If it was closed.
    fn sealed_store(&self) -> Result<SealedStore, Self::Error>;

    /// A fault as the client's error.
    fn error(&self, fault: Fault) -> Self::Error;

    /// Accesses what a mutex protects. Values are encoded under it: a client whose values need
    /// another lock releases that lock here while it waits for this one, and holds both
    /// afterwards.
    fn with_lock<T, R>(&self, mutex: &Mutex<T>, access: impl FnOnce(&mut T) -> R) -> R;

    /// Runs code that decodes many values. A client whose values need a lock takes it here once.
    fn with_values<R>(&self, decode: impl FnOnce() -> R) -> R;

    /// What values are encoded with.
    fn serializer(&self) -> Serializer;

    /// Encodes a value. `name` is for the error if that cannot be done.
    ///
    /// # Errors
    /// Those of the client.
    fn encode(
        &self,
        name: &str,
        value: &Self::Value,
        out: &mut ByteWriter,
    ) -> Result<(), Self::Error>;

    /// Decodes values that follow one another to the end, with the number of bytes that are
    /// left after each.
    ///
    /// # Errors
    /// Those of the client.
    fn decode(
        &self,
        serializer: Serializer,
        from: ByteReader<'_>,
    ) -> Result<Vec<(Self::Value, usize)>, Self::Error>;

    /// The items of a value that is a list.
    fn items(&self, value: &Self::Value) -> Option<Vec<Self::Value>>;

    /// A list of these items.
    ///
    /// # Errors
    /// Those of the client.
    fn list(&self, items: &[Self::Value]) -> Result<Self::Value, Self::Error>;

    /// Equal for two values if they are the same object.
    fn identity(&self, value: &Self::Value) -> usize;
}
