//! The downloader against a real server on loopback, and its file names alone.

mod file_name;
mod transfer;
