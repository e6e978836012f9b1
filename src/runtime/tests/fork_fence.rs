//! What a fork and native threads wait for. The forks themselves are in
//! `tests/graph/test_process_fork.py`.

#![cfg(test)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use antiphon_runtime::fork_fence::{FencedTask, ForkFence};

const LONG: Duration = Duration::from_mins(10);

/// Holds a guard on another thread from when this returns until the sender is used.
fn held_elsewhere(fence: &'static ForkFence) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
    let (started, begins) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let holder = thread::spawn(move || {
        let guard = fence.guard();
        started.send(()).unwrap();
        let _ = ends.recv();
        drop(guard);
    });
    begins.recv().unwrap();
    (end, holder)
}

#[test]
fn a_fork_waits_for_the_guard_of_another_thread() {
    static FENCE: ForkFence = ForkFence::new(LONG, LONG);
    static ENDED: AtomicBool = AtomicBool::new(false);

    let (started, begins) = mpsc::channel();
    let holder = thread::spawn(move || {
        let guard = FENCE.guard();
        started.send(()).unwrap();
        // Other threads run before it ends, so that a fork that does not wait is ahead of it.
        (0..1000).for_each(|_| thread::yield_now());
        ENDED.store(true, Ordering::SeqCst);
        drop(guard);
    });
    begins.recv().unwrap();
    assert!(FENCE.close());
    assert!(ENDED.load(Ordering::SeqCst));
    FENCE.open();
    holder.join().unwrap();
}

#[test]
fn a_fork_happens_although_a_guard_does_not_end() {
    static FENCE: ForkFence = ForkFence::new(Duration::from_millis(1), LONG);

    let (end, holder) = held_elsewhere(&FENCE);
    assert!(!FENCE.close());
    FENCE.open();
    end.send(()).unwrap();
    holder.join().unwrap();
    assert!(FENCE.close());
}

#[test]
fn a_guard_waits_for_a_fork_that_takes_long() {
    static FENCE: ForkFence = ForkFence::new(LONG, LONG);
    static FORKED: AtomicBool = AtomicBool::new(false);

    assert!(FENCE.close());
    let (started, starts) = mpsc::channel();
    let waiter = thread::spawn(move || {
        started.send(()).unwrap();
        let _guard = FENCE.guard();
        FORKED.load(Ordering::SeqCst)
    });
    starts.recv().unwrap();
    (0..1000).for_each(|_| thread::yield_now());
    FORKED.store(true, Ordering::SeqCst);
    FENCE.open();
    assert!(waiter.join().unwrap());
}

#[test]
fn a_guard_begins_although_a_fork_does_not_end() {
    static FENCE: ForkFence = ForkFence::new(LONG, Duration::from_millis(1));

    assert!(FENCE.close());
    let waiter = thread::spawn(|| drop(FENCE.guard()));
    waiter.join().unwrap();
    FENCE.open();
}

#[test]
fn guards_and_forks_of_one_thread_do_not_wait_for_each_other() {
    static FENCE: ForkFence = ForkFence::new(LONG, LONG);

    let outer = FENCE.guard();
    assert!(FENCE.close());
    let inner = FENCE.guard();
    FENCE.open();
    drop((outer, inner));
    assert!(FENCE.close());
}

#[test]
fn a_guard_waits_for_the_fork_that_follows_another() {
    static FENCE: ForkFence = ForkFence::new(LONG, LONG);
    static FORKING: AtomicBool = AtomicBool::new(false);

    // Both threads start again at once, so that the guard often ends its wait for one fork
    // when the next is announced.
    let guards = thread::spawn(|| {
        (0..20_000).all(|_| {
            let _guard = FENCE.guard();
            !FORKING.load(Ordering::SeqCst)
        })
    });
    while !guards.is_finished() {
        assert!(FENCE.close());
        FORKING.store(true, Ordering::SeqCst);
        FORKING.store(false, Ordering::SeqCst);
        FENCE.open();
    }
    assert!(guards.join().unwrap(), "a guard began during a fork");
}

#[test]
fn a_child_forgets_the_guards_of_threads_that_it_does_not_have() {
    static FENCE: ForkFence = ForkFence::new(LONG, LONG);

    let (end, holder) = held_elsewhere(&FENCE);
    FENCE.open_in_child();
    assert!(FENCE.close());
    FENCE.open();
    drop(FENCE.guard());
    drop(end);
    // Its guard ends in the parent only.
    drop(holder);
}

#[test]
fn a_task_is_polled_and_dropped_behind_the_fence() {
    static FENCE: ForkFence = ForkFence::new(Duration::ZERO, LONG);

    /// Whether another thread could fork now.
    fn can_fork() -> bool {
        let forked = thread::spawn(|| {
            let closed = FENCE.close();
            FENCE.open();
            closed
        });
        forked.join().unwrap()
    }

    struct SeenAtDrop(mpsc::Sender<bool>);

    impl Drop for SeenAtDrop {
        fn drop(&mut self) {
            self.0.send(can_fork()).unwrap();
        }
    }

    let (sender, seen) = mpsc::channel();
    let dropped = SeenAtDrop(sender.clone());
    let mut task = Box::pin(FencedTask::new(&FENCE, async move {
        let _dropped = dropped;
        sender.send(can_fork()).unwrap();
        std::future::pending::<()>().await;
    }));
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(task.as_mut().poll(&mut cx), Poll::Pending);
    assert!(can_fork());
    drop(task);
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [false, false]);
    assert!(can_fork());
}
