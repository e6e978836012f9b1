//! One thread in the hands of one run, and what protects it.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{Batch, EntryKind, Span};
use antiphon_stores::{Log, MemoryStore, Place, Record, Seal, Vault};

const TERM: Duration = Duration::from_secs(30);
const AT: Time = Time::from_micros(5);

fn vault(seal: Seal) -> Vault {
    let store = MemoryStore::new(Arc::new(ManualClock::default()));
    Vault::new(Arc::new(store), Arc::new(seal))
}

fn bodies(way: &[Record]) -> Vec<&str> {
    way.iter().map(|record| std::str::from_utf8(&record.body).unwrap_or("?")).collect()
}

#[tokio::test]
async fn what_was_appended_leads_to_the_tip() {
    for seal in [Seal::tagged(), Seal::keyed(&[7; 32])] {
        let vault = vault(seal);
        let (mut log, way) = Log::open(vault.clone(), "t", "me", TERM).await.unwrap();
        assert_eq!(way, []);
        log.append([(EntryKind::Run, b"run"), (EntryKind::Step, b"one")], 1, AT)
            .unwrap()
            .await
            .unwrap();
        log.append([(EntryKind::Part, b"part")], 1, AT).unwrap().await.unwrap();
        log.release().await.unwrap();
        let (log, way) = Log::open(vault, "t", "you", TERM).await.unwrap();
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
    let vault = vault(Seal::tagged());
    let (mut log, _) = Log::open(vault.clone(), "t", "me", TERM).await.unwrap();
    for body in ["one", "two"] {
        log.append([(EntryKind::Step, body.as_bytes())], 1, AT).unwrap().await.unwrap();
    }
    log.append([(EntryKind::Snapshot, b"all")], 2, AT).unwrap().await.unwrap();
    log.append([(EntryKind::Step, b"three")], 3, AT).unwrap().await.unwrap();
    assert_eq!(bodies(&vault.way_to("t", None).await.unwrap()), ["all", "three"]);
    assert_eq!(bodies(&vault.way_to("t", Some(2)).await.unwrap()), ["one", "two"]);
    vault.store().remove("t", "me", Span { from: 1, to: 2 }).await.unwrap();
    assert_eq!(bodies(&vault.way_to("t", None).await.unwrap()), ["all", "three"]);
    assert_eq!(vault.way_to("t", Some(2)).await.unwrap_err().code, "checkpoint_corrupt");
}

#[tokio::test]
async fn a_snapshot_is_due_by_size() {
    let (mut log, _) = Log::open(vault(Seal::tagged()), "t", "me", TERM).await.unwrap();
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
    let vault = vault(Seal::tagged());
    let (mut log, _) = Log::open(vault.clone(), "t", "me", TERM).await.unwrap();
    for body in ["one", "two", "three"] {
        log.append([(EntryKind::Step, body.as_bytes())], 1, AT).unwrap().await.unwrap();
    }
    log.branch(1, 0);
    log.append([(EntryKind::Step, b"other")], 2, AT).unwrap().await.unwrap();
    assert_eq!(bodies(&vault.way_to("t", None).await.unwrap()), ["one", "other"]);
    assert_eq!(bodies(&vault.way_to("t", Some(3)).await.unwrap()), ["one", "two", "three"]);
}

#[tokio::test]
async fn an_entry_that_was_changed_or_moved_does_not_open() {
    for seal in [Seal::tagged(), Seal::keyed(&[7; 32])] {
        let place = Place { thread: "t", seq: 1, parent: 0, kind: EntryKind::Step };
        let sealed = seal.close(place, b"body".to_vec()).unwrap();
        assert_eq!(seal.open(place, sealed.clone()).unwrap(), b"body");
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(seal.open(place, changed).is_err(), "bit {bit}");
        }
        for cut in 0..sealed.len() {
            assert!(seal.open(place, sealed[..cut].to_vec()).is_err(), "cut at {cut}");
        }
        let others = [
            Place { thread: "u", ..place },
            Place { seq: 2, ..place },
            Place { parent: 9, ..place },
            Place { kind: EntryKind::End, ..place },
        ];
        for other in others {
            assert_eq!(seal.open(other, sealed.clone()).unwrap_err().code, "checkpoint_corrupt");
        }
    }
}

#[test]
fn a_key_is_neither_guessed_nor_done_without() {
    let place = Place { thread: "t", seq: 1, parent: 0, kind: EntryKind::Step };
    let (open, keyed) = (Seal::tagged(), Seal::keyed(&[7; 32]));
    let closed = keyed.close(place, b"a secret".to_vec()).unwrap();
    assert!(!closed.windows(6).any(|bytes| bytes == b"secret"));
    assert_eq!(open.open(place, closed.clone()).unwrap_err().code, "checkpoint_encrypted");
    assert_eq!(
        Seal::keyed(&[8; 32]).open(place, closed.clone()).unwrap_err().code,
        "checkpoint_corrupt"
    );
    let plain = open.close(place, b"forged".to_vec()).unwrap();
    assert_eq!(keyed.open(place, plain).unwrap_err().code, "checkpoint_plain");
    assert_ne!(
        keyed.close(place, b"a secret".to_vec()).unwrap(),
        closed,
        "each nonce is used once"
    );
}

#[test]
fn an_encrypted_entry_that_lost_its_end_is_damaged_and_not_plain() {
    let place = Place { thread: "t", seq: 1, parent: 0, kind: EntryKind::Step };
    let keyed = Seal::keyed(&[7; 32]);
    let mut closed = keyed.close(place, b"a secret".to_vec()).unwrap();
    closed.last_chunk_mut::<8>().unwrap().fill(0);
    assert_eq!(keyed.open(place, closed).unwrap_err().code, "checkpoint_corrupt");
}

#[tokio::test]
async fn a_thread_whose_entries_cannot_be_read_is_let_go() {
    let vault = vault(Seal::keyed(&[7; 32]));
    let (mut log, _) = Log::open(vault.clone(), "t", "me", TERM).await.unwrap();
    log.append([(EntryKind::Step, b"x")], 1, AT).unwrap().await.unwrap();
    log.release().await.unwrap();
    let wrong = Vault::new(Arc::clone(vault.store()), Arc::new(Seal::keyed(&[8; 32])));
    assert!(Log::open(wrong, "t", "you", TERM).await.is_err());
    assert!(Log::open(vault, "t", "me", TERM).await.is_ok());
}

#[tokio::test]
async fn an_entry_that_is_missing_is_noticed() {
    let vault = vault(Seal::tagged());
    let (mut log, _) = Log::open(vault.clone(), "t", "me", TERM).await.unwrap();
    for body in ["one", "two", "three"] {
        log.append([(EntryKind::Step, body.as_bytes())], 1, AT).unwrap().await.unwrap();
    }
    let mut entries = vault.store().read("t", Span { from: 1, to: 3 }).await.unwrap();
    entries.remove(1);
    vault.store().release("t", "me").await.unwrap();
    vault.store().delete("t").await.unwrap();
    vault.store().claim("t", "me", TERM).await.unwrap();
    let batch = Batch { thread: "t".into(), owner: "me".into(), after: 0, entries };
    vault.store().append(batch).await.unwrap();
    assert_eq!(vault.way_to("t", None).await.unwrap_err().code, "checkpoint_corrupt");
}
