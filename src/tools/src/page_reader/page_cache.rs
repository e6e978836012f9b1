//! The pages that were read last, so that a model reads on in the same text.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::stored_page::StoredPage;

/// The most bytes of all texts together; the last page is kept whatever its size.
const BYTES: usize = 32_000_000;

/// The last pages by the URL that was asked for.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    pages: Mutex<VecDeque<(String, Arc<StoredPage>)>>,
}

impl PageCache {
    /// The page that was last read at that URL.
    pub(super) fn get(&self, url: &str) -> Option<Arc<StoredPage>> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter().find(|(known, _)| known == url).map(|(_, page)| Arc::clone(page))
    }

    /// Keeps a page in place of an older one, and forgets the oldest ones.
    pub(super) fn put(&self, url: &str, page: &Arc<StoredPage>) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(known, _)| known != url);
        pages.push_back((url.to_owned(), Arc::clone(page)));
        let mut size: usize = pages.iter().map(|(_, page)| page.document.text.len()).sum();
        while size > BYTES && pages.len() > 1 {
            size -= pages.pop_front().map_or(0, |(_, page)| page.document.text.len());
        }
    }
}
