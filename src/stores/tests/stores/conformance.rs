//! What every store does, held against each of them: Postgres as a real server
//! (`make test-rust` starts one).

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, ThreadHead,
};
use antiphon_stores::{MemoryStore, PostgresStore, SqliteSettings, SqliteStore};
use tempfile::TempDir;

use crate::database::Schema;
use crate::past_questions;

/// A store under test, and what keeps it alive.
struct Subject {
    store: Arc<dyn Store>,
    clock: Clock,
    _folder: Option<TempDir>,
}

/// What a store lives by.
enum Clock {
    Manual(Arc<ManualClock>),
    /// It cannot be set: what was written becomes older instead.
    Database(Schema),
}

impl Clock {
    async fn advance(&self, time: Duration) {
        match self {
            Self::Manual(clock) => clock.advance(time),
            Self::Database(schema) => schema.grow_older(time).await,
        }
    }

    /// Whether so much time lies between two instants, and as much as a test itself takes.
    fn is_between(&self, from: Time, time: Duration, to: Time) -> bool {
        let slack = match self {
            Self::Manual(_) => Duration::ZERO,
            Self::Database(_) => Duration::from_secs(20),
        };
        (from + time..=from + time + slack).contains(&to)
    }
}

const TERM: Duration = Duration::from_secs(30);

fn memory() -> Subject {
    let clock = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    Subject { store, clock: Clock::Manual(clock), _folder: None }
}

fn sqlite() -> Subject {
    let clock = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let store =
        Arc::new(SqliteStore::open(&path, SqliteSettings::default(), clock.clone()).unwrap());
    Subject { store, clock: Clock::Manual(clock), _folder: Some(folder) }
}

fn postgres() -> Subject {
    let schema = Schema::new();
    let store = Arc::new(PostgresStore::connect(&schema.url(), &schema.settings()).unwrap());
    Subject { store, clock: Clock::Database(schema), _folder: None }
}

