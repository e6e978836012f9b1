//! A queue between a run and one reader, who may be slow.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use antiphon_core::event::{Event, EventKind, Level};
use serde_json::Map;

use super::Watcher;

/// A feed for [`crate::native::Driver::watch`] and the reader's end of it.
/// Once `capacity` events wait (at least 1), pieces of replies are left out
/// and counted; all other events are kept beyond that, so that only
/// pieces are ever lost.
pub fn subscribe(capacity: usize) -> (Arc<Feed>, Subscription) {
    let queue = Arc::new(Mutex::new(FeedQueue::default()));
    let feed = Feed { queue: Arc::clone(&queue), capacity: capacity.max(1) };
    (Arc::new(feed), Subscription { queue })
}

/// The run's end of a queue; the reader sees the end once it is dropped.
#[derive(Debug)]
pub struct Feed {
    queue: Arc<Mutex<FeedQueue>>,
    capacity: usize,
}

impl Watcher for Feed {
    fn see(&self, event: &Arc<Event>) {
        let mut queue = lock(&self.queue);
        if queue.unread {
            return;
        }
        if event.kind.is_droppable() && queue.events.len() >= self.capacity {
            queue.miss(event);
            return;
        }
        let marker = queue.take_marker();
        queue.events.extend(marker);
        queue.events.push_back(Arc::clone(event));
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The reader's end of a queue.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Mutex<FeedQueue>>,
}

impl Subscription {
    /// The next event; none once the feed is gone and everything is read.
    /// Where pieces were left out stands a `Dropped` event with their `count`
    /// and the number of the last of them.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`Subscription::next`], for those who poll.
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Arc<Event>>> {
        let mut queue = lock(&self.queue);
        if let Some(event) = queue.pop() {
            return Poll::Ready(Some(event));
        }
        if queue.closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The next event if there is one now.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        lock(&self.queue).pop()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut queue = lock(&self.queue);
        queue.unread = true;
        queue.events.clear();
    }
}

#[derive(Debug, Default)]
struct FeedQueue {
    events: VecDeque<Arc<Event>>,
    /// The last event that was left out, and how many since the last marker.
    missed: Option<(Arc<Event>, u64)>,
    waker: Option<Waker>,
    closed: bool,
    /// The reader has gone.
    unread: bool,
}

impl FeedQueue {
    fn miss(&mut self, event: &Arc<Event>) {
        let before = self.missed.take().map_or(0, |(_, count)| count);
        self.missed = Some((Arc::clone(event), before + 1));
    }

    fn pop(&mut self) -> Option<Arc<Event>> {
        self.events.pop_front().or_else(|| self.take_marker())
    }

    fn take_marker(&mut self) -> Option<Arc<Event>> {
        let (last, count) = self.missed.take()?;
        Some(Arc::new(Event {
            seq: last.seq,
            at: last.at,
            path: Vec::new(),
            kind: EventKind::Dropped,
            name: "".into(),
            data: Map::from_iter([("count".to_owned(), count.into())]).into(),
            level: Level::Warning,
            span_id: last.span_id.clone(),
            parent_span_id: None,
        }))
    }
}

fn lock(queue: &Mutex<FeedQueue>) -> MutexGuard<'_, FeedQueue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
