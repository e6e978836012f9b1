//! One thread in the hands of one run, and what protects it.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, ThreadHead};
use antiphon_stores::{Cipher, EntryPosition, MemoryStore, OpenedEntry, SealedStore, ThreadLog};

const TERM: Duration = Duration::from_secs(30);
const AT: Time = Time::from_micros(5);

fn sealed_store(seal: Cipher) -> SealedStore {
    let store = MemoryStore::new(Arc::new(ManualClock::default()));
    SealedStore::new(Arc::new(store), Arc::new(seal))
}

fn bodies(way: &[OpenedEntry]) -> Vec<&str> {
    way.iter().map(|record| std::str::from_utf8(&record.body).unwrap_or("?")).collect()
}

#[tokio::test]
async fn what_was_appended_leads_to_the_tip() {
    for seal in [Cipher::tagged(), Cipher::keyed(&[7; 32])] {
        let sealed_store = sealed_store(seal);
        let (mut log, way) = ThreadLog::open(sealed_store.clone(), "t", "me", TERM).await.unwrap();
        assert_eq!(way, []);
        log.append([(EntryKind::Run, b"run"), (EntryKind::Step, b"one")], 1, AT)
            .unwrap()
            .await
            .unwrap();
        log.append([(EntryKind::Part, b"part")], 1, AT).unwrap().await.unwrap();
        log.release().await.unwrap();
        let (log, way) = ThreadLog::open(sealed_store, "t", "you", TERM).await.unwrap();
        assert_eq!(bodies(&way), ["run", "one", "part"]);
        assert_eq!(
            (way[1].kind, way[1].step, way[1].at, way[1].parent),
            (EntryKind::Step, 1, AT, 1)
        );
        assert_eq!(log.tip(), 3);
    }
}

#[tokio::test]
async fn nothing_before_a_snapshot_is_read() {
    let sealed_store = sealed_store(Cipher::tagged());
    let (mut log, _) = ThreadLog::open(sealed_store.clone(), "t", "me", TERM).await.unwrap();
    for body in ["one", "two"] {
        log.append([(EntryKind::Step, body.as_bytes())], 1, AT).unwrap().await.unwrap();
    }
    log.append([(EntryKind::Snapshot, b"all")], 2, AT).unwrap().await.unwrap();
    log.append([(EntryKind::Step, b"three")], 3, AT).unwrap().await.unwrap();
    assert_eq!(bodies(&sealed_store.way_to("t", None).await.unwrap()), ["all", "three"]);
    assert_eq!(bodies(&sealed_store.way_to("t", Some(2)).await.unwrap()), ["one", "two"]);
    sealed_store.store().remove("t", "me", EntryRange { from: 1, to: 2 }).await.unwrap();
    assert_eq!(bodies(&sealed_store.way_to("t", None).await.unwrap()), ["all", "three"]);
    assert_eq!(sealed_store.way_to("t", Some(2)).await.unwrap_err().code, "checkpoint_corrupt");
}

#[tokio::test]
async fn a_snapshot_is_due_by_size() {
    let (mut log, _) =
        ThreadLog::open(sealed_store(Cipher::tagged()), "t", "me", TERM).await.unwrap();
    let kilobyte = vec![0; 1024];
    let mut steps = 0;
    while !log.wants_snapshot() {
        log.append([(EntryKind::Step, &kilobyte[..])], 1, AT).unwrap().await.unwrap();
        steps += 1;
    }
    assert_eq!(steps, 65);
    let large = vec![0; 50 * 1024];
    log.append([(EntryKind::Snapshot, &large[..])], 1, AT).unwrap().await.unwrap();
    let mut steps = 0;
    while !log.wants_snapshot() {
        log.append([(EntryKind::Step, &kilobyte[..])], 1, AT).unwrap().await.unwrap();
        steps += 1;
    }
    assert_eq!(steps, 201, "not before as much was written again");
}

