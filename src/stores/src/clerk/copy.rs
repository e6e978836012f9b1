//! Copying the way to a checkpoint into a thread of its own.

use antiphon_core::{Category, Fault};
use antiphon_runtime::store::{Batch, Entry, Head, Mark, Span};

use super::{Clerk, unknown};
use crate::codec::damaged_chain;
use crate::keeper::is_checkpoint;
use crate::log::missing;

impl Clerk {
    /// Makes a thread of what leads to a checkpoint of another, or to where that
    /// has come to, with all that is kept of its past. Checkpoints keep their
    /// numbers; other branches are left out. Says where the copy has come to.
    ///
    /// The copy is of the same run: what it does again has the same keys.
    ///
    /// # Errors
    /// `thread_unknown` and `checkpoint_unknown` if there is nothing to copy,
    /// `thread_exists` if the name is taken, and those of reading and writing.
    pub async fn copy(
        &self,
        thread: &str,
        to: &str,
        checkpoint: Option<u64>,
    ) -> Result<u64, Fault> {
        let way = self.whole_way(thread, checkpoint).await?;
        let Some(tip) = way.last().map(|mark| mark.seq) else { return Err(unknown(thread)) };
        if self.store().head(to).await?.is_some_and(|head| head.last > 0) {
            return Err(taken(to));
        }
        let entries = self.sealed_for(thread, to, &way).await?;
        if self.claim(to).await? != Head::default() {
            self.release(to).await?;
            return Err(taken(to));
        }
        let batch = Batch { thread: to.to_owned(), owner: self.owner.clone(), after: 0, entries };
        let copied = self.store().append(batch).await;
        self.release(to).await?;
        if let Err(fault) = copied {
            // Only its name is there, and whoever has it by now keeps it.
            let _ = self.store().delete(to).await;
            return Err(fault);
        }
        Ok(tip)
    }

    /// What leads to a checkpoint from the first entry that is kept.
    async fn whole_way(&self, thread: &str, seq: Option<u64>) -> Result<Vec<Mark>, Fault> {
        let Some(head) = self.store().head(thread).await? else { return Err(unknown(thread)) };
        let marks = self.store().marks(thread, Span { from: 1, to: head.tip }, None).await?;
        let mut wanted = seq.unwrap_or(head.tip);
        if let Some(seq) = seq
            && !marks.iter().any(|mark| mark.seq == seq && is_checkpoint(mark.kind))
        {
            return Err(missing(thread, seq));
        }
        let mut way = Vec::new();
        for mark in marks.iter().rev() {
            if mark.seq == wanted {
                wanted = mark.parent;
                way.push(*mark);
            }
        }
        // What was pruned is missing before a snapshot, and nowhere else.
        let is_whole = way.last().is_none_or(|mark| mark.parent == 0 || mark.base == mark.seq);
        way.reverse();
        if is_whole { Ok(way) } else { Err(damaged_chain(thread, wanted)) }
    }

    /// The entries of a way, closed for another thread.
    async fn sealed_for(&self, thread: &str, to: &str, way: &[Mark]) -> Result<Vec<Entry>, Fault> {
        let (Some(first), Some(last)) = (way.first(), way.last()) else { return Ok(Vec::new()) };
        let span = Span { from: first.seq, to: last.seq };
        let mut wanted = way.iter().map(|mark| mark.seq).peekable();
        let mut entries = Vec::with_capacity(way.len());
        for entry in self.store().read(thread, span).await? {
            if wanted.next_if_eq(&entry.seq).is_some() {
                let parent = if entries.is_empty() { 0 } else { entry.parent };
                entries.push(self.vault.moved(thread, to, entry, parent)?);
            }
        }
        match wanted.next() {
            None => Ok(entries),
            Some(gone) => Err(damaged_chain(thread, gone)),
        }
    }
}

fn taken(thread: &str) -> Fault {
    Fault::new(
        Category::State,
        "thread_exists",
        format!("there is such a thread already: {thread}"),
    )
    .with("thread", thread)
    .hint("choose another name, or delete that thread first")
}