/// Runs each test against each store.
macro_rules! each_store {
    ($($test:ident)*) => {
        mod in_memory {
            $(#[tokio::test] async fn $test() { super::$test(super::memory()).await })*
        }
        mod in_sqlite {
            $(#[tokio::test] async fn $test() { super::$test(super::sqlite()).await })*
        }
        mod in_postgres {
            $(#[tokio::test] async fn $test() { super::$test(super::postgres()).await })*
        }
    };
}

each_store! {
    what_is_appended_is_read_back_in_order
    a_thread_begins_with_its_first_claim
    another_owner_waits_until_the_term_is_over
    a_writer_that_lost_a_thread_writes_nothing
    two_that_hold_the_same_head_do_not_both_write
    what_follows_a_batch_that_was_not_added_is_not_added_either
    what_follows_an_entry_does_not_follow_another_of_its_number
    a_batch_is_added_whole_or_not_at_all
    a_branch_follows_an_earlier_entry
    threads_are_listed_by_name_in_pages
    threads_are_listed_by_when_they_were_written_to
    marks_are_entries_without_what_is_in_them
    the_holder_of_a_thread_removes_entries
    numbers_may_be_left_out
    claiming_is_not_writing
    a_thread_to_which_nothing_was_added_ends_with_its_release
    a_store_is_compacted_and_holds_the_same
    a_deleted_thread_is_gone_and_begins_anew
    a_thread_that_is_held_is_not_deleted
    what_protects_entries_is_replaced_and_nothing_else
    a_store_says_how_it_is_protected
    names_and_bytes_of_any_kind_are_read_unchanged
    what_is_asked_for_later_sees_what_was_asked_for_earlier
    many_threads_are_written_at_once
    past_questions_are_those_of_the_run_that_continued
}

fn entry(seq: u64, body: &[u8]) -> Entry {
    let at = Time::from_micros(seq);
    let kind = EntryKind::Step;
    let (tag, body) = (EntryTag::new(&seq.to_be_bytes()), body.to_vec());
    Entry { seq, parent: seq - 1, base: 0, kind, step: seq, at, tag, body }
}

fn batch(thread: &str, owner: &str, after: u64, entries: Vec<Entry>) -> EntryBatch {
    let tag = tag(entries.last().map_or(after, |entry| entry.seq));
    EntryBatch { thread: thread.into(), owner: owner.into(), after, expected: None, entries, tag }
}

/// Those of threads are short.
fn tag(last: u64) -> EntryTag {
    EntryTag::new(&[last.to_be_bytes(), last.to_be_bytes()].concat())
}

fn head(last: u64) -> ThreadHead {
    ThreadHead { last, stored: last, tag: tag(last) }
}

const ALL: EntryRange = EntryRange { from: 0, to: u64::MAX };

async fn what_is_appended_is_read_back_in_order(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    let mut entries: Vec<_> = (1..=5).map(|seq| entry(seq, &seq.to_be_bytes())).collect();
    entries[2].kind = EntryKind::Snapshot;
    entries[2].base = 3;
    store.append(batch("t", "me", 0, entries[..2].to_vec())).await.unwrap();
    store.append(batch("t", "me", 2, entries[2..].to_vec())).await.unwrap();
    assert_eq!(store.read("t", ALL).await.unwrap(), entries);
    assert_eq!(store.read("t", EntryRange { from: 2, to: 4 }).await.unwrap(), entries[1..4]);
    assert_eq!(store.find("t", 3).await.unwrap(), Some(entries[2].clone()));
    assert_eq!(store.find("t", 9).await.unwrap(), None);
    assert_eq!(store.head("t").await.unwrap(), Some(head(5)));
}

async fn a_thread_begins_with_its_first_claim(Subject { store, .. }: Subject) {
    assert_eq!(store.head("t").await.unwrap(), None);
    assert_eq!(store.read("t", ALL).await.unwrap(), []);
    let conflict = store.append(batch("t", "me", 0, vec![entry(1, b"")])).await.unwrap_err();
    assert_eq!(conflict.code, "thread_conflict");
    assert_eq!(store.claim("t", "me", TERM).await.unwrap(), ThreadHead::default());
    assert_eq!(store.head("t").await.unwrap(), Some(ThreadHead::default()));
}

async fn another_owner_waits_until_the_term_is_over(Subject { store, clock, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    let busy = store.claim("t", "you", TERM).await.unwrap_err();
    assert_eq!((busy.code.as_str(), busy.details["thread"].as_str()), ("thread_busy", Some("t")));
    clock.advance(TERM / 2).await;
    store.claim("t", "me", TERM).await.unwrap();
    clock.advance(TERM / 2).await;
    assert!(store.claim("t", "you", TERM).await.is_err(), "the claim was renewed");
    clock.advance(TERM / 2).await;
    store.claim("t", "you", TERM).await.unwrap();
    store.release("t", "me").await.unwrap();
    assert!(store.claim("t", "me", TERM).await.is_err(), "only its owner lets go");
    store.release("t", "you").await.unwrap();
    store.claim("t", "me", TERM).await.unwrap();
}

async fn a_writer_that_lost_a_thread_writes_nothing(Subject { store, clock, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    clock.advance(TERM).await;
    store.claim("t", "you", TERM).await.unwrap();
    let lost = store.append(batch("t", "me", 0, vec![entry(1, b"mine")])).await.unwrap_err();
    assert_eq!(lost.code, "thread_conflict");
    assert_eq!(store.read("t", ALL).await.unwrap(), []);
}

async fn two_that_hold_the_same_head_do_not_both_write(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch("t", "me", 0, vec![entry(1, b"one")])).await.unwrap();
    let late = store.append(batch("t", "me", 0, vec![entry(1, b"other")])).await.unwrap_err();
    assert_eq!(late.code, "thread_conflict");
    assert_eq!(store.find("t", 1).await.unwrap().unwrap().body, b"one");
}

/// An entry of one of those who share a name.
fn entry_of(who: &str, seq: u64) -> Entry {
    Entry { tag: EntryTag::new(format!("{who} {seq}").as_bytes()), ..entry(seq, who.as_bytes()) }
}

/// A batch of one of several writers of the same name: it follows this entry and no other.
fn following(before: &Entry, entries: Vec<Entry>) -> EntryBatch {
    let expected = Some(before.tag.clone());
    EntryBatch { expected, ..batch("t", "us", before.seq, entries) }
}

async fn what_follows_a_batch_that_was_not_added_is_not_added_either(
    Subject { store, .. }: Subject,
) {
    store.claim("t", "us", TERM).await.unwrap();
    let (first, theirs) = (entry(1, b""), entry_of("theirs", 2));
    store.append(batch("t", "us", 0, vec![first.clone()])).await.unwrap();
    store.append(following(&first, vec![theirs.clone()])).await.unwrap();
    let ours = [2, 3, 4].map(|seq| entry_of("ours", seq));
    // All on their way before the first is refused.
    let before = [&first, &ours[0], &ours[1]];
    let sent = before.into_iter().zip(&ours);
    let sent: Vec<_> =
        sent.map(|(before, next)| store.append(following(before, vec![next.clone()]))).collect();
    for answer in sent {
        assert_eq!(answer.await.unwrap_err().code, "thread_conflict");
    }
    assert_eq!(store.read("t", ALL).await.unwrap(), [first, theirs.clone()]);
    let next = [3, 4].map(|seq| entry_of("theirs", seq));
    let sent =
        [following(&theirs, vec![next[0].clone()]), following(&next[0], vec![next[1].clone()])];
    for answer in sent.map(|batch| store.append(batch)) {
        answer.await.unwrap();
    }
    assert_eq!(store.head("t").await.unwrap(), Some(head(4)));
}

async fn what_follows_an_entry_does_not_follow_another_of_its_number(
    Subject { store, .. }: Subject,
) {
    let old = entry_of("old", 1);
    let long = Entry { tag: EntryTag::new(&[7; 40]), ..old.clone() };
    let others = [entry_of("new", 1), long, Entry { tag: EntryTag::default(), ..old.clone() }];
    for other in others {
        store.claim("t", "us", TERM).await.unwrap();
        store.append(batch("t", "us", 0, vec![other.clone()])).await.unwrap();
        let late = store.append(following(&old, vec![entry(2, b"")])).await.unwrap_err();
        assert_eq!(late.code, "thread_conflict");
        store.append(following(&other, vec![entry(2, b"")])).await.unwrap();
        store.release("t", "us").await.unwrap();
        store.delete("t").await.unwrap();
        store.claim("t", "us", TERM).await.unwrap();
        let late = store.append(following(&other, vec![entry(2, b"")])).await.unwrap_err();
        assert_eq!(late.code, "thread_conflict");
        store.release("t", "us").await.unwrap();
        store.delete("t").await.unwrap();
    }
}

async fn a_batch_is_added_whole_or_not_at_all(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch("t", "me", 0, vec![])).await.unwrap();
    assert_eq!(store.head("t").await.unwrap(), Some(ThreadHead::default()));
    let wrong = store.append(batch("t", "me", 7, vec![entry(8, b""), entry(9, b"")])).await;
    assert_eq!(wrong.unwrap_err().code, "thread_conflict");
    assert_eq!(store.read("t", ALL).await.unwrap(), []);
}

async fn a_branch_follows_an_earlier_entry(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch("t", "me", 0, (1..=3).map(|seq| entry(seq, b"")).collect())).await.unwrap();
    let branch = Entry { parent: 1, ..entry(4, b"branch") };
    store.append(batch("t", "me", 3, vec![branch.clone()])).await.unwrap();
    assert_eq!(store.head("t").await.unwrap(), Some(head(4)));
    assert_eq!(store.find("t", 4).await.unwrap(), Some(branch));
}

async fn threads_are_listed_by_name_in_pages(Subject { store, clock, .. }: Subject) {
    for name in ["c", "a", "b"] {
        store.claim(name, "me", TERM).await.unwrap();
    }
    clock.advance(Duration::from_secs(1)).await;
    store.append(batch("b", "me", 0, vec![entry(1, b"12345"), entry(2, b"678")])).await.unwrap();
    store.release("b", "me").await.unwrap();
    let page = store.threads("", 2).await.unwrap();
    assert_eq!(page.iter().map(|thread| thread.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((page[1].size, page[1].head.clone()), (8, head(2)));
    assert_eq!(page[1].held, None);
    assert!(clock.is_between(page[0].at, Duration::from_secs(1), page[1].at), "{page:?}");
    let (owner, until) = page[0].held.clone().unwrap();
    assert_eq!(owner, "me");
    assert!(clock.is_between(page[0].at, TERM, until), "{page:?}");
    assert_eq!(store.thread("b").await.unwrap().as_ref(), page.get(1));
    assert_eq!(store.thread("unknown").await.unwrap(), None);
    let rest = store.threads("b", 9).await.unwrap();
    assert_eq!(rest.iter().map(|thread| thread.name.as_str()).collect::<Vec<_>>(), ["c"]);
}

async fn threads_are_listed_by_when_they_were_written_to(Subject { store, clock, .. }: Subject) {
    for name in ["a:1", "a:\u{10ffff}", "b:1", "a", "a:2", "A:1"] {
        clock.advance(Duration::from_millis(2)).await;
        store.claim(name, "me", TERM).await.unwrap();
        store.append(batch(name, "me", 0, vec![entry(1, b"")])).await.unwrap();
    }
    clock.advance(Duration::from_millis(2)).await;
    store.append(batch("a:1", "me", 1, vec![entry(2, b"")])).await.unwrap();
    let found = store.recent("a:").await.unwrap();
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a:1", "a:2", "a:\u{10ffff}"]);
    assert!(found.is_sorted_by(|(_, one), (_, next)| one > next));
    let shown = store.thread("a:1").await.unwrap().unwrap();
    assert_eq!(found[0].1, shown.at);
}

async fn marks_are_entries_without_what_is_in_them(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    let body = vec![0; 4000];
    let mut entries: Vec<_> =
        (1..).zip(body.chunks(900)).map(|(seq, body)| entry(seq, body)).collect();
    entries[1].kind = EntryKind::Run;
    store.append(batch("t", "me", 0, entries.clone())).await.unwrap();
    let marks = store.marks("t", EntryRange { from: 2, to: 3 }, None).await.unwrap();
    let mark = |entry: &Entry| {
        let Entry { seq, parent, base, kind, step, at, .. } = *entry;
        let size = entry.body.len() as u64;
        (EntryMark { seq, parent, base, kind, step, at, size }, entry.tag.clone())
    };
    assert_eq!(marks, [mark(&entries[1]), mark(&entries[2])]);
    let runs = store.marks("t", ALL, Some(EntryKind::Run)).await.unwrap();
    assert_eq!(runs, [mark(&entries[1])]);
    assert!(store.marks("t", EntryRange { from: 3, to: 2 }, None).await.unwrap().is_empty());
    assert!(store.marks("unknown", ALL, None).await.unwrap().is_empty());
}

async fn the_holder_of_a_thread_removes_entries(Subject { store, clock, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch("t", "me", 0, (1..=5).map(|seq| entry(seq, b"")).collect())).await.unwrap();
    let middle = EntryRange { from: 2, to: 3 };
    let conflict = store.remove("t", "you", middle).await.unwrap_err();
    assert_eq!(conflict.code, "thread_conflict");
    assert_eq!(store.remove("t", "me", middle).await.unwrap(), 2);
    assert_eq!(store.remove("t", "me", middle).await.unwrap(), 0);
    let left = store.read("t", ALL).await.unwrap();
    assert_eq!(left.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 4, 5]);
    assert_eq!(store.head("t").await.unwrap(), Some(head(5)));
    clock.advance(TERM).await;
    store.claim("t", "you", TERM).await.unwrap();
    assert_eq!(store.remove("t", "me", ALL).await.unwrap_err().code, "thread_conflict");
    assert_eq!(store.remove("unknown", "me", ALL).await.unwrap_err().code, "thread_conflict");
    assert_eq!(store.read("t", ALL).await.unwrap().len(), 3);
}

async fn numbers_may_be_left_out(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    let mut entries = vec![entry(7, b""), entry(9, b"")];
    entries[0].parent = 0;
    entries[1].parent = 7;
    store.append(batch("t", "me", 0, entries.clone())).await.unwrap();
    assert_eq!(store.head("t").await.unwrap(), Some(head(9)));
    assert_eq!(store.read("t", ALL).await.unwrap(), entries);
}

async fn claiming_is_not_writing(Subject { store, clock, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch("t", "me", 0, vec![entry(1, b"")])).await.unwrap();
    clock.advance(TERM).await;
    let before = store.threads("", 9).await.unwrap()[0].at;
    store.claim("t", "you", TERM).await.unwrap();
    assert_eq!(store.threads("", 9).await.unwrap()[0].at, before);
}

async fn a_thread_to_which_nothing_was_added_ends_with_its_release(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    store.release("t", "you").await.unwrap();
    assert_eq!(
        store.head("t").await.unwrap(),
        Some(ThreadHead::default()),
        "it is held by another"
    );
    store.release("t", "me").await.unwrap();
    assert_eq!(store.head("t").await.unwrap(), None);
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch("t", "me", 0, vec![entry(1, b"")])).await.unwrap();
    store.remove("t", "me", ALL).await.unwrap();
    store.release("t", "me").await.unwrap();
    assert_eq!(store.head("t").await.unwrap().unwrap().last, 1, "something was added once");
}

async fn a_store_is_compacted_and_holds_the_same(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    let entries: Vec<_> = (1..=5).map(|seq| entry(seq, &[7; 9000])).collect();
    store.append(batch("t", "me", 0, entries.clone())).await.unwrap();
    store.remove("t", "me", EntryRange { from: 2, to: 4 }).await.unwrap();
    store.compact().await.unwrap();
    let left = store.read("t", ALL).await.unwrap();
    assert_eq!(left, [entries[0].clone(), entries[4].clone()]);
}

async fn a_deleted_thread_is_gone_and_begins_anew(Subject { store, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch("t", "me", 0, vec![entry(1, b"old")])).await.unwrap();
    store.release("t", "me").await.unwrap();
    assert!(store.delete("t").await.unwrap());
    assert!(!store.delete("t").await.unwrap());
    assert_eq!(store.head("t").await.unwrap(), None);
    assert_eq!(store.claim("t", "me", TERM).await.unwrap(), ThreadHead::default());
    assert_eq!(store.read("t", ALL).await.unwrap(), []);
}

async fn a_thread_that_is_held_is_not_deleted(Subject { store, clock, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    assert_eq!(store.delete("t").await.unwrap_err().code, "thread_busy");
    clock.advance(TERM).await;
    assert!(store.delete("t").await.unwrap(), "nobody holds it any more");
}

async fn what_protects_entries_is_replaced_and_nothing_else(Subject { store, clock, .. }: Subject) {
    store.claim("t", "me", TERM).await.unwrap();
    let entries: Vec<_> = (1..=5).map(|seq| entry(seq, b"old")).collect();
    store.append(batch("t", "me", 0, entries.clone())).await.unwrap();
    let new = |seq| Entry { tag: tag(seq + 7), body: b"other".to_vec(), ..entry(seq, b"") };
    let replacing = |owner: &str, after| {
        let (thread, owner) = ("t".into(), owner.into());
        EntryBatch {
            thread,
            owner,
            after,
            expected: None,
            entries: vec![new(2), new(4)],
            tag: tag(70),
        }
    };
    for wrong in [replacing("you", 5), replacing("me", 4)] {
        assert_eq!(store.replace(wrong).await.unwrap_err().code, "thread_conflict");
    }
    assert_eq!(store.read("t", ALL).await.unwrap(), entries);
    store.replace(replacing("me", 5)).await.unwrap();
    let left = store.read("t", ALL).await.unwrap();
    assert_eq!(left[1], new(2));
    assert_eq!(left[2], entries[2]);
    assert_eq!(left[3], new(4));
    assert_eq!(store.head("t").await.unwrap(), Some(ThreadHead { tag: tag(70), ..head(5) }));
    clock.advance(TERM).await;
    store.append(batch("t", "me", 5, vec![entry(6, b"")])).await.unwrap();
}

async fn a_store_says_how_it_is_protected(Subject { store, .. }: Subject) {
    assert_eq!(store.protection(tag(1)).await.unwrap(), tag(1));
    assert_eq!(store.protection(tag(2)).await.unwrap(), tag(1), "the first one counts");
    let long = EntryTag::new(&[7; 60]);
    store.protect(long.clone()).await.unwrap();
    assert_eq!(store.protection(tag(2)).await.unwrap(), long);
}

async fn names_and_bytes_of_any_kind_are_read_unchanged(Subject { store, .. }: Subject) {
    let names = ["'; DROP TABLE entry; --", "%", "_", "\u{0}", "ß🦀", "a\nb", &"x".repeat(4000)];
    for name in names {
        store.claim(name, "me' OR '1'='1", TERM).await.unwrap();
        let body: Vec<u8> = (0..=255).collect();
        store.append(batch(name, "me' OR '1'='1", 0, vec![entry(1, &body)])).await.unwrap();
        assert_eq!(store.find(name, 1).await.unwrap().unwrap().body, body);
    }
    assert_eq!(store.threads("", 99).await.unwrap().len(), names.len());
    assert_eq!(store.head("'").await.unwrap(), None);
}

async fn what_is_asked_for_later_sees_what_was_asked_for_earlier(Subject { store, .. }: Subject) {
    let claim = store.claim("t", "me", TERM);
    let append = store.append(batch("t", "me", 0, vec![entry(1, b"x")]));
    let read = store.read("t", ALL);
    assert_eq!(read.await.unwrap().len(), 1, "before anybody waited for the others");
    claim.await.unwrap();
    append.await.unwrap();
}

async fn many_threads_are_written_at_once(Subject { store, .. }: Subject) {
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let thread = format!("t{writer}");
                store.claim(&thread, "me", TERM).await.unwrap();
                for seq in 1..=50 {
                    store
                        .append(batch(&thread, "me", seq - 1, vec![entry(seq, b"x")]))
                        .await
                        .unwrap();
                }
                store.read(&thread, ALL).await.unwrap().len()
            })
        })
        .collect();
    for writer in writers {
        assert_eq!(writer.await.unwrap(), 50);
    }
}

async fn past_questions_are_those_of_the_run_that_continued(Subject { store, .. }: Subject) {
    past_questions::are_those_of_the_run_that_continued(store).await;
}