#[tokio::test]
async fn a_branch_leaves_the_other_way_as_it_was() {
    let sealed_store = sealed_store(Cipher::tagged());
    let (mut log, _) = ThreadLog::open(sealed_store.clone(), "t", "me", TERM).await.unwrap();
    for body in ["one", "two", "three"] {
        log.append([(EntryKind::Step, body.as_bytes())], 1, AT).unwrap().await.unwrap();
    }
    log.branch(1, 0);
    log.append([(EntryKind::Step, b"other")], 2, AT).unwrap().await.unwrap();
    assert_eq!(bodies(&sealed_store.way_to("t", None).await.unwrap()), ["one", "other"]);
    assert_eq!(bodies(&sealed_store.way_to("t", Some(3)).await.unwrap()), ["one", "two", "three"]);
}

const PLACE: EntryPosition<'_> = EntryPosition {
    thread: "t",
    seq: 9,
    parent: 8,
    base: 3,
    kind: EntryKind::Step,
    step: 4,
    at: AT,
};

fn closed(seal: &Cipher, body: &[u8]) -> (Vec<u8>, EntryTag) {
    let mut body = body.to_vec();
    let tag = seal.close(PLACE, &mut body).unwrap();
    (body, tag)
}

fn mark(place: EntryPosition<'_>, size: u64) -> EntryMark {
    let EntryPosition { seq, parent, base, kind, step, at, .. } = place;
    EntryMark { seq, parent, base, kind, step, at, size }
}

/// All that differ in one bit, or are cut somewhere.
fn changes(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let flipped = (0..bytes.len() * 8).map(|bit| {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    });
    flipped.chain((0..bytes.len()).map(|cut| bytes[..cut].to_vec()))
}

#[test]
fn an_entry_that_was_changed_or_moved_does_not_open() {
    for seal in [Cipher::tagged(), Cipher::keyed(&[7; 32])] {
        let (body, tag) = closed(&seal, b"body");
        assert_eq!(seal.open(PLACE, &tag, body.clone()).unwrap(), b"body");
        seal.check("t", &mark(PLACE, 4), &tag).unwrap();
        for changed in changes(&body) {
            assert!(seal.open(PLACE, &tag, changed.clone()).is_err(), "{changed:?}");
        }
        for changed in changes(tag.as_bytes()) {
            let tag = EntryTag::new(&changed);
            assert!(seal.open(PLACE, &tag, body.clone()).is_err(), "{changed:?}");
            assert!(seal.check("t", &mark(PLACE, 4), &tag).is_err(), "{changed:?}");
        }
        let others = [
            EntryPosition { thread: "u", ..PLACE },
            EntryPosition { seq: 10, ..PLACE },
            EntryPosition { parent: 7, ..PLACE },
            EntryPosition { parent: 9, ..PLACE },
            EntryPosition { base: 0, ..PLACE },
            EntryPosition { kind: EntryKind::End, ..PLACE },
            EntryPosition { step: 3, ..PLACE },
            EntryPosition { at: Time::from_micros(6), ..PLACE },
        ];
        for other in others {
            let fault = seal.open(other, &tag, body.clone()).unwrap_err();
            assert_eq!(fault.code, "checkpoint_corrupt");
            assert_eq!(fault.details["entry"], other.seq);
            let fault = seal.check(other.thread, &mark(other, 4), &tag).unwrap_err();
            assert_eq!(
                (fault.code.as_str(), &fault.details["thread"]),
                ("checkpoint_corrupt", &other.thread.into())
            );
        }
        assert!(seal.check("t", &mark(PLACE, 5), &tag).is_err(), "its size");
    }
}

#[test]
fn an_entry_that_follows_itself_is_refused_from_any_writer() {
    let seal = Cipher::tagged();
    for forged in [EntryPosition { parent: 9, ..PLACE }, EntryPosition { base: 10, ..PLACE }] {
        let tag = seal.close(forged, &mut []).unwrap();
        assert_eq!(seal.open(forged, &tag, Vec::new()).unwrap_err().code, "checkpoint_corrupt");
        assert!(seal.check("t", &mark(forged, 0), &tag).is_err());
    }
}

