//! The downloader: files of the web into a folder, bounded, checked and resumable.
//!
//! | module | holds |
//! |---|---|
//! | [`settings`] | limits, the folder, and what may be reached |
//! | [`file_name`] | names that stay in the folder |
//! | [`transfer`] | one file: requests, resuming, and its way into the folder |

pub mod file_name;
mod part;
pub mod settings;
mod tool;
pub mod transfer;

pub use file_name::safe_file_name;
pub use settings::DownloadSettings;
pub use tool::Download;
pub use transfer::{DownloadReport, Downloader};
