//! Removes secrets from a text that arrives in pieces.

use super::{clean_text, with_known};

/// Removes known secrets from a text that arrives in pieces. What may be the beginning of a secret
/// is held back until the next piece has decided it, so that a secret in two pieces is found.
#[derive(Default)]
pub struct PieceRedactor {
    held: String,
}

impl PieceRedactor {
    /// What can be shown once `piece` has arrived; it may be empty.
    pub fn push(&mut self, piece: String) -> String {
        let mut text = std::mem::take(&mut self.held);
        if text.is_empty() {
            text = piece;
        } else {
            text.push_str(&piece);
        }
        let read = with_known(|known| {
            let (shown, end) = known.clean(&text, false);
            (shown.into_owned(), text.get(end..).unwrap_or_default().to_owned())
        });
        let Some((shown, held)) = read else { return text };
        self.held = held;
        shown
    }

    /// What was held back, once the text has ended.
    pub fn finish(&mut self) -> String {
        clean_text(&std::mem::take(&mut self.held)).into_owned()
    }
}

impl std::fmt::Debug for PieceRedactor {
    /// Without the text: it may be part of a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PieceRedactor").finish_non_exhaustive()
    }
}
