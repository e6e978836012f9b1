//! Search in a folder of documents.

mod folder;
mod queries;
mod reading;
mod settings;
mod tools;
mod updates;
