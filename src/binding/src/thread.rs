//! Threads and the stores that keep them.

pub(crate) mod admin;
pub(crate) mod begin;
pub(crate) mod given;
pub(crate) mod history;
pub(crate) mod kept;
pub(crate) mod orphans;
pub(crate) mod picture;
pub(crate) mod place;
pub(crate) mod saver;
pub(crate) mod shelves;
pub(crate) mod summary;