#[test]
fn a_key_is_neither_guessed_nor_done_without() {
    let (open, keyed) = (Cipher::tagged(), Cipher::keyed(&[7; 32]));
    let (body, tag) = closed(&keyed, b"a secret");
    assert!(!body.windows(6).any(|bytes| bytes == b"secret"));
    let code = |seal: &Cipher, tag: &EntryTag, body: &[u8]| {
        seal.open(PLACE, tag, body.to_vec()).unwrap_err().code.clone()
    };
    assert_eq!(code(&open, &tag, &body), "checkpoint_encrypted");
    assert_eq!(code(&Cipher::keyed(&[8; 32]), &tag, &body), "checkpoint_corrupt");
    let (plain, plain_tag) = closed(&open, b"forged");
    assert_eq!(code(&keyed, &plain_tag, &plain), "checkpoint_plain");
    let again = closed(&keyed, b"a secret");
    assert!(again.0 != body && again.1 != tag, "each nonce is used once");
    assert_eq!(body.len(), 8, "what is added is in the tag");
}

#[test]
fn one_of_several_keys_opens_and_the_first_closes() {
    let (old, new) = (Cipher::keyed(&[7; 32]), Cipher::keyed(&[8; 32]));
    let both = Cipher::with_keys([&[8; 32], &[7; 32]]);
    for (seal, is_current) in [(&old, false), (&new, true), (&both, true)] {
        let (body, tag) = closed(seal, b"body");
        assert_eq!(both.open(PLACE, &tag, body).unwrap(), b"body");
        assert_eq!(both.is_current(&tag), is_current);
    }
    let (body, tag) = closed(&both, b"body");
    assert_eq!(new.open(PLACE, &tag, body.clone()).unwrap(), b"body");
    assert!(old.open(PLACE, &tag, body).is_err());
}

#[test]
fn the_end_of_a_thread_is_where_it_was() {
    for seal in [Cipher::tagged(), Cipher::keyed(&[7; 32])] {
        let tag = seal.close_head("t", 9).unwrap();
        let head = ThreadHead { last: 9, stored: 9, tag };
        seal.check_head("t", &head).unwrap();
        let forged = [
            ThreadHead { last: 8, ..head.clone() },
            ThreadHead { stored: 8, ..head.clone() },
            ThreadHead { last: 8, stored: 8, ..head.clone() },
            ThreadHead { tag: EntryTag::default(), ..head.clone() },
            ThreadHead { last: 0, stored: 9, tag: EntryTag::default() },
            ThreadHead { tag: closed(&seal, b"").1, ..head.clone() },
        ];
        for forged in forged {
            let fault = seal.check_head("t", &forged).unwrap_err();
            assert_eq!(fault.code, "checkpoint_corrupt", "{forged:?}");
        }
        assert!(seal.check_head("u", &head).is_err());
        for changed in changes(head.tag.as_bytes()) {
            assert!(
                seal.check_head("t", &ThreadHead { tag: EntryTag::new(&changed), ..head.clone() })
                    .is_err()
            );
        }
        seal.check_head("t", &ThreadHead::default()).unwrap();
    }
}

#[tokio::test]
async fn a_thread_whose_entries_cannot_be_read_is_let_go() {
    let sealed_store = sealed_store(Cipher::keyed(&[7; 32]));
    let (mut log, _) = ThreadLog::open(sealed_store.clone(), "t", "me", TERM).await.unwrap();
    log.append([(EntryKind::Step, b"x")], 1, AT).unwrap().await.unwrap();
    log.release().await.unwrap();
    let wrong =
        SealedStore::new(Arc::clone(sealed_store.store()), Arc::new(Cipher::keyed(&[8; 32])));
    assert!(ThreadLog::open(wrong, "t", "you", TERM).await.is_err());
    assert!(ThreadLog::open(sealed_store, "t", "me", TERM).await.is_ok());
}

#[tokio::test]
async fn an_entry_that_is_missing_is_noticed() {
    let sealed_store = sealed_store(Cipher::tagged());
    let (mut log, _) = ThreadLog::open(sealed_store.clone(), "t", "me", TERM).await.unwrap();
    for body in ["one", "two", "three"] {
        log.append([(EntryKind::Step, body.as_bytes())], 1, AT).unwrap().await.unwrap();
    }
    let mut entries = sealed_store.store().read("t", EntryRange { from: 1, to: 3 }).await.unwrap();
    entries.remove(1);
    sealed_store.store().release("t", "me").await.unwrap();
    sealed_store.store().delete("t").await.unwrap();
    sealed_store.store().claim("t", "me", TERM).await.unwrap();
    let tag = Cipher::tagged().close_head("t", 3).unwrap();
    let batch = EntryBatch {
        thread: "t".into(),
        owner: "me".into(),
        after: 0,
        expected: None,
        entries,
        tag,
    };
    sealed_store.store().append(batch).await.unwrap();
    assert_eq!(sealed_store.way_to("t", None).await.unwrap_err().code, "checkpoint_corrupt");
}

/// A store with a thread of three entries, unlocked as it is when it is opened.
async fn opened(seal: Cipher, bodies: [&str; 3]) -> SealedStore {
    let store = MemoryStore::new(Arc::new(ManualClock::default()));
    let sealed_store = SealedStore::unlock(Arc::new(store), Arc::new(seal)).await.unwrap();
    let (mut log, _) = ThreadLog::open(sealed_store.clone(), "t", "me", TERM).await.unwrap();
    for body in bodies {
        log.append([(EntryKind::Step, body.as_bytes())], 1, AT).unwrap().await.unwrap();
    }
    sealed_store
}

#[tokio::test]
async fn what_belongs_to_another_store_of_the_same_key_is_refused() {
    let all = EntryRange { from: 1, to: 3 };
    for seal in [Cipher::tagged, || Cipher::keyed(&[7; 32])] {
        for place in 0..3 {
            let mine = opened(seal(), ["one", "two", "three"]).await;
            let theirs = opened(seal(), ["uno", "due", "tre"]).await;
            let entries = theirs.store().read("t", all).await.unwrap();
            let tag = mine.store().head("t").await.unwrap().unwrap().tag;
            let (thread, owner) = ("t".into(), "me".into());
            let entries = vec![entries[place].clone()];
            let swapped = EntryBatch { thread, owner, after: 3, expected: None, entries, tag };
            mine.store().replace(swapped).await.unwrap();
            let fault = mine.way_to("t", None).await.unwrap_err();
            assert_eq!(
                (fault.code.as_str(), &fault.details["entry"]),
                ("checkpoint_corrupt", &(place + 1).into())
            );
            assert!(mine.marks("t", all, None).await.is_err());
            let head = theirs.store().head("t").await.unwrap().unwrap();
            assert!(mine.checked("t", &head).is_err(), "its end");
        }
    }
}

#[tokio::test]
async fn a_store_is_the_same_whenever_it_is_opened() {
    let (old, new) = ([7; 32], [8; 32]);
    let sealed_store = opened(Cipher::keyed(&old), ["one", "two", "three"]).await;
    for keys in [vec![&old], vec![&new, &old], vec![&new, &old]] {
        let seal = Arc::new(Cipher::with_keys(keys));
        let again = SealedStore::unlock(Arc::clone(sealed_store.store()), seal).await.unwrap();
        assert_eq!(bodies(&again.way_to("t", None).await.unwrap()), ["one", "two", "three"]);
    }
    let seal = Arc::new(Cipher::keyed(&old));
    assert!(
        SealedStore::unlock(Arc::clone(sealed_store.store()), seal).await.is_err(),
        "it has a new key"
    );
}
